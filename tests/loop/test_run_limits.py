"""Runs against models that always ask for more: every limit binds, and every transcript replays."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, groupby
from typing import Any, TypeAlias

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.catalogue import CALL_TOOL, LOAD_TOOLS, shown_call
from host.errors import RunError
from host.event_bus import EventBus, fold
from host.loop import Compact, RunControl, TokenPrices
from host.loop.collaborators import Decision, TextSink
from host.loop.stop_reasons import call_key
from host.loop.transcript import assistant_message, ids_in
from host.records import (
    Message,
    Run,
    RunEvent,
    ToolCall,
    ToolCallRequest,
    ToolDefinition,
    Turn,
    TurnUsage,
)
from tests.fakes.loop_peers import (
    USAGE,
    MemoryTool,
    MemoryToolbox,
    Request,
    Script,
    ScriptedModel,
    call,
    calling,
    mute,
    saying,
)
from tests.loop.instantly import BACKENDS, instantly, now
from tests.loop.runs import QUESTION, Events, replays, results, run

MODES = ["names", "eager", "proxied", "keywords"]
"""The ways of discovery that ask no model beside the run's own."""

AGAIN: Message = {"role": "user", "content": "Go on."}
PRICES = TokenPrices(prompt=100_000, completion=0)
"""A scripted turn of 10 prompt tokens costs 1."""

Wanted: TypeAlias = tuple[str, dict[str, Any] | str]
"""A tool, and what it is called with."""


def fail(args: dict[str, Any]) -> str:
    raise RuntimeError("the disk is gone")


def toolbox(silent: Callable[[], object] = lambda: None) -> MemoryToolbox:
    """Tools that answer, take their time, fail or never answer; ``silent`` hears of the last."""

    async def slow(args: dict[str, Any]) -> str:
        await anyio.sleep(float(args.get("s", 2)))
        return "slow"

    async def never(args: dict[str, Any]) -> str:
        silent()
        await anyio.sleep_forever()
        return ""

    return MemoryToolbox(
        "a__ok",
        MemoryTool(name="a__look", annotations={"readOnlyHint": True}),
        MemoryTool(name="a__slow", body=slow),
        MemoryTool(name="b__bad", body=fail),
        MemoryTool(name="b__mute", body=never, description="Where it is."),
    )


def asking(mode: str, wanted: Sequence[Wanted], call_id: str = "") -> Turn:
    """A turn that calls these tools as the mode has it; an empty one for none."""
    if not wanted:
        return Turn(usage=USAGE, finish_reason="stop")
    return calling(*(_asked(mode, name, args, call_id) for name, args in wanted))


def _asked(mode: str, name: str, args: dict[str, Any] | str, call_id: str) -> ToolCall:
    if mode != "proxied" or name == LOAD_TOOLS or isinstance(args, str):
        return call(name, args, call_id)
    return call(CALL_TOOL, {"name": name, "arguments": args}, call_id)


def hungry(
    mode: str, *wishes: Sequence[Wanted] | Callable[[int], Sequence[Wanted]], seconds: float = 0
) -> ScriptedModel:
    """A model that has these wishes by turns, for ever; each turn takes so long."""
    numbers = count()

    async def answer(request: Request) -> Turn:
        await anyio.sleep(seconds)
        number = next(numbers)
        wish = wishes[number % len(wishes)]
        return asking(mode, wish(number) if callable(wish) else wish)

    return ScriptedModel(answer)


def another(number: int) -> list[Wanted]:
    """A wish that never repeats itself."""
    return [("a__ok", {"n": number})]


# What a transcript says of the calls in it


def steps_of(messages: Sequence[Message]) -> Iterator[tuple[list[str], bool]]:
    """Each step's calls by what makes them identical, and whether they were let through."""
    answers = {
        message["tool_call_id"]: str(message["content"])
        for message in messages
        if message["role"] == "tool"
    }
    for message in messages:
        calls = message.get("tool_calls") if message["role"] == "assistant" else None
        if calls:
            made = not all("never made" in answers[one["id"]] for one in calls)
            yield [_key(one) for one in calls], made


def _key(asked: ToolCall) -> str:
    function = asked["function"]
    return call_key(*shown_call(function["name"], json.loads(function["arguments"])))


def repeated(steps: Sequence[Sequence[str]]) -> tuple[int, int]:
    """The longest row of one call, and of two calls by turns, each step's repeats left out."""
    keys = [key for step in steps for key in dict.fromkeys(step)]
    streak = max((len(list(same)) for _, same in groupby(keys)), default=0)
    pairs = 0
    for start in range(len(keys)):
        end = start + 1
        while end < len(keys) and keys[end] != keys[end - 1]:
            if end >= start + 2 and keys[end] != keys[end - 2]:
                break
            end += 1
        pairs = max(pairs, end - start)
    return streak, pairs


def longest_silence(requests: Sequence[Turn]) -> int:
    rows = groupby(requests, key=lambda turn: not turn.tool_calls)
    return max((len(list(row)) for silent, row in rows if silent), default=0)


# No run exceeds its limits

WANTED: st.SearchStrategy[Wanted] = st.sampled_from(
    [
        ("a__ok", {"n": 1}),
        ("a__ok", {"n": 2}),
        ("a__look", {}),
        ("a__slow", {"s": 3}),
        ("b__bad", {}),
        (LOAD_TOOLS, {"names": ["a__slow"]}),
        ("nope", {}),
    ]
)
WISHES = st.lists(st.one_of(st.lists(WANTED, max_size=3), st.just(another)), min_size=1, max_size=4)
OPTIONS = st.fixed_dictionaries(
    {
        "discovery": st.sampled_from(MODES),
        "parallel": st.booleans(),
        "max_tool_iterations": st.integers(0, 8),
        "max_cost": st.sampled_from([None, 0, 1, 3, 4.5]),
        "stuck_after": st.sampled_from([0, 2, 3]),
        "stuck_pairs_after": st.sampled_from([0, 2, 3]),
        "stuck_empty_after": st.sampled_from([0, 2, 3]),
        "finish": st.sampled_from(["stop", "summarise"]),
    }
)


@settings(max_examples=150)
@given(
    WISHES,
    OPTIONS,
    st.sampled_from([None, 1, 7, 20]),
    st.sampled_from([0, 1, 4]),
    st.sampled_from(BACKENDS),
)
def test_no_run_exceeds_its_limits(
    wishes: Any, options: dict[str, Any], seconds: float | None, pace: float, backend: str
) -> None:
    turns: list[Turn] = []
    model = hungry(options["discovery"], *wishes, seconds=pace)

    async def main() -> Run:
        return await run(
            model,
            toolbox(),
            price=None if options["max_cost"] is None else PRICES,
            deadline=None if seconds is None else now().timestamp() + seconds,
            now=now,
            on_turn=lambda turn, step: turns.append(turn),
            **options,
        )

    done = instantly(main, backend)
    assert replays(done.messages)
    check_requests(done, model, options, is_late=done.seconds == seconds)
    check_time_and_cost(done, options, seconds)
    check_repetition(done, turns, options)


def check_requests(
    done: Run, model: ScriptedModel, options: dict[str, Any], *, is_late: bool
) -> None:
    """As many steps as allowed, and one request more where a summary is asked for.

    Late, that one may have been cut off, or not been sent at all.
    """
    bare = [request for request in model.requests if not request.tools]
    assert len(model.requests) - len(bare) <= options["max_tool_iterations"]
    capped = done.stop_reason in ("backstop", "stuck-loop")
    assert len(bare) <= (options["finish"] == "summarise")
    if capped and options["finish"] == "summarise":
        assert bare == model.requests[-1:] or (is_late and not bare)
        assert len(model.requests) - len(done.requests) <= is_late
    if done.stop_reason == "backstop":
        assert len(model.requests) - len(bare) == options["max_tool_iterations"]
    if done.stop_reason == "completed":
        assert done.turn is not None
        assert not options["stuck_empty_after"]  # this model answers by saying nothing


def check_time_and_cost(done: Run, options: dict[str, Any], seconds: float | None) -> None:
    if seconds is not None:
        assert done.seconds <= seconds
    if done.stop_reason == "deadline":
        assert done.seconds == seconds
    if options["max_cost"] is not None and done.requests:
        costs = [PRICES(request.usage) for request in done.requests]
        assert sum(costs[:-1]) < max(options["max_cost"], 1)
        assert (sum(costs) >= options["max_cost"]) or done.stop_reason != "budget"


def check_repetition(done: Run, turns: Sequence[Turn], options: dict[str, Any]) -> None:
    steps = list(steps_of(done.messages))
    most_alike, most_pairs, most_silent = (
        options[name] or 10_000
        for name in ("stuck_after", "stuck_pairs_after", "stuck_empty_after")
    )
    streak, pairs = repeated([keys for keys, made in steps if made])
    assert streak < most_alike
    assert pairs < 2 * most_pairs
    silence = longest_silence(turns)
    assert silence <= most_silent + (options["finish"] == "summarise")
    if done.stop_reason == "stuck-loop":
        streak, pairs = repeated([keys for keys, _ in steps])
        assert streak >= most_alike or pairs >= 2 * most_pairs or silence >= most_silent


SAME: list[Wanted] = [("a__ok", {"n": 1})]
OTHER: list[Wanted] = [("a__ok", {"n": 2})]
SLOW: list[Wanted] = [("a__slow", {"s": 10})]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("discovery", MODES)
@pytest.mark.parametrize(
    ("wishes", "options", "reason", "requests", "calls"),
    [
        ([another], {"max_tool_iterations": 4}, "backstop", 4, 4),
        ([another], {"max_tool_iterations": 0}, "backstop", 0, 0),
        ([another, SLOW], {"seconds": 25}, "deadline", 6, 6),
        ([another, SLOW], {"seconds": None}, "backstop", 9, 9),
        ([another], {"max_cost": 3, "price": PRICES}, "budget", 3, 2),
        ([another], {"max_cost": 0, "price": PRICES}, "budget", 1, 0),
        ([another], {"max_cost": None}, "backstop", 9, 9),
        ([SAME], {}, "stuck-loop", 3, 2),
        ([SAME], {"stuck_after": 5}, "stuck-loop", 5, 4),
        ([SAME], {"stuck_after": 0}, "backstop", 9, 9),
        ([SAME, OTHER], {}, "stuck-loop", 6, 5),
        ([SAME, OTHER], {"stuck_pairs_after": 2}, "stuck-loop", 4, 3),
        ([SAME, OTHER], {"stuck_pairs_after": 0}, "backstop", 9, 9),
        ([[*SAME, *OTHER]], {}, "stuck-loop", 3, 4),
        ([[]], {}, "stuck-loop", 3, 0),
        ([[]], {"stuck_empty_after": 2}, "stuck-loop", 2, 0),
        ([[]], {"stuck_empty_after": 0}, "completed", 1, 0),
        ([[], [], SAME, [], [], OTHER], {}, "backstop", 9, 3),
    ],
)
def test_each_limit_binds_and_can_be_switched_off(
    wishes: Any,
    options: dict[str, Any],
    reason: str,
    requests: int,
    calls: int,
    discovery: str,
    backend: str,
) -> None:
    given_options: dict[str, Any] = {"max_tool_iterations": 9, **options}
    seconds = given_options.pop("seconds", None)
    model, tools = hungry(discovery, *wishes), toolbox()

    async def main() -> Run:
        deadline = None if seconds is None else now().timestamp() + seconds
        return await run(
            model, tools, discovery=discovery, deadline=deadline, now=now, **given_options
        )

    done = instantly(main, backend)
    assert (done.stop_reason, len(model.requests), len(tools.calls)) == (reason, requests, calls)
    assert replays(done.messages)
    if reason == "deadline":
        assert done.seconds == seconds


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("discovery", MODES)
@pytest.mark.parametrize(
    ("wishes", "options", "reason", "asked"),
    [
        ([another], {"max_tool_iterations": 2}, "backstop", 2),
        ([another], {"max_tool_iterations": 0}, "backstop", 0),
        ([SAME], {}, "stuck-loop", 3),
        ([SAME, OTHER], {}, "stuck-loop", 6),
        ([[]], {}, "stuck-loop", 3),
        ([another], {"max_cost": 1, "price": PRICES}, "budget", 1),
        ([another, SLOW], {"seconds": 5}, "deadline", 2),
    ],
)
def test_a_summary_is_exactly_one_more_request_and_only_where_it_makes_sense(
    wishes: Any,
    options: dict[str, Any],
    reason: str,
    asked: int,
    discovery: str,
    backend: str,
) -> None:
    given_options = dict(options)
    seconds = given_options.pop("seconds", None)
    model, tools = hungry(discovery, *wishes), toolbox()

    async def main() -> Run:
        deadline = None if seconds is None else now().timestamp() + seconds
        return await run(
            model,
            tools,
            discovery=discovery,
            finish="summarise",
            deadline=deadline,
            now=now,
            **given_options,
        )

    done = instantly(main, backend)
    bare = [number for number, request in enumerate(model.requests) if not request.tools]
    assert done.stop_reason == reason
    assert bare == ([asked] if reason in ("backstop", "stuck-loop") else [])
    assert len(model.requests) == asked + len(bare)
    assert replays(done.messages)
    assert done.messages[-1]["role"] != "assistant"  # this model says nothing that is an answer
    assert done.answer == ""


# Whatever is cancelled, and whenever

NAMES = ["a__ok", "a__look", "a__slow", "b__bad", "b__mute", "nope"]
ARGUMENTS: list[dict[str, Any] | str] = [{}, {"s": 1}, {"s": 2}, "{bad"]
TURNS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(ARGUMENTS)),
        st.just((LOAD_TOOLS, {"names": ["a__*", "b__mute"]})),
    ),
    max_size=4,
)
MOMENTS = st.one_of(
    st.tuples(
        st.sampled_from(["stop", "cancel", "deadline"]),
        st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]),
    ),
    st.tuples(
        st.sampled_from(["stop at event", "cancel at event", "stop at message"]),
        st.integers(0, 12).map(float),
    ),
)
SHAPES = st.fixed_dictionaries(
    {
        "discovery": st.sampled_from(MODES),
        "parallel": st.booleans(),
        "finish": st.sampled_from(["stop", "summarise"]),
        "loaded": st.sampled_from([(), ("a__slow", "b__mute")]),
        "max_tool_iterations": st.sampled_from([2, 20]),
    }
)


class Cut:
    """One run, cut short at the moment drawn, and what was handed out of it."""

    def __init__(self, how: str, when: float, asked: Sequence[Message] = (QUESTION,)) -> None:
        self.how, self.when, self.asked = how, when, asked
        self.control = RunControl()
        self.scope = anyio.CancelScope()
        self.told: list[Message] = []
        self.done: Run | None = None
        self.open: Counter[tuple[str, str]] = Counter()
        self._events = 0

    def hear(self, **fields: Any) -> None:
        if fields["kind"] in ("tool-call", "tool-result"):
            sign = 1 if fields["kind"] == "tool-call" else -1
            self.open[fields["name"], fields["id"]] += sign
        if self._events == self.when:
            self._cut_at("event")
        self._events += 1

    def take(self, message: Message, step: int) -> None:
        if len(self.told) == self.when:
            self._cut_at("message")
        self.told.append(message)

    async def play(self, model: ScriptedModel, tools: MemoryToolbox, shape: dict[str, Any]) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._cut_later)
            with self.scope:
                try:
                    self.done = await run(
                        model,
                        tools,
                        self.asked,
                        control=self.control,
                        deadline=now().timestamp() + self.when if self.how == "deadline" else None,
                        now=now,
                        on_event=self.hear,
                        on_message=self.take,
                        **shape,
                    )
                except RunError as error:
                    self.done = error.run
            group.cancel_scope.cancel()

    @property
    def transcript(self) -> tuple[Message, ...]:
        """What can be handed back: the run's, or without a run what was told of it."""
        return self.done.messages if self.done else (*self.asked, *self.told)

    def _cut_at(self, what: str) -> None:
        if self.how == f"stop at {what}":
            self.control.stop("at this very moment")
        elif self.how == f"cancel at {what}":
            self.scope.cancel()

    async def _cut_later(self) -> None:
        await anyio.sleep(self.when)
        if self.how == "stop":
            self.control.stop()
        elif self.how == "cancel":
            self.scope.cancel()
        await anyio.sleep(100)  # a mute peer that nothing else interrupts
        self.control.stop()


@settings(max_examples=250)
@given(
    st.lists(TURNS, max_size=4),
    st.sampled_from([saying("Done."), OSError("gone"), mute]),
    SHAPES,
    MOMENTS,
    st.sampled_from(BACKENDS),
)
def test_whatever_was_cancelled_when_the_transcript_replays_and_goes_on(
    wishes: list[list[Wanted]],
    last: Script,
    shape: dict[str, Any],
    moment: tuple[str, float],
    backend: str,
) -> None:
    mode, tools = shape["discovery"], toolbox()
    turns = [asking(mode, wish) for wish in wishes]

    async def main() -> tuple[Cut, int, Run, Run]:
        cut = Cut(*moment)
        await cut.play(ScriptedModel(*turns, last), tools, shape)
        made = len(tools.calls)
        again = asking(mode, [("a__ok", {})], call_id="c0")
        bare = await run(ScriptedModel(saying("On.")), tools, cut.transcript, discovery=mode)
        assert len(tools.calls) == made  # nothing of the old transcript is made now
        asked = [*cut.transcript, AGAIN]
        more = await run(ScriptedModel(again, saying("On.")), tools, asked, discovery=mode)
        return cut, made, bare, more

    cut, made, bare, more = instantly(main, backend)
    if cut.done is not None:
        assert replays(cut.done.messages)
        assert cut.done.messages[: 1 + len(cut.told)] == (QUESTION, *cut.told)
        assert not any(cut.open.values())  # every call told of has its result told of
        assert more.messages[: len(cut.transcript)] == cut.transcript
    assert bare.stop_reason == more.stop_reason == "completed"
    assert replays(bare.messages)
    assert replays(more.messages)
    assert len(tools.calls) == made + 1
    assert tools.calls[-1].id not in ids_in(cut.transcript)


FOLDED: list[Message] = [
    {"role": "user", "content": "Where is the first?"},
    assistant_message("a" * 3_000),
    {"role": "user", "content": "And the second?"},
    assistant_message("b" * 2_000),
    QUESTION,
]
"""A conversation that fills more than half a window of 2,000 tokens."""


async def noted(request: Request) -> Turn:
    await anyio.sleep(1)
    return saying("Notes.")


async def agreeing(request: ToolCallRequest) -> Decision:
    await anyio.sleep(1)
    return "allow"


@settings(max_examples=100)
@given(
    st.lists(TURNS, max_size=3),
    st.sampled_from([saying("Done."), OSError("gone"), mute]),
    SHAPES,
    MOMENTS.filter(lambda moment: "cancel" not in moment[0]),
    st.sampled_from(BACKENDS),
)
def test_a_run_that_folds_and_asks_a_person_replays_too(
    wishes: list[list[Wanted]],
    last: Script,
    shape: dict[str, Any],
    moment: tuple[str, float],
    backend: str,
) -> None:
    mode, tools = shape["discovery"], toolbox()

    async def main() -> tuple[Run, Run]:
        cut = Cut(*moment, asked=FOLDED)
        await cut.play(
            ScriptedModel(*(asking(mode, wish) for wish in wishes), last),
            tools,
            {
                **shape,
                "compact": Compact(at=0.5),
                "context_length": 2_000,
                "summary_model": ScriptedModel(noted),
                "max_result_chars": 300,
                "approve": lambda request: "ask",
                "ask_person": agreeing,
            },
        )
        made = len(tools.calls)
        again = await run(ScriptedModel(saying("On.")), tools, cut.transcript, discovery=mode)
        assert len(tools.calls) == made
        assert cut.done is not None
        return cut.done, again

    done, again = instantly(main, backend)
    assert replays(done.messages)
    assert replays(again.messages)
    assert again.messages[:-1] == done.messages
    assert QUESTION in done.messages
    assert all(entry.through < len(done.messages) for entry in done.ledger)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("stop", "stopped"),
        ("deadline", "deadline"),
        ("cancel", None),
        ("stop at event", "stopped"),
        ("cancel at event", None),
    ],
)
def test_each_way_of_cutting_cuts_in_the_midst_of_calls(
    how: str, reason: str | None, backend: str
) -> None:
    tools = toolbox()
    turn = asking("eager", [("a__ok", {}), ("a__slow", {}), ("b__mute", {})])

    async def main() -> Cut:
        cut = Cut(how, 3.0 if how.endswith("event") else 1.0)
        await cut.play(ScriptedModel(turn), tools, {"discovery": "eager"})
        return cut

    cut = instantly(main, backend)
    assert (cut.done.stop_reason if cut.done else None) == reason
    assert len(cut.told) == (1 if reason is None else 4)


# A stop takes no time


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("discovery", MODES)
@pytest.mark.parametrize("silent", ["model", "tool", "tools", "summary"])
def test_a_stop_under_mute_peers_does_not_move_the_clock(
    silent: str, discovery: str, parallel: bool, backend: str
) -> None:
    async def main() -> tuple[float, Run]:
        reached, control, events = anyio.Event(), RunControl(), Events()
        tools, runs = toolbox(reached.set), list[Run]()

        async def quiet(request: Request) -> Turn:
            reached.set()
            return await mute(request)

        wish: list[Wanted] = [("b__mute", {"n": n}) for n in range(3 if silent == "tools" else 1)]
        script: list[Script] = [asking(discovery, [("a__slow", {"s": 5})])]
        script.append(quiet if silent in ("model", "summary") else asking(discovery, wish))

        async def play() -> None:
            runs.append(
                await run(
                    ScriptedModel(*script),
                    tools,
                    discovery=discovery,
                    parallel=parallel,
                    control=control,
                    on_event=events,
                    max_tool_iterations=1 if silent == "summary" else 20,
                    finish="summarise",
                )
            )

        async with anyio.create_task_group() as group:
            group.start_soon(play)
            await reached.wait()
            before = anyio.current_time()
            control.stop("by hand")
        (done,) = runs
        lead = "no summary: " if silent == "summary" else ""
        assert events.of("notice")[-1]["text"] == f"{lead}stopped: by hand"
        return anyio.current_time() - before, done

    moved, done = instantly(main, backend)
    assert moved == 0
    reason = "backstop" if silent == "summary" else "stopped"  # it had its end already
    assert (done.stop_reason, done.seconds) == (reason, 5)
    assert replays(done.messages)
    assert len(results(done.messages)) == {"model": 1, "tool": 2, "tools": 4, "summary": 1}[silent]


# What was said is all there


class PiecemealModel(ScriptedModel):
    """Says what its script says in pieces of one size."""

    def __init__(self, size: int, *script: Script) -> None:
        super().__init__(*script)
        self._size = size
        self.said: list[Turn] = []

    async def turn(
        self,
        messages: list[Message],
        tools: list[ToolDefinition],
        *,
        response_schema: dict[str, Any] | None = None,
        on_thinking: TextSink | None = None,
        on_output: TextSink | None = None,
        on_notice: TextSink | None = None,
    ) -> Turn:
        turn = await super().turn(
            messages,
            tools,
            on_thinking=on_thinking and self._cut(on_thinking),
            on_output=on_output and self._cut(on_output),
        )
        self.said.append(turn)
        return turn

    def _cut(self, sink: TextSink) -> TextSink:
        def tell(text: str) -> None:
            for start in range(0, len(text), self._size):
                sink(text[start : start + self._size])

        return tell


SAID = st.text(st.sampled_from("ab\n é<"), max_size=8)


@settings(max_examples=60)
@given(
    st.integers(1, 4),
    st.lists(st.tuples(SAID, SAID, st.lists(WANTED, max_size=2)), min_size=1, max_size=6),
    OPTIONS,
    st.sampled_from(BACKENDS),
)
def test_folded_events_of_a_run_say_what_was_said_and_told(
    size: int, says: list[tuple[str, str, list[Wanted]]], options: dict[str, Any], backend: str
) -> None:
    turns = [
        Turn(
            content=said,
            reasoning=thought,
            tool_calls=asking(options["discovery"], wish).tool_calls,
            usage=USAGE,
        )
        for said, thought, wish in says
    ]
    model, bus = PiecemealModel(size, *turns), EventBus()

    async def main() -> Run:
        price: Callable[[TurnUsage], float] | None = PRICES
        if options["max_cost"] is None:
            price = None
        tell = partial(bus.emit, "r")
        return await run(model, toolbox(), on_event=tell, price=price, **options)

    instantly(main, backend)
    history = bus.history("r")
    blocks = fold(history)
    assert blocks_of(blocks, "output") == [turn.content for turn in model.said if turn.content]
    assert blocks_of(blocks, "thinking") == [
        turn.reasoning for turn in model.said if turn.reasoning
    ]
    assert [one for one in blocks if one.kind not in ("output", "thinking")] == [
        one for one in history if one.kind not in ("output", "thinking")
    ]
    assert fold(blocks) == blocks
    assert [one.seq for one in blocks] == sorted(one.seq for one in blocks)


def blocks_of(events: Sequence[RunEvent], kind: str) -> list[str]:
    return [event.text for event in events if event.kind == kind]
