from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.elicitation import MAX_MESSAGE_CHARS, PageNeeded, form_request, url_request
from host.text.terminal_text import clean_terminal

PIECES = st.sampled_from(
    [
        *("https://", "http://", "javascript:", "file://", "HTTPS://", "//", "bank.example"),
        *("evil.example", "@", ":", "443", "99999", "/", "?a=b", "#x", "\\", " ", "\t", "\x1b[2J"),
        *("\u0430", "%20", "[::1]", "user:pw@", ".", ""),
    ]
)
MARKED = st.lists(st.sampled_from(["\x1b[31m", "\x07", "\u202e", "a", "\n", "é", "\x9b2J"]))


@given(st.lists(PIECES, max_size=6).map("".join))
def test_an_address_is_one_of_a_page_with_nothing_hidden_or_it_is_refused(url: str) -> None:
    try:
        request = url_request("why", url)
    except ValueError:
        return
    assert request.url == url
    assert url.isascii()
    assert url.isprintable()
    assert not set(" \\") & set(url)
    parts = urlsplit(url)
    assert parts.scheme in ("http", "https")
    assert request.host == parts.hostname
    assert "@" not in request.host


@given(MARKED.map("".join), st.integers(1, 3 * MAX_MESSAGE_CHARS))
def test_a_message_is_clean_and_bounded(message: str, times: int) -> None:
    shown = form_request(message * times, {}).message
    assert shown == clean_terminal(shown)
    assert len(shown) <= MAX_MESSAGE_CHARS + 30


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.org", "example.org"),
        ("http://127.0.0.1:8080/x?y", "127.0.0.1"),
        ("https://bank.example@evil.example/", "evil.example"),
        ("https://[::1]/", "::1"),
    ],
)
def test_the_host_is_whose_page_it_is(url: str, host: str) -> None:
    assert url_request("", url).host == host


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ([], "wants a person to do something in a browser first"),
        (["a.test"], "wants a person to do something in a browser first, at a.test"),
        (
            ["a.test", "b.test", "a.test"],
            "wants a person to do something in a browser first, at a.test and at b.test",
        ),
    ],
)
def test_a_needed_page_is_named_by_its_host_alone(hosts: list[str], words: str) -> None:
    assert str(PageNeeded(hosts)) == words
