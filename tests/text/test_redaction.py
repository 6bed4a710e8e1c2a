"""Secrets go, in whatever spelling; everything else stays."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from host.text.redaction import Redactor, redact_url, secret_values

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


def test_the_secrets_of_a_row_are_its_environment_headers_and_address() -> None:
    assert secret_values(
        {"API_KEY": "k-1", "DEBUG": "true", "BLANK": " "},
        headers={
            "Authorization": "Bearer tok-2",
            "X-Api-Key": "key-3",
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "User-Agent": "host",
        },
        url="https://u:p%40w@h/p?key=v+4&mode=info#part",
    ) == ("k-1", "tok-2", "key-3", "p%40w", "p@w", "v+4", "v 4")


def test_a_user_name_without_a_password_is_the_secret() -> None:
    assert secret_values(url="https://tok-9@h/") == ("tok-9",)
    assert secret_values() == ()


_BASIC = base64.b64encode(b"u:hunter2:x").decode()


@pytest.mark.parametrize(
    ("env", "headers", "secret"),
    [
        ("postgres://u:hunter2@h/db", {}, "hunter2"),
        ("postgres://u:hunter%402@h:5/db?sslmode=disable", {}, "hunter@2"),
        ("postgres://u:hun,ter/2@h/db", {}, "hun,ter/2"),
        ("http://u:hunter2@h1,http://u:hunter3@h2", {}, "hunter3"),
        ("https://ghp_0123456789abcdef@h/x.git", {}, "ghp_0123456789abcdef"),
        ("https://h/mcp?api_key=hunter2", {}, "hunter2"),
        ("Server=h;User Id=u;Password=hunter2;", {}, "hunter2"),
        ("DefaultEndpointsProtocol=https;AccountKey=aGk+Zg==;", {}, "aGk+Zg=="),
        ("host=h user=u password='hunter 2'", {}, "hunter 2"),
        ('{"type": "x", "private_key": "one\\ntwo"}', {}, "one\ntwo"),
        ("Authorization: x, token: Bearer hunter2", {}, "hunter2"),
        ("", {"Authorization": f"Basic {_BASIC}"}, "hunter2:x"),
        ("", {"Authorization": f"basic {base64.b64encode(b'hunter2:').decode()}"}, "hunter2"),
        ("", {"Cookie": 'session=hunter2; theme="dark-mode"'}, "hunter2"),
        ("", {"Cookie": 'session=hunter2; theme="dark-mode"'}, "dark-mode"),
        ("", {"Authorization": "Token token=hunter2"}, "hunter2"),
        ("", {"Authorization": 'Token token="hunter2", realm="x"'}, "hunter2"),
        ("", {"authorization": "AWS4-HMAC hunter2"}, "hunter2"),
        ("", {"Proxy-Authorization": "Bearer  hunter2 "}, "hunter2"),
    ],
)
def test_the_secret_in_a_longer_value_is_one_by_itself(
    env: str, headers: dict[str, str], secret: str
) -> None:
    found = secret_values({"NAME": env}, headers=headers)
    assert secret in found
    assert Redactor(found).redact(f"it was [{secret}]") == "it was [***]"


@pytest.mark.parametrize(
    ("env", "headers"),
    [
        ("postgres://postgres@localhost:5432/main?sslmode=disable", {}),
        ("--max-tokens=100000 --tokenizer=x --key", {}),
        ("", {"Authorization": "Basic ?", "Cookie": "lang=en"}),
        ("", {"Authorization": "Basic a", "X": "Basic dTpw"}),
    ],
)
def test_the_words_of_a_longer_value_are_not_all_secret(env: str, headers: dict[str, str]) -> None:
    shown = Redactor(secret_values({"NAME": env}, headers=headers)).redact(
        "postgres main disable localhost 100000 tokenizer Basic lang en"
    )
    assert "***" not in shown


@pytest.mark.parametrize("piece", ["a", "key", "key=", "a://", "a://u:", "'", 'key="', "\\", ","])
def test_a_long_value_takes_linear_time(piece: str) -> None:
    value = piece * (100_000 // len(piece))  # minutes when quadratic
    assert value in secret_values({"NAME": value}, headers={"Cookie": value})


@given(st.dictionaries(NAME, VALUE, max_size=3), st.dictionaries(NAME, VALUE, max_size=3))
def test_what_is_a_secret_of_a_row_is_taken_out_of_its_texts(
    env: dict[str, str], headers: dict[str, str]
) -> None:
    values = [value for value in (*env.values(), *headers.values()) if len(value) >= 4]
    assume(values)
    text = " ".join(values)
    shown = Redactor(secret_values(env, headers=headers)).redact(text)
    assert not [value for value in values if value in shown]
