"""What an agent run is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from host.loop.collaborators import (
    Approver,
    BeforeStep,
    EventSink,
    HookRunner,
    MessageSink,
    Model,
    Now,
    Toolbox,
    TurnSink,
)
from host.loop.hook_context import HOOK_PREFACE
from host.loop.stop_reasons import STUCK_AFTER
from host.loop.wall_clock import utc_now
from host.records import HookContext, HookEvent, Message, TurnUsage

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from host.loop.run_control import RunControl


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """The hooks around a run.

    Attributes:
        run: runs the hooks of one event.
        context: what they are told; the loop adds ``prompt`` and ``turn`` where they are absent,
            and ``reply`` after the answer. ``session.id`` names the session in message uuids.
        events: whose hooks are gathered before the first request.
        max_tokens: the budget of all context blocks together; None for 2,000.
        preface: said above the blocks; "" for nothing.
    """

    run: HookRunner
    context: HookContext = field(default_factory=HookContext)
    events: tuple[HookEvent, ...] = ("beforeTurn",)
    max_tokens: float | None = None
    preface: str = HOOK_PREFACE


@dataclass(frozen=True, slots=True)
class AgentLoopOptions:
    """The model, the tools, the conversation, and the limits of a run.

    Attributes:
        messages: the conversation, its question last; never changed. Calls in it without an
            answer get one in the run's own transcript (see ``run_agent_loop``).
        system: the system prompt; the catalogue is put behind it, both stay out of transcripts.
        discovery: ``"names"`` lists the tools' names and lets the model load definitions,
            ``"eager"`` declares all of them. Without tools they are the same.
        loaded: names declared from the start, as ``carry_over`` gives them; unknown ones are
            left out. Nothing to an eager run.
        parallel: make the calls of a step side by side.
        max_tool_iterations: requests whose tools run; 0 asks nothing at all.
        deadline: a datetime or epoch seconds. What is under way then is cut off, unlike in the
            bounded loop, so that a silent server cannot outlast it.
        max_cost, price: stops once the prices of the turns' usage add up to the cost; together
            or not at all. The tools of the turn that reached it are not run.
        stuck_after: how many identical calls in a row, counted once per step, end the run
            before the last of them is made; 0 for never.
        stuck_exempts_read_only: tools that say ``readOnlyHint`` never end a run that way.
        finish: ``"summarise"`` gives the model one last turn without tools when a run ends at
            ``backstop`` or ``stuck-loop``; the stop reason stays.
        recover_tool_calls: read calls that the model wrote as text.
        hooks: gathered onto the question before the first request, notified after an answer.
        approve: decides on each call before it is made; what it raises is a refusal.
        before_step: may replace the transcript before a request; a call that it keeps has to
            keep its tool message.
        on_event: hears what happens. on_message, on_turn: get each appended message and each
            answered turn with its step (from 0), awaited and never cut off by a stop; what they
            raise ends the run.
        control: the stop button.
        task_group: where ``afterTurn`` hooks run on after the run has returned; None, or a
            group that is closed by then, to await them, three seconds at most.
        now: the wall clock.

    Raises:
        ValueError: a limit is negative, ``stuck_after`` is 1, or one of ``max_cost`` and
            ``price`` is missing.
    """

    model: Model
    toolbox: Toolbox
    messages: Sequence[Message]
    _: KW_ONLY
    system: str = ""
    discovery: Literal["names", "eager"] = "names"
    loaded: Sequence[str] = ()
    parallel: bool = True
    max_tool_iterations: int = 20
    deadline: datetime | float | None = None
    max_cost: float | None = None
    price: Callable[[TurnUsage], float] | None = None
    stuck_after: int = STUCK_AFTER
    stuck_exempts_read_only: bool = False
    finish: Literal["stop", "summarise"] = "stop"
    recover_tool_calls: bool = True
    hooks: RunHooks | None = None
    approve: Approver | None = None
    before_step: BeforeStep | None = None
    on_event: EventSink | None = None
    on_message: MessageSink | None = None
    on_turn: TurnSink | None = None
    control: RunControl | None = None
    task_group: TaskGroup | None = None
    now: Now = utc_now

    def __post_init__(self) -> None:
        if self.max_tool_iterations < 0:
            raise ValueError("max_tool_iterations must be 0 or more")
        if self.stuck_after < 0 or self.stuck_after == 1:
            raise ValueError("stuck_after must be 0 (never) or at least 2")
        if (self.max_cost is None) != (self.price is None):
            raise ValueError("max_cost and price only work together; give both or neither")
