"""Secrets go, in whatever spelling; everything else stays."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.redaction import MIN_ENCODED_BYTES, Redactor, redact_url, without_quoted_input

SECRETS = st.lists(st.text(alphabet='kq7/+ %"é', min_size=0, max_size=8), max_size=5)
SPELLINGS: list[Callable[[str], str]] = [
    str,
    quote,
    quote_plus,
    lambda text: json.dumps(text)[1:-1],
]
FILLER = st.text(alphabet="xyz :,\n", max_size=6)


@given(SECRETS, st.data())
def test_every_spelling_goes_and_the_rest_stays(secrets: list[str], data: st.DataObject) -> None:
    real = [secret for secret in secrets if len(secret.strip()) >= 4]
    pieces: list[tuple[str, str]] = []
    for _ in range(data.draw(st.integers(0, 6))):
        between = "x" + data.draw(FILLER) + "x"
        pieces.append((between, between))
        if real:
            spelling = data.draw(st.sampled_from(SPELLINGS))
            pieces.append((spelling(data.draw(st.sampled_from(real))), "***"))
    text = "".join(raw for raw, _ in pieces)
    assert Redactor(secrets).redact(text) == "".join(shown for _, shown in pieces)


@given(st.lists(st.text(alphabet="ab", min_size=4, max_size=6), max_size=4), st.text(alphabet="ab"))
def test_no_secret_is_left_even_where_secrets_overlap(secrets: list[str], text: str) -> None:
    redacted = Redactor(secrets).redact(text)
    assert not [secret for secret in secrets if secret in redacted]
    kept = redacted.replace("***", "")
    exposed = [
        char
        for at, char in enumerate(text)
        if not any(
            text.startswith(secret, start)
            for secret in secrets
            for start in range(max(0, at - len(secret) + 1), at + 1)
        )
    ]
    assert kept == "".join(exposed)


@pytest.mark.parametrize(
    ("secrets", "text", "expected"),
    [
        (["abcd", "abcdef"], "abcdef abcd", "*** ***"),
        (["abcd", "cdef"], "abcdef", "***"),
        (["abcd"], "abcdabcd", "******"),
        (["abab"], "xababab abab", "x*** ***"),
        (["abc", "    ", ""], "abc     ", "abc     "),
        (["s3cret\n"], "key s3cret!", "key ***!"),
        (["p@ss/w"], "https://u:p%40ss%2fw@h", "https://u:***@h"),
        (['a"b\\c'], json.dumps({"k": 'a"b\\c'}), '{"k": "***"}'),
        (["***"], "***", "***"),
        (["redacted"], "redacted", "***"),
        ([], "text", "text"),
    ],
)
def test_known_cases(secrets: list[str], text: str, expected: str) -> None:
    assert Redactor(secrets).redact(text) == expected


LONG_SECRETS = st.text(alphabet='kq7/+ %"é', min_size=MIN_ENCODED_BYTES, max_size=20)


@given(LONG_SECRETS, st.binary(max_size=5), st.binary(max_size=5), st.booleans())
def test_a_secret_that_was_encoded_among_others_goes(
    secret: str, before: bytes, after: bytes, url_safe: bool
) -> None:
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    told = secret.encode()
    shown = Redactor([secret]).redact(f"<{encode(before + told + after).decode()}>")
    assert "***" in shown
    left = "".join(shown.strip("<>").split("***"))
    whole = -(-4 * (len(before) + len(after)) // 3)
    assert len(left.rstrip("=")) <= whole + 2  # of the secret's own, the bits of one character


def test_a_redactor_does_not_show_its_secrets() -> None:
    assert "hunter22" not in repr(Redactor(["hunter22"]))


NAME = st.text(alphabet="abc_", min_size=1, max_size=4)
VALUE = st.text(alphabet="SECRT%2/:@", min_size=1, max_size=8)


@given(
    st.sampled_from(["https://", "http://", "//", "postgres://"]),
    st.none() | st.tuples(VALUE, VALUE),
    st.sampled_from(["h.example", "h.example:8080", "[::1]:80", "localhost"]),
    st.sampled_from(["", "/", "/mcp", "/@scope/x"]),
    st.lists(st.tuples(NAME, VALUE), max_size=3),
)
def test_an_address_shows_host_path_and_names_only(
    start: str, user: tuple[str, str] | None, host: str, path: str, pairs: list[tuple[str, str]]
) -> None:
    user_info = ":".join(quote(part, safe="") for part in user) + "@" if user else ""
    query = "&".join(f"{name}={value}" for name, value in pairs)
    url = f"{start}{user_info}{host}{path}" + (f"?{query}" if query else "")
    hidden = "&".join(f"{name}=***" for name, _ in pairs)
    shown = f"{start}{'***@' if user else ''}{host}{path}" + (f"?{hidden}" if hidden else "")
    assert redact_url(url) == shown
    assert redact_url(shown) == shown


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h/p?token=a&empty=&flag", "https://h/p?token=***&empty=&***"),
        ("https://h/p#access_token=a", "https://h/p#access_token=***"),
        ("https://h/p#part", "https://h/p#part"),
        ("https://user:pa/ss@h/p", "https://***@h/p"),
        ("https://user:pa#ss?x@h/p", "https://***@h/p"),
        ("https://tok@h", "https://***@h"),
        ("user:pw@h/p", "***@h/p"),
        ("https://h:/p@q", "https://h:/p@q"),
        ("https://[::1]/p@q", "https://[::1]/p@q"),
        ("https://[broken", "https://[broken"),
        ("", ""),
    ],
)
def test_known_addresses(url: str, expected: str) -> None:
    assert redact_url(url) == expected


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("x [type=a, input_value={'k': 'se...t'}, input_type=dict] y", "input_value=***, input"),
        ("input_value='a\nb', input_type=str", "input_value=***, input_type=str"),
        ("input_value=never ended", "input_value=never ended"),
    ],
)
def test_what_a_validator_quotes_goes_as_a_whole(said: str, shown: str) -> None:
    assert shown in without_quoted_input(said)


def test_values_are_redacted_at_any_depth_and_names_stay() -> None:
    value = {"hunter22": ["hunter22", {"a": ("x hunter22",)}], "n": 5, "b": None}
    shown = {"hunter22": ["***", {"a": ["x ***"]}], "n": 5, "b": None}
    assert Redactor(["hunter22"]).redact_values(value) == shown
    assert Redactor(["hunter22"])
    assert not Redactor(["abc"])
