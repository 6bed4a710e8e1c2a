"""What a browser brings back is taken only if it answers what was asked."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.auth.redirects import Redirect, redirect_in

TEXTS = st.text(st.sampled_from("ab &=%+é\x1b\n\"'<"), min_size=1, max_size=8)


def head(said: dict[str, str], *, method: str = "GET", path: str = "/callback") -> str:
    """The request of a browser that was sent back with this."""
    query = f"?{urlencode(said)}" if said else ""
    return f"{method} {path}{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@given(code=TEXTS, state=TEXTS, issuer=st.none() | TEXTS)
def test_an_answer_to_what_was_asked_is_taken_as_it_is(
    code: str, state: str, issuer: str | None
) -> None:
    said = {"code": code, "state": state} | ({"iss": issuer} if issuer else {})
    assert redirect_in(head(said), state) == Redirect(code=code, state=state, issuer=issuer)


@given(sent=TEXTS, came=TEXTS, error=st.booleans())
def test_an_answer_with_another_state_gives_nothing(sent: str, came: str, error: bool) -> None:
    said = {"state": came, "error" if error else "code": "x"}
    found = redirect_in(head(said), sent)
    assert found is not None
    assert bool(found.problem) is (error or sent != came)
    if sent != came:
        assert "state" in found.problem
        assert (found.code, found.state) == ("", "")


@given(error=TEXTS, why=st.none() | TEXTS)
def test_a_refusal_is_told_on_one_harmless_line(error: str, why: str | None) -> None:
    said = {"state": "s", "error": error} | ({"error_description": why} if why else {})
    found = redirect_in(head(said), "s")
    assert found is not None
    assert found.problem.startswith("it was refused: ")
    assert found.problem.isprintable()


@pytest.mark.parametrize(
    "request_head",
    [
        head({}, path="/favicon.ico"),
        head({"code": "x", "state": "s"}, method="POST"),
        head({"code": "x", "state": "s"}, path="/other"),
        "",
        "GET",
        "GET http://[::1/callback?code=x HTTP/1.1\r\n",
    ],
)
def test_other_requests_are_no_answer(request_head: str) -> None:
    assert redirect_in(request_head, "s") is None


def test_an_answer_without_a_code_says_so() -> None:
    found = redirect_in(head({"state": "s"}), "s")
    assert found == Redirect(problem="the answer holds no code")


def test_the_code_stands_in_no_repr() -> None:
    assert "sesame" not in repr(Redirect(code="sesame", state="sesame"))
