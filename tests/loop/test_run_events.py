"""What watchers of a run are told."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.event_bus import EventBus, run_metrics
from host.loop.collaborators import ToolCallResult
from host.loop.run_events import RunEvents, note_text, usage_report
from host.records import HookNote, ToolCallRequest, Turn, TurnUsage


def test_the_bus_takes_the_events_as_they_are() -> None:
    bus = EventBus()
    events = RunEvents(sink=partial(bus.emit, "r"))
    events.tell("turn", 0)
    events.call(0, ToolCallRequest(id="c1", name="f", raw="x" * 3000))
    events.result(0, ToolCallResult(id="c1", name="f", text="answer", ok=True))
    events.note(HookNote(event="beforeTurn", source="Notes", hook_id="h", tokens=4, text="t"))
    shown = [(e.kind, e.name, e.step, e.ok, e.id, e.text[:7]) for e in bus.history("r")]
    assert shown == [
        ("turn", "", "0", None, None, ""),
        ("tool-call", "f", "0", None, "c1", "xxxxxxx"),
        ("tool-result", "f", "0", True, "c1", "answer"),
        ("notice", "", "", None, None, "hook h "),
    ]
    assert bus.history("r")[1].text.endswith("… (3000 chars)")


def test_a_watcher_that_raises_ends_nothing() -> None:
    def fail(**fields: object) -> None:
        raise ZeroDivisionError

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    RunEvents(sink=fail).tell("turn", 0)
    RunEvents(sink=None).tell("turn", 0)
    whole = RunEvents(sink=None, on_call=broken, on_result=broken)
    whole.call(0, ToolCallRequest(id="c1", name="f"))
    whole.result(0, ToolCallResult(id="c1", name="f", text="", ok=True))


def test_a_watcher_that_raises_a_cancellation_ends_nothing_and_the_end_of_the_program_passes() -> (
    None
):
    class Cancelled(BaseException):
        """As asyncio's."""

    def raising(error: BaseException) -> Any:
        def hear(*_: object, **__: object) -> None:
            raise error

        return hear

    lost = raising(Cancelled())
    events = RunEvents(sink=lost, on_call=lost, on_result=lost)
    events.call(0, ToolCallRequest(id="c1", name="f"))
    events.result(0, ToolCallResult(id="c1", name="f", text="", ok=True))
    for last in (KeyboardInterrupt(), SystemExit()):
        with pytest.raises(type(last)):
            RunEvents(sink=raising(last)).tell("turn", 0)


def test_who_hears_of_a_call_can_change_nothing_of_it() -> None:
    call = ToolCallRequest(id="c1", name="f", args={"path": ["a"], "deep": {"key": 1}})

    def meddle(heard: ToolCallRequest, step: int) -> None:
        assert heard == call
        heard.args["path"].append("b")
        heard.args["deep"].clear()
        del heard.args["deep"]

    RunEvents(sink=None, on_call=meddle).call(0, call)
    assert call.args == {"path": ["a"], "deep": {"key": 1}}


def test_the_bus_reads_its_metrics_from_the_usage_events() -> None:
    bus = EventBus()
    events = RunEvents(sink=partial(bus.emit, "r"))
    usage = TurnUsage(prompt_tokens=9, completion_tokens=2, total_tokens=11, wall_seconds=1.5)
    events.usage(0, usage, Turn(usage=usage, finish_reason="length"))
    metrics = run_metrics(bus.history("r"))
    assert (metrics.turns, metrics.prompt_tokens, metrics.truncated_turns) == (1, 9, 1)
    assert metrics.wall_seconds == 1.5


@given(
    st.integers(0, 9),
    st.one_of(st.none(), st.integers(0, 9)),
    st.one_of(st.none(), st.floats(0, 9)),
)
def test_a_usage_report_holds_what_was_reported(
    count: int, cached: int | None, seconds: float | None
) -> None:
    usage = TurnUsage(prompt_tokens=count, cached_tokens=cached, first_token_seconds=seconds)
    report = usage_report(usage, Turn(usage=usage, finish_reason="stop"))
    assert report["promptTokens"] == report["turn"]["promptTokens"] == count
    for told in (report, report["turn"]):
        assert told.get("cachedTokens") == cached
        assert ("cachedTokens" in told) == (cached is not None)
    assert report["turn"].get("firstTokenSeconds") == seconds
    assert report["turn"]["finishReason"] == "stop"
    assert None not in report["turn"].values()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"tokens": 7, "text": "t"}, "hook h of N added about 7 tokens of context (beforeTurn)"),
        ({"error": "down"}, "hook h of N failed (beforeTurn): down"),
        ({"error": "down", "source": ""}, "the beforeTurn hooks failed (beforeTurn): down"),
        ({"veto": True, "text": "busy"}, "hook h of N vetoed beforeTurn: busy"),
        ({"veto": True}, "hook h of N vetoed beforeTurn"),
    ],
)
def test_a_note_is_one_line(fields: dict[str, Any], text: str) -> None:
    note = HookNote(**{"event": "beforeTurn", "source": "N", "hook_id": "h", **fields})
    assert note_text(note) == text
