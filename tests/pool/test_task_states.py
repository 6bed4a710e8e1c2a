"""A task's state is read in either protocol's words, and oddities cost nothing but themselves."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.task_states import (
    MAX_POLL_SECONDS,
    MIN_POLL_SECONDS,
    USUAL_POLL_SECONDS,
    needs_task,
    poll_seconds,
    read_task,
    speaks_tasks,
)

JUNK: st.SearchStrategy[Any] = st.sampled_from([None, 0, "", "x", [], ["a"], {}, True, 1.5])
STATUSES = st.sampled_from(["working", "input_required", "completed", "failed", "cancelled"])
ODD_FIELDS = st.dictionaries(
    st.sampled_from(
        ["statusMessage", "pollIntervalMs", "inputRequests", "result", "error", "lastUpdatedAt"]
    ),
    JUNK,
)


@given(STATUSES, st.text(min_size=1), ODD_FIELDS, st.booleans())
def test_id_and_status_are_read_whatever_stands_beside_them(
    status: str, task_id: str, odd: dict[str, Any], is_nested: bool
) -> None:
    sent: dict[str, Any] = {**odd, "taskId": task_id, "status": status}
    read = read_task({"task": sent} if is_nested else sent)
    assert (read.task_id, read.status) == (task_id, status)
    assert read.is_over == (status in ("completed", "failed", "cancelled"))
    assert MIN_POLL_SECONDS <= read.poll_seconds <= MAX_POLL_SECONDS
    assert isinstance(read.message, str)


@given(
    st.fixed_dictionaries({}, optional={"taskId": JUNK, "status": JUNK}).filter(
        lambda sent: not sent.get("taskId") or sent.get("status") is not None
    )
)
def test_what_names_no_task_or_no_status_is_refused(sent: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="without saying which"):
        read_task(sent)


@given(st.one_of(st.integers(), st.floats(), JUNK))
def test_the_pause_between_questions_is_the_servers_within_bounds(asked: Any) -> None:
    seconds = poll_seconds(asked)
    is_number = isinstance(asked, int | float) and not isinstance(asked, bool)
    if is_number and not math.isnan(asked):
        assert seconds == min(max(asked / 1000, MIN_POLL_SECONDS), MAX_POLL_SECONDS) or math.isinf(
            asked
        )
    else:
        assert seconds == USUAL_POLL_SECONDS


def test_both_protocols_words_are_read() -> None:
    modern = read_task(
        {
            "taskId": "a",
            "status": "failed",
            "statusMessage": "m",
            "pollIntervalMs": 5000,
            "error": {"code": -3, "message": "no"},
        }
    )
    assert (modern.message, modern.poll_seconds, modern.error) == ("m", 5.0, (-3, "no"))
    older = read_task({"task": {"taskId": "a", "status": "working", "pollInterval": 200}})
    assert older.poll_seconds == 0.2
    assert read_task({"taskId": "a", "status": "failed", "error": {}}).error == (0, "")


@given(st.lists(st.sampled_from(["working", "input_required"]), min_size=1, max_size=5))
def test_the_stamp_changes_with_status_words_and_time_only(statuses: list[str]) -> None:
    for place, status in enumerate(statuses):
        sent = {"taskId": "a", "status": status, "lastUpdatedAt": str(place), "ttlMs": place}
        again = {**sent, "ttlMs": 99, "pollIntervalMs": 7}
        assert read_task(sent).stamp == read_task(again).stamp
        for change in ({"lastUpdatedAt": "x"}, {"statusMessage": "x"}, {"status": "completed"}):
            assert read_task({**sent, **change}).stamp != read_task(sent).stamp


@pytest.mark.parametrize(
    ("capabilities", "is_modern", "spoken"),
    [
        ({"extensions": {"io.modelcontextprotocol/tasks": {}}}, True, True),
        ({"extensions": {"io.modelcontextprotocol/tasks": {}}}, False, False),
        ({"tasks": {"requests": {"tools": {"call": {}}}}}, False, True),
        ({"tasks": {"requests": {"tools": {"call": {}}}}}, True, False),
        ({"tasks": {"requests": {"tools": {}}}}, False, False),
        ({"tasks": {"requests": []}}, False, False),
        ({"extensions": None}, True, False),
        ({}, True, False),
    ],
)
def test_a_server_speaks_tasks_in_the_way_of_its_era(
    capabilities: dict[str, Any], is_modern: bool, spoken: bool
) -> None:
    assert speaks_tasks(capabilities, is_modern=is_modern) is spoken


def test_only_required_means_that_a_task_is_needed() -> None:
    assert needs_task({"execution": {"taskSupport": "required"}})
    assert not needs_task({"execution": {"taskSupport": "optional"}})
    assert not needs_task({"execution": None})
