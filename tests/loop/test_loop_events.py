"""Events of the bounded loop: ids that form a tree, payloads, previews."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.loop_events import (
    ExecutedCall,
    LoopEvents,
    capped_turn,
    cut,
    json_preview,
    turn_results,
)
from host.records import ToolCallRequest, ToolFailure, ToolSuccess

NOW = datetime(2026, 5, 4, tzinfo=UTC)
EVENTS = LoopEvents(run_id="r", scenario_id="s", now=lambda: NOW)
CALL = ToolCallRequest(id="c1", name="f", args={"q": "ä"})
NAMELESS = ToolCallRequest(id="", name="g")


def test_the_ids_of_a_run_form_a_tree() -> None:
    told = [
        EVENTS.run("before", {}),
        EVENTS.turn(2, "before", {}),
        EVENTS.tool_call(2, 1, CALL),
        EVENTS.tool_call(2, 1, CALL, ToolSuccess(result=1)),
        EVENTS.turn(2, "after", {}),
        EVENTS.run("after", {}),
    ]
    assert [(event.id, event.parent_id, event.step_index) for event in told] == [
        ("r:agent.run:before", None, None),
        ("r:agent.run:2", "r:agent.run", 2),
        ("r:agent.run:2:tool-call:1", "r:agent.run:2", 2),
        ("r:agent.run:2:tool-call:1:after", "r:agent.run:2:tool-call:1", 2),
        ("r:agent.run:2:after", "r:agent.run:2", 2),
        ("r:agent.run:after", None, None),
    ]
    assert [(event.target, event.phase) for event in told] == [
        ("agent.run", "before"),
        ("agent.turn", "before"),
        ("agent.tool_call", "before"),
        ("agent.tool_call", "after"),
        ("agent.turn", "after"),
        ("agent.run", "after"),
    ]
    assert {event.metadata["producer"] for event in told} == {"tool-loop"}
    assert {(event.run_id, event.scenario_id, event.timestamp) for event in told} == {
        ("r", "s", NOW)
    }


def test_the_payloads_of_a_call() -> None:
    before = EVENTS.tool_call(0, 0, CALL)
    assert before.payload == {"toolName": "f", "toolCallId": "c1", "argsPreview": '{"q":"ä"}'}
    good = EVENTS.tool_call(0, 0, CALL, ToolSuccess(result="x"))
    assert good.payload == {**before.payload, "outcome": {"ok": True, "resultPreview": '"x"'}}
    bad = EVENTS.tool_call(0, 0, NAMELESS, ToolFailure(code="c", message="m" * 3000, status=502))
    assert bad.payload == {
        "toolName": "g",
        "argsPreview": "{}",
        "outcome": {"ok": False, "code": "c", "message": "m" * 2000 + "…", "status": 502},
    }


def test_the_payload_of_a_turn_counts_its_calls() -> None:
    batch = [
        ExecutedCall(call=CALL, label="L", outcome=ToolSuccess(result=1)),
        ExecutedCall(call=NAMELESS, label="M", outcome=ToolFailure(code="c", message="m")),
    ]
    assert turn_results(batch) == {
        "pendingToolCalls": 2,
        "toolResults": [
            {"toolName": "f", "toolCallId": "c1", "ok": True},
            {"toolName": "g", "ok": False},
        ],
        "failedToolCalls": 1,
    }
    assert capped_turn(4, "budget") == {"pendingToolCalls": 4, "stopReason": "budget"}


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(["", "ä", '"', "x" * 1500])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=5,
)


@given(VALUES)
def test_a_preview_is_compact_json_or_its_head(value: object) -> None:
    whole = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    shown = json_preview(value)
    assert shown == whole if len(whole) <= 2000 else shown == whole[:2000] + "…"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(object, "\"<class 'object'>\""), ({1, 2}, '"{1, 2}"'), ({"n": math.nan}, '{"n":null}')],
)
def test_what_json_has_no_form_for_is_shown_as_python_writes_it(value: object, shown: str) -> None:
    assert json_preview(value) == shown


@given(st.integers(0, 30), st.integers(0, 20))
def test_a_cut_text_is_one_longer_than_its_limit_and_a_short_one_is_itself(
    length: int, limit: int
) -> None:
    text = "abc" * 10
    text = text[:length]
    shown = cut(text, limit)
    assert shown == text if length <= limit else (len(shown) == limit + 1 and shown[-1] == "…")
