"""Whatever a server lists or hands out, the SDK accepts what is left, and nothing good is lost."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import validate_server_result

from host.pool.content_mending import mend_answer

MODERN = "2026-07-28"
LISTS = {
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
    "prompts/list": ("prompts", "name"),
}

junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from(["", "text", "a://b"]),
    st.just([]),
    st.just([1, "x", None, {}]),
    st.just({}),
    st.just({"audience": ["user"], "priority": 2}),
)
parts = st.dictionaries(
    st.sampled_from(
        [
            "uri",
            "uriTemplate",
            "name",
            "title",
            "description",
            "mimeType",
            "size",
            "annotations",
            "icons",
            "_meta",
            "arguments",
            "text",
            "blob",
            "role",
            "content",
        ]
    ),
    junk,
    max_size=6,
)
blocks = st.one_of(
    junk,
    st.builds(lambda text: {"type": "text", "text": text}, junk),
    st.builds(lambda held: {"type": "resource", "resource": held}, st.one_of(junk, parts)),
    st.builds(lambda data: {"type": "image", "data": data, "mimeType": data}, junk),
)
messages = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.one_of(junk, st.sampled_from(["user", "assistant", "system"])),
    st.one_of(blocks, st.lists(blocks, max_size=3)),
)
entries = st.one_of(junk, parts, messages)


def checked(method: str, version: str | None, result: dict[str, Any]) -> None:
    """Has the SDK judge a result."""
    validate_server_result(method, version or "2025-11-25", result)


@given(
    st.sampled_from([*LISTS, "resources/read", "prompts/get"]),
    st.sampled_from([None, MODERN]),
    st.one_of(junk, st.lists(entries, max_size=5)),
    st.dictionaries(
        st.sampled_from(["nextCursor", "_meta", "ttlMs", "cacheScope", "description"]), junk
    ),
)
def test_the_sdk_accepts_whatever_comes_out_and_the_input_stays_as_it_was(
    method: str, version: str | None, held: Any, beside: dict[str, Any]
) -> None:
    key = {"resources/read": "contents", "prompts/get": "messages"}.get(method) or LISTS[method][0]
    sent = {key: held, **beside}
    before = copy.deepcopy(sent)
    mended, notices = mend_answer(method, version, sent)
    assert sent == before
    checked(method, version, mended)
    assert all(isinstance(notice, str) for notice in notices)


@given(
    st.sampled_from(sorted(LISTS)),
    st.lists(st.one_of(st.integers(0, 9), st.none()), max_size=8),
)
def test_every_entry_that_can_be_found_stays_in_its_place(
    method: str, numbers: list[int | None]
) -> None:
    key, found_by = LISTS[method]
    sent = {key: [None if n is None else {found_by: f"n{n}", "title": 1} for n in numbers]}
    mended, notices = mend_answer(method, None, sent)
    good = [f"n{n}" for n in numbers if n is not None]
    assert [entry[found_by] for entry in mended[key]] == good
    assert all(entry["name"] and "title" not in entry for entry in mended[key])
    assert len(notices) == (1 if len(good) < len(numbers) else 0)


@pytest.mark.parametrize("method", ["resources/read", "prompts/get"])
def test_an_answer_that_asks_for_something_is_left_alone(method: str) -> None:
    sent = {"resultType": "input_required", "inputRequests": {}}
    assert mend_answer(method, MODERN, sent)[0].items() >= sent.items()
    assert "contents" not in mend_answer(method, MODERN, sent)[0]
    assert "messages" not in mend_answer(method, MODERN, sent)[0]


def test_a_single_part_and_a_single_message_need_no_list() -> None:
    mended, _ = mend_answer("resources/read", None, {"contents": {"uri": "a://b", "text": "x"}})
    assert mended["contents"] == [{"uri": "a://b", "text": "x"}]
    mended, _ = mend_answer("prompts/get", None, {"messages": "hello"})
    assert mended["messages"] == [{"role": "user", "content": {"type": "text", "text": "hello"}}]


def test_what_is_no_list_is_told() -> None:
    assert mend_answer("prompts/list", None, {"prompts": 3})[1] == (
        "sent no list where each prompt belongs; it counts as empty",
    )


def test_other_methods_are_mended_as_before() -> None:
    mended, _ = mend_answer("tools/call", None, {"content": "hello"})
    assert mended["content"] == [{"type": "text", "text": "hello"}]
