"""What of a configuration is a secret, surely or perhaps, and what anybody may read."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.redaction import Redactor
from host.text.secret_forms import is_ordinary
from host.text.secret_values import secret_values

NAME = st.sampled_from(["API_KEY", "token", "REGION", "abc", "X-Custom", "password"])
VALUE = st.text(alphabet="SECRT%2/:@ab", min_size=1, max_size=12)


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
def test_what_is_not_plainly_ordinary_is_taken_out_of_texts(
    env: dict[str, str], headers: dict[str, str]
) -> None:
    odd = [value for value in (*env.values(), *headers.values()) if not is_ordinary(value)]
    text = " ".join(odd)
    shown = Redactor(secret_values(env, headers=headers)).redact(text)
    assert not [value for value in odd if len(value) >= 4 and value in shown]
    assert set(secret_values(env, only_sure=True)) <= set(secret_values(env))


@pytest.mark.parametrize(
    ("name", "value", "is_secret", "is_sure"),
    [
        ("API_KEY", "s3same-0pen", True, True),
        ("DB_PASSWORD", "postgres", True, False),  # guessed at once, and a word of every answer
        ("USE_AUTH", "true", False, False),
        ("AWS_REGION", "us-east-1", False, False),
        ("PORT", "8080", False, False),
        ("ROOT_DIR", "/srv/data", False, False),
        ("API_URL", "https://api.example.com/v1", False, False),
        ("PROJECT", "my-project-12", True, False),
        ("WHATEVER", "ghp_0123456789abcdef", True, True),
        ("HOOK", "https://hooks.example.com/T0/B0/x9Yz", True, False),
        ("URL", "https://me:s3same-0pen@h.example", True, True),
    ],
)
def test_a_name_or_the_form_of_a_value_decides(
    name: str, value: str, is_secret: bool, is_sure: bool
) -> None:
    header = f"X-{name.replace('_', '-')}"
    for found in (secret_values({name: value}), secret_values(headers={header: value})):
        assert (value in found) is is_secret
    sure = secret_values({name: value}, only_sure=True)
    assert bool(sure) is is_sure


ARG = "s3same-0pen"


@pytest.mark.parametrize(
    "args",
    [
        ["--api-key", ARG],
        [f"--token={ARG}"],
        [f"password={ARG}"],
        ["-e", f"NAME={ARG}"],
        [f"--env=NAME={ARG}"],
        ["-H", f"X-Custom: {ARG}"],
        [f"--header=Authorization: Bearer {ARG}"],
        ["https://h.example/mcp", "--header", f"Authorization:{ARG}"],
        [f"postgres://me:{ARG}@h/db"],
        [f"--db=postgres://me:{ARG}@h/db"],
        [f"host=h user=me password={ARG} sslmode=off"],
        [f"https://h.example/sse?key={ARG}"],
        [f"https://h.example/sse?{ARG}"],
        [f'--config={{"apiKey": "{ARG}"}}'],
        ["--config", f'{{"auth": {{"token": "{ARG}"}}}}'],
    ],
)
def test_the_secret_in_an_argument_is_found(args: list[str]) -> None:
    found = secret_values(args=["-y", "@scope/server@1.2.3", *args])
    assert ARG in found
    assert not [secret for secret in found if ARG not in secret]


@pytest.mark.parametrize(
    "args",
    [
        ["-y", "@modelcontextprotocol/server-filesystem@2025.8.21", "/home/me/my files"],
        ["run", "-i", "--rm", "ghcr.io/x/y-server:sha-0a1b2c3", "--mode=stdio"],
        ["--from", "git+https://github.com/x/y@0123456789abcdef0123456789abcdef01234567", "y"],
        ["https://h.example/mcp?profile=work", "--max-tokens=100", "--tokenizer=cl100k_base"],
        ["--author", "Ada Lovelace", "--sort-by", "keyboard", "--use-auth=true"],
        ["/nix/store/zcc1k2m3n4p5q6r7s8t9zcc1k2m3n4p5-python/bin/python", "-m", "x"],
    ],
)
def test_ordinary_arguments_hold_no_secret(args: list[str]) -> None:
    assert secret_values(args=args) == ()


@given(st.sampled_from(["token", "apiKey", "note"]), st.integers(0, 3), st.booleans())
def test_a_secret_anywhere_in_the_arguments_of_a_hook_is_found(
    name: str, depth: int, is_listed: bool
) -> None:
    inner: Any = {name: ARG, "limit": 5, "flag": True, "none": None}
    for _ in range(depth):
        inner = [inner] if is_listed else {"x": inner}
    found = secret_values(given={"q": "{{ prompt }}", "in": inner})
    assert found == (ARG,)
    sure = secret_values(given={"in": inner}, only_sure=True)
    assert sure == (() if name == "note" else (ARG,))


def test_a_text_with_placeholders_is_a_secret_round_them() -> None:
    text = f"about {{{{ prompt }}}} with {ARG}"
    assert secret_values(given={"text": text}) == (f" with {ARG}",)
    assert secret_values(given={"text": "What's on {{ now }}, and who comes today?"}) == ()
    assert secret_values(given={"pin": 123456, "deep": {"auth": [98765432]}}) == (
        "123456",
        "98765432",
    )


def test_each_line_of_a_key_is_a_secret() -> None:
    lines = [f"MIIEvQIBADANBgkqhkiG9w0BAQ{number}" for number in range(3)]
    key = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    shown = Redactor(secret_values({"X": key})).redact(f"cannot read {lines[1]}")
    assert shown == "cannot read ***"
