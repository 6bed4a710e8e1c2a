from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.demo.recording import (
    RecordedRequest,
    Recording,
    RecordingMismatch,
    SeenResult,
    answer_to,
    content_text,
    read_recording,
    recording_text,
    request_index,
    results_difference,
    seen_results,
)
from host.errors import ConfigError
from tests.demo.conversations import CALL, QUESTION, messages, recording

STEPS = st.lists(
    st.tuples(st.sampled_from(["load_tools", CALL, "t"]), st.text(max_size=8)), max_size=5
)
RESULTS = st.builds(SeenResult, tool=st.sampled_from("ab"), content=st.text(max_size=5))
RECORDINGS = st.builds(
    Recording,
    model=st.text(max_size=5),
    engine=st.text(max_size=5),
    date=st.dates().map(str),
    question=st.text(max_size=9),
    requests=st.lists(
        st.builds(
            RecordedRequest,
            results=st.lists(RESULTS, max_size=3).map(tuple),
            payloads=st.lists(st.text(max_size=5) | st.just("[DONE]"), max_size=3).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
)


@given(RECORDINGS)
def test_a_recording_is_read_back_as_it_was_written(recorded: Recording) -> None:
    assert read_recording(recording_text(recorded), "file") == recorded


@given(STEPS)
def test_the_same_run_gets_the_recorded_answers_in_order(steps: list[tuple[str, str]]) -> None:
    recorded = recording(*steps)
    for count in range(len(steps) + 1):
        for _ in range(2):  # a request sent again is the same request
            assert answer_to(recorded, messages(*steps[:count])) is recorded.requests[count]


@given(STEPS.filter(bool), st.data())
def test_one_changed_result_is_found_and_its_tool_named(
    steps: list[tuple[str, str]], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(steps) - 1))
    tool, result = steps[at]
    changed = [*steps[:at], (tool, result + "x"), *steps[at + 1 :]]
    with pytest.raises(RecordingMismatch) as mismatch:
        answer_to(recording(*steps), messages(*changed))
    line = str(mismatch.value)
    assert line.startswith(f"{tool} answered something else than in the recording: ")
    assert len(line.splitlines()) == 1


def test_the_line_shows_both_texts_where_they_part() -> None:
    then = "a" * 500 + " 42.195 km"
    now = "a" * 500 + " 42.2 km"
    with pytest.raises(
        RecordingMismatch, match=r"…a+ 42\.2 km\", recorded \"…a+ 42\.195 km"
    ) as line:
        answer_to(recording((CALL, then)), messages((CALL, now)))
    assert len(str(line.value)) < 300


def test_a_request_too_many_is_a_mismatch() -> None:
    with pytest.raises(RecordingMismatch, match="ends after 2 requests, this is request 3"):
        answer_to(recording((CALL, "r")), messages((CALL, "r"), (CALL, "r")))


def test_another_tool_is_a_mismatch() -> None:
    with pytest.raises(RecordingMismatch, match=f"called {CALL} where this run called other"):
        answer_to(recording((CALL, "r")), messages(("other", "r")))


def test_a_missing_result_is_a_mismatch() -> None:
    two = (SeenResult(tool="a", content="1"), SeenResult(tool="a", content="2"))
    assert results_difference(two, two[:1]) == (
        "the recording saw 2 tool results here, this run has 1"
    )
    assert results_difference(two, two) is None


@pytest.mark.parametrize(
    "asked",
    [
        [],
        [{"role": "system", "content": QUESTION}],
        [{"role": "user", "content": "Something else?"}],
        [{"role": "user", "content": QUESTION}, {"role": "user", "content": "And then?"}],
        [{"role": "user", "content": None}],
    ],
)
def test_another_question_is_a_mismatch(asked: list[dict[str, Any]]) -> None:
    with pytest.raises(RecordingMismatch, match="answers only the question"):
        answer_to(recording(), asked)


def test_the_question_may_stand_in_parts_behind_context() -> None:
    parts = [{"type": "text", "text": "context\n\n"}, {"type": "text", "text": QUESTION}]
    recorded = recording()
    assert answer_to(recorded, [{"role": "user", "content": parts}]) is recorded.requests[0]


def test_an_earlier_question_and_its_answers_do_not_count() -> None:
    earlier = [*messages(("t", "x")), {"role": "assistant", "content": "done"}]
    assert request_index([*earlier, *messages()]) == 0
    assert request_index(messages((CALL, "r"), (CALL, "s"))) == 2
    assert request_index([]) == 0


def test_a_result_without_its_call_or_of_odd_shape_is_still_seen() -> None:
    odd: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": "none"},
        {"role": "assistant", "tool_calls": [None, {"id": "a"}, {"id": "b", "function": {}}]},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
        {"role": "tool", "content": [{"type": "text", "text": "y"}, {"type": "image"}, 5]},
    ]
    assert seen_results(odd) == (
        SeenResult(tool="?", content="x"),
        SeenResult(tool="?", content="y"),
    )


@pytest.mark.parametrize(
    ("content", "text"), [("a", "a"), (None, ""), (5, ""), ([{"text": 5}, {"text": "b"}], "b")]
)
def test_a_messages_text_is_itself_or_its_text_parts(content: object, text: str) -> None:
    assert content_text(content) == text


def _file(**changes: Any) -> str:
    return json.dumps({**json.loads(recording_text(recording((CALL, "r")))), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        _file(format="x"),
        _file(version=2),
        _file(model=None),
        _file(requests=5),
        _file(requests=[{"results": []}]),
        _file(requests=[{"results": [{"tool": "a"}], "payloads": []}]),
        _file(requests=[{"results": [], "payloads": [{}]}]),
    ],
)
def test_a_file_of_another_shape_is_a_configuration_error(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^demo\.json: not a recording"):
        read_recording(text, "demo.json")
