"""What a loop does next, and why it stops; None always means: go on.

Both loops ask the same questions in the same order: before a request, after the answer, before
the calls. A limit one of them does not have is given as None.
"""

from __future__ import annotations

from host.loop.stop_reasons import Budget, Deadline
from host.records import StopReason


def stop_before_request(
    deadline: Deadline,
    clock_seconds: float,
    *,
    stopped: bool = False,
    requests_left: int | None = None,
) -> StopReason | None:
    """Why no request may be sent now.

    Args:
        stopped: a person asked the run to stop; wins over every limit.
        requests_left: how many requests may still have their tools run; None for no limit here.
    """
    if stopped:
        return "stopped"
    if deadline.passed(clock_seconds):
        return "deadline"
    if requests_left is not None and requests_left <= 0:
        return "backstop"
    return None


def stop_after_turn(
    calls: int,
    *,
    tool_turns_left: int | None = None,
    budget: Budget | None = None,
) -> StopReason | None:
    """Why the calls of an answered turn are not to be run.

    Args:
        calls: how many the turn makes; a turn without calls is the answer.
        tool_turns_left: how many turns may still run tools; None for no limit here.
        budget: what has been spent, the turn included; None when turns are not charged.
    """
    if calls == 0:
        return "completed"
    if tool_turns_left is not None and tool_turns_left <= 0:
        return "backstop"
    if budget is not None and budget.spent_up:
        return "budget"
    return None


def stop_before_call(
    streak_length: int, stuck_after: int, *, alternation: int = 0, pairs_after: int = 0
) -> StopReason | None:
    """Why the next call is not to be run: it is the ``stuck_after``-th of its kind in a row.

    Or the last of a pair of calls that comes for the ``pairs_after``-th time. 0 never stops.

    Args:
        alternation: how many calls have been two by turns, the next one included.
    """
    is_streak = 0 < stuck_after <= streak_length
    return "stuck-loop" if is_streak or 0 < 2 * pairs_after <= alternation else None


def stop_after_empty(empty_turns: int, stuck_empty_after: int) -> StopReason | None:
    """What a turn with neither text nor calls means, the ``empty_turns``-th in a row.

    None to ask again; a ``stuck_empty_after`` of 0 takes it for the answer.
    """
    if stuck_empty_after == 0:
        return "completed"
    return "stuck-loop" if empty_turns >= stuck_empty_after else None


def stop_after_call(budget: Budget) -> StopReason | None:
    """Why nothing more is to be run after a charged call."""
    return "budget" if budget.spent_up else None
