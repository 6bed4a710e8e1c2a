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


def stop_before_call(streak_length: int, stuck_after: int) -> StopReason | None:
    """Why the next call is not to be run: it is the ``stuck_after``-th of its kind in a row.

    A ``stuck_after`` of 0 never stops.
    """
    return "stuck-loop" if 0 < stuck_after <= streak_length else None


def stop_after_call(budget: Budget) -> StopReason | None:
    """Why nothing more is to be run after a charged call."""
    return "budget" if budget.spent_up else None
