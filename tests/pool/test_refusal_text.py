"""A refusal's body is read for the one line that a person can do something with."""

from __future__ import annotations

import html
import json
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.refusal_text import MAX_READ_CHARS, refusal_line

WORDS = st.sampled_from(["Your IP is not allowed", "quota: 5 < 6 & 7", "müde", "no", "x" * 500])
STATUSES = st.sampled_from([401, 403, 429, 500, 502, 799])


@given(WORDS, STATUSES, st.sampled_from(["message", "detail", "error_description", "error"]))
def test_json_tells_by_its_usual_fields_however_nested(words: str, status: int, name: str) -> None:
    for told in ({name: words}, {"error": {name: words}}, {"error": {"code": 5, name: words}}):
        assert refusal_line(json.dumps(told).encode(), status=status) == words


@given(WORDS, STATUSES, st.sampled_from(["title", "h1", "H1"]))
def test_a_page_tells_by_its_title(words: str, status: int, tag: str) -> None:
    page = (
        f"<!DOCTYPE html><style>title {{}}</style><script>'<title>no</title>'</script>"
        f"<{tag} class='a'>\n{html.escape(words)}\n</{tag}><p>more</p>"
    )
    assert refusal_line(page.encode(), status=status) == words


@given(WORDS, STATUSES)
def test_text_tells_by_its_first_line(words: str, status: int) -> None:
    assert refusal_line(f"\n  {words}\r\nmore\n".encode(), status=status) == words


@given(st.sampled_from(list(HTTPStatus)), st.sampled_from(["{0} {1}", "{1}", "{1}!", " {0}: {1}."]))
def test_what_the_status_says_already_is_not_said_again(status: HTTPStatus, form: str) -> None:
    assert refusal_line(form.format(status.value, status.phrase).encode(), status=status) == ""


@given(
    st.lists(
        st.sampled_from(
            [b"<", b"<title>", b"</", b"{", b'"error":', b"<!--", b"\xff", b"\x1b[2J", b"x"]
        )
    )
)
def test_any_body_gives_one_clean_line(pieces: list[bytes]) -> None:
    line = refusal_line(b"".join(pieces), status=500)
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) <= MAX_READ_CHARS


@pytest.mark.parametrize("body", [b"", b"{}", b'{"error": null}', b"<html></html>", b"[[" * 9999])
def test_a_body_without_words_gives_none_or_its_beginning(body: bytes) -> None:
    line = refusal_line(body, status=500)
    assert line in ("", "{}", '{"error": null}') or line.startswith("[[")
