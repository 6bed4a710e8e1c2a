"""The decision point after failed calls: evidence and context."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.loop.decision_point import CONTEXT_CHARS, DecisionPoint, decision_point
from host.loop.loop_events import ExecutedCall
from host.records import Message, ToolCallRequest, ToolFailure, ToolSuccess

FAILURE = ToolFailure(code="down", message="no route", status=502)


def executed(name: str, ok: bool, call_id: str = "") -> tuple[ExecutedCall, str]:
    call = ToolCallRequest(id=call_id, name=name, args={"n": 1})
    outcome = ToolSuccess(result=1) if ok else FAILURE
    return ExecutedCall(call=call, label=name.upper(), outcome=outcome), f"rendered {name}"


def point(
    batch: list[tuple[ExecutedCall, str]], messages: list[Message] | None = None, text: str = ""
) -> DecisionPoint:
    return decision_point("r", None, 3, messages=messages or [], turn_text=text, batch=batch)


def test_a_decision_point_says_what_failed() -> None:
    found = point([executed("f", False, "c1"), executed("g", True), executed("h", False)])
    assert found.id == "r:agent.turn:3:failure-recovery"
    assert (found.kind, found.step_index) == ("retry", 3)
    assert found.candidate_actions == ("retry", "verify", "continue", "stop")
    assert found.metadata == {
        "target": "failure-recovery",
        "source": "agent.turn",
        "failedToolCount": 2,
        "toolNames": ["f", "h"],
    }
    assert [(entry.source, entry.id, entry.detail, entry.metadata) for entry in found.evidence] == [
        ("tool_call", "c1", 'f {"n":1}', {"toolName": "f", "label": "F"}),
        (
            "tool_result",
            "c1:result",
            "rendered f",
            {"code": "down", "message": "no route", "status": 502},
        ),
        ("tool_call", "3:H", 'h {"n":1}', {"toolName": "h", "label": "H"}),
        (
            "tool_result",
            "3:H:result",
            "rendered h",
            {"code": "down", "message": "no route", "status": 502},
        ),
    ]


def test_the_context_is_the_last_six_messages_the_text_and_all_results() -> None:
    messages: list[Message] = [{"role": "user", "content": f"m{n}"} for n in range(6)]
    messages += [
        {"role": "assistant", "content": None},
        {"role": "user", "content": [{"type": "text", "text": "part"}]},
    ]
    found = point([executed("f", False), executed("g", True)], messages, "Hm.")
    assert found.context == (
        "[user]\nm2\n\n[user]\nm3\n\n[user]\nm4\n\n[user]\nm5\n\n[assistant]\n\n\n"
        '[user]\n[{"type":"text","text":"part"}]\n\n[assistant]\nHm.\n\n'
        "[tool results]\nrendered f\nrendered g"
    )


def test_a_blank_turn_text_is_left_out() -> None:
    assert point([executed("f", False)], text=" \n").context == "[tool results]\nrendered f"


@given(st.lists(st.integers(0, 5000), max_size=8), st.integers(0, 13_000))
def test_the_context_keeps_its_head_and_its_limit(lengths: list[int], text_length: int) -> None:
    messages: list[Message] = [{"role": "user", "content": "x" * n} for n in lengths]
    context = point([executed("f", False)], messages, "t" * text_length).context
    assert len(context) <= CONTEXT_CHARS + 1
    whole = sum(min(n, 10**9) + len("[user]\n\n\n") for n in lengths[-6:])
    if whole + text_length < CONTEXT_CHARS - 100:
        assert context.endswith("rendered f")
    else:
        assert context.startswith("[user]" if lengths else "[assistant]")


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_each_failed_call_gives_two_entries(oks: list[bool]) -> None:
    batch = [executed(f"t{n}", ok, f"c{n}") for n, ok in enumerate(oks)]
    found = point(batch)
    failed = [f"c{n}" for n, ok in enumerate(oks) if not ok]
    assert [entry.id for entry in found.evidence] == [
        part for call_id in failed for part in (call_id, f"{call_id}:result")
    ]
