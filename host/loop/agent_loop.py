"""The agent loop: one question, asked with tools until it is answered or a limit is reached."""

from __future__ import annotations

from contextlib import suppress

import anyio

from host.errors import ContextOverflow, RunFailed, RunOverflow
from host.loop.agent_options import AgentLoopOptions
from host.loop.agent_run import AgentRun
from host.loop.ledger import rebase_ledger
from host.loop.run_control import Interruption, RunControl
from host.loop.run_record import RunRecord
from host.loop.stop_reasons import Deadline
from host.loop.tool_batch import error_message
from host.loop.transcript import NO_RESULT_TEXT, with_answers
from host.records import Run


async def run_agent_loop(options: AgentLoopOptions) -> Run:
    """Asks the question and returns the run; a limit or a stop is its ``stop_reason``.

    Every call of the returned transcript has its tool message, so it can be handed back as
    ``messages``. Calls of the given messages that nothing answers are answered in it: no result
    was kept, and they are not made now. Cancelling the task cancels the run and passes through;
    ``on_cancel`` gets the run so far.

    Raises:
        RunOverflow: a request did not fit the model's window.
        RunFailed: the model, a callback or the toolbox's catalogue raised; ``__cause__`` is
            that. Both carry the run so far, its ``stop_reason`` being ``stopped``.
        ValueError: the deadline is a datetime without a zone.
    """
    deadline = Deadline.of(options.deadline, now=options.now(), clock_seconds=anyio.current_time())
    control = options.control or RunControl()
    asked = with_answers(options.messages, NO_RESULT_TEXT)
    record = RunRecord(
        messages=asked,
        max_tool_iterations=options.max_tool_iterations,
        ledger=rebase_ledger(tuple(options.ledger), options.messages, asked),
    )
    interruption = Interruption(control=control, deadline=deadline)
    with options.tracer.run(options.messages) as span:
        run = await _played(options, record, interruption)
        span.ended(run)
    return run


async def _played(options: AgentLoopOptions, record: RunRecord, interruption: Interruption) -> Run:
    try:
        loop = AgentRun(options, record, interruption)
        reason = await loop.play()
        await loop.notify_hooks()
    except Exception as error:
        record.break_off(None)
        so_far = record.run("stopped")
        if isinstance(error, ContextOverflow):
            raise RunOverflow(error, so_far) from error
        raise RunFailed(error_message(error), so_far) from error
    except BaseException:  # cancelled, or the program ends
        record.break_off("stopped")
        if options.on_cancel is not None:
            with suppress(Exception):  # whoever hears of it holds nothing up
                options.on_cancel(record.run("stopped"))
        raise
    return record.run(reason)
