"""What an agent run is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from host.catalogue import MAX_PER_LOAD
from host.loop.collaborators import (
    Approver,
    BeforeStep,
    CallSink,
    EventSink,
    HookRunner,
    MessageSink,
    Model,
    Now,
    PersonAsker,
    RequestSink,
    ResultSink,
    Toolbox,
    TurnSink,
)
from host.loop.compaction_plan import COMPACT_AT, KEEP_RATIO
from host.loop.hook_context import HOOK_PREFACE
from host.loop.run_tracing import NO_TRACING, RunTracer
from host.loop.stop_reasons import STUCK_AFTER
from host.loop.wall_clock import utc_now
from host.records import DiscoveryMode, HookContext, HookEvent, LedgerEntry, Message, Run, TurnUsage

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Preselect:
    """How tools are chosen before the first request.

    Attributes:
        keywords: take what the words of the question choose without asking, if that is clear.
        max_per_load: the most tools chosen.
    """

    keywords: bool = False
    max_per_load: int = MAX_PER_LOAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """When and how far the loop folds a transcript that fills the model's window.

    Attributes:
        at: the share of the window from which on it folds.
        keep: the share that the newest messages may take.
        keep_results: how many of the latest long tool results stay whole when older ones are
            cleared, which is tried before anything is folded.
        honour_veto: ask the ``beforeCompact`` hooks first; one veto leaves the transcript alone.
    """

    at: float = COMPACT_AT
    keep: float = KEEP_RATIO
    keep_results: int = 5
    honour_veto: bool = False


@dataclass(frozen=True, slots=True)
class AgentLoopOptions:
    """The model, the tools, the conversation, and the limits of a run.

    Attributes:
        messages: the conversation, its question last; never changed. Calls in it without an
            answer get one in the run's own transcript (see ``run_agent_loop``).
        system: the system prompt; the catalogue is put behind it, both stay out of transcripts.
        discovery: how the model learns of tools; without tools all are the same.

            - ``"names"`` lists their names and lets the model load definitions;
            - ``"eager"`` declares all of them;
            - ``"proxied"`` declares two tools that read and call all others;
            - ``"keywords"`` as names, with those loaded that share rare words with the question;
            - ``"preselect"`` as names, with those loaded that a model chose (``select_model``);
            - ``"guided"`` as names, but before each step the model is asked what it needs, and
              held to the arguments of that; ``system`` is sent where it speaks, not where it
              chooses or writes arguments.
        loaded: names declared from the start, as ``carry_over`` gives them; unknown ones are
            left out. Nothing to an eager run.
        preselected: names chosen by the caller, in place of any choice the run would make; empty
            to choose none, None to let the run choose. Nothing to an eager run, as all choices.
        preselect: how the choice is made; None for the usual way of the discovery.
        preselect_routing: ``"exclusive"`` declares the chosen tools alone in the first request,
            ``"append"`` beside the catalogue. Proxied, they are always read first.
        parallel: make the calls of a step side by side.
        max_tool_iterations: requests whose tools run; 0 asks nothing at all.
        deadline: a datetime or epoch seconds. What is under way then is cut off, unlike in the
            bounded loop, so that a silent server cannot outlast it. Waiting for a person's word
            on a call does not count.
        max_cost, price: stops once the prices of all requests' usage add up to the cost; together
            or not at all. The tools of the turn that reached it are not run.
        stuck_after: how many identical calls in a row, counted once per step, end the run
            before the last of them is made; 0 for never.
        stuck_pairs_after: the same for two calls by turns: A, B, A, B, A, B is three.
        stuck_empty_after: how many turns in a row with neither text nor calls end the run; the
            model is asked again after the others. 0 takes the first for its answer.
        stuck_exempts_read_only: tools that say ``readOnlyHint`` never end a run that way.
        finish: ``"summarise"`` gives the model one last turn without tools when a run ends at
            ``backstop`` or ``stuck-loop``; the stop reason stays, also when that turn is cut off.
            One that says nothing, or only calls, is no answer.
        recover_tool_calls: read calls that the model wrote as text.
        max_continuations: how often a reply cut at its token ceiling is gone on with.
        max_result_chars: a longer tool result is shown in part, its whole to be read with
            ``read_result`` and in ``Run.whole_results``; None shows all of any.
        compact: fold the transcript when it fills ``context_length`` tokens; True for the usual
            way. Needs a context length.
        context_length: the model's window in tokens, or what finds it out when it is first
            needed; 0 for unknown.
        hooks: gathered onto the question before the first request, notified after an answer.
        approve: judges each call before it is made; what it raises is a refusal.
        ask_person: asked where ``approve`` says ``"ask"``; None refuses such calls.
        before_step: may replace the transcript before a request; a call that it keeps has to
            keep its tool message.
        on_event: hears what happens. on_tool_call, on_tool_result: hear of each call and of what
            it was answered, whole, where events hold previews.
        on_request, on_message, on_turn: get each step's request (``RequestSink`` says which),
            each appended message and each answered turn with its step (from 0), awaited and never
            cut off by a stop; what they raise ends the run.
        on_cancel: gets the run so far when the task that runs it is cancelled, as it is.
        control: the stop button.
        task_group: where ``afterTurn`` hooks run on after the run has returned; None, or a
            group that is closed by then, to await them, three seconds at most.
        select_model, summary_model: asked for the choice of tools and for summaries; None for
            ``model``.
        tracer: follows the run, its requests and its calls.
        ledger: what earlier runs measured of these messages; this run's is in ``Run.ledger``.
        now: the wall clock.

    Raises:
        ValueError: a limit is negative, a ``stuck_`` limit is 1, one of ``max_cost`` and
            ``price`` is missing, or ``compact`` has no context length.
    """

    model: Model
    toolbox: Toolbox
    messages: Sequence[Message]
    _: KW_ONLY
    system: str = ""
    discovery: DiscoveryMode = "names"
    loaded: Sequence[str] = ()
    preselected: Sequence[str] | None = None
    preselect: Preselect | None = None
    preselect_routing: Literal["exclusive", "append"] = "exclusive"
    parallel: bool = True
    max_tool_iterations: int = 20
    deadline: datetime | float | None = None
    max_cost: float | None = None
    price: Callable[[TurnUsage], float] | None = None
    stuck_after: int = STUCK_AFTER
    stuck_pairs_after: int = STUCK_AFTER
    stuck_empty_after: int = STUCK_AFTER
    stuck_exempts_read_only: bool = False
    finish: Literal["stop", "summarise"] = "stop"
    recover_tool_calls: bool = True
    max_continuations: int = 0
    max_result_chars: int | None = None
    compact: Compact | bool | None = None
    context_length: int | Callable[[], Awaitable[int]] = 0
    hooks: RunHooks | None = None
    approve: Approver | None = None
    ask_person: PersonAsker | None = None
    before_step: BeforeStep | None = None
    on_event: EventSink | None = None
    on_tool_call: CallSink | None = None
    on_tool_result: ResultSink | None = None
    on_request: RequestSink | None = None
    on_message: MessageSink | None = None
    on_turn: TurnSink | None = None
    on_cancel: Callable[[Run], object] | None = None
    control: RunControl | None = None
    task_group: TaskGroup | None = None
    select_model: Model | None = None
    summary_model: Model | None = None
    tracer: RunTracer = NO_TRACING
    ledger: Sequence[LedgerEntry] = ()
    now: Now = utc_now

    def __post_init__(self) -> None:
        if self.max_tool_iterations < 0:
            raise ValueError("max_tool_iterations must be 0 or more")
        for name in ("stuck_after", "stuck_pairs_after", "stuck_empty_after"):
            if getattr(self, name) < 0 or getattr(self, name) == 1:
                raise ValueError(f"{name} must be 0 (never) or at least 2")
        if (self.max_cost is None) != (self.price is None):
            raise ValueError("max_cost and price only work together; give both or neither")
        if self.compact and self.context_length == 0:
            raise ValueError("compact needs a context_length in tokens")

    @property
    def compaction(self) -> Compact | None:
        """How the transcript is folded; None for not at all."""
        return Compact() if self.compact is True else self.compact or None
