"""Where servers put what they have to say of an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.error_bodies import error_of_event, said_in, status_in


def _nested(message: str) -> st.SearchStrategy[Any]:
    """Error bodies that say ``message`` in the ways of all servers we know."""
    plain: st.SearchStrategy[Any] = st.sampled_from([message, {"message": message}])
    return st.recursive(
        plain,
        lambda inner: st.one_of(
            inner.map(lambda value: {"error": value}),
            inner.map(lambda value: {"error": value, "status": 400, "message": ""}),
            inner.map(lambda value: {"detail": value}),
            inner.map(lambda value: [value]),
        ),
        max_leaves=4,
    )


@given(_nested("the inner words"))
def test_the_inner_message_is_found_wherever_servers_put_it(body: Any) -> None:
    assert said_in(body) == "the inner words"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (None, ""),
        ("  plain \n", "plain"),
        ("<html><head>\n<TITLE> 502 Bad Gateway </title></head>…", "502 Bad Gateway"),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required"),
        (
            {"message": {"detail": [{"loc": ["body", "a", 0], "msg": "no"}, {"msg": "nor"}, 3]}},
            "a.0: no; nor",
        ),
        ({"message": "Provider error", "metadata": {"raw": '{"x":1}'}}, 'Provider error: {"x":1}'),
        ({"message": "Provider error", "metadata": {}}, "Provider error"),
        ({"code": 7}, '{"code":7}'),
        ({"error": {"message": "", "code": None}}, ""),
        ({"error": {"message": "", "code": 400}}, '{"code":400}'),
        ([], "[]"),
        ({"x": float("nan")}, "{'x': nan}"),
        (
            json.loads("[" * 500 + '"deep"' + "]" * 500),
            "[" * 492 + "'deep'" + "]" * 492,
        ),
        (3, "3"),
    ],
)
def test_odd_bodies_say_what_they_can(body: object, words: str) -> None:
    assert said_in(body) == words


@given(st.integers(400, 599), st.sampled_from(["status", "status_code", "code"]), st.booleans())
def test_a_status_is_read_from_every_field_as_number_and_as_text(
    status: int, field: str, as_text: bool
) -> None:
    assert status_in({field: str(status) if as_text else status}) == status
    assert error_of_event({field: status, "message": "no"})
    assert not error_of_event({field: status, "message": "no", "choices": []})


@pytest.mark.parametrize("error", [None, "503", 503, ["503"], {"code": 200}, {"type": ["x"]}])
def test_what_names_no_status_has_none(error: object) -> None:
    assert status_in(error) is None


@pytest.mark.parametrize(
    ("kind", "status"),
    [("InternalError", 500), ("InternalServerError", 500), ("rate_limit_error", 429)],
)
def test_a_kind_is_known_however_it_is_written(kind: str, status: int) -> None:
    assert status_in({"code": kind}) == status


def test_a_body_too_deep_to_print_says_nothing_and_raises_nothing() -> None:
    body: Any = "words"
    for _ in range(5000):
        body = {"error": [body]}
    assert said_in(body) == ""
