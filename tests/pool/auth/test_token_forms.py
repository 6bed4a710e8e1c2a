"""Forms say what the grants ask for, clients prove themselves as agreed, refusals are read."""

from __future__ import annotations

import base64
import json
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.auth.credentials import Authority, Credentials, Registration, Tokens
from host.pool.auth.token_forms import (
    BASIC,
    CLIENT_ASSERTION,
    JWT_BEARER,
    MAX_WORDS_CHARS,
    POST,
    authenticated,
    bearer_fields,
    credentials_fields,
    exchange_fields,
    form_secrets,
    read_refusal,
    refresh_fields,
    revocation_fields,
    secret_method,
)

NAMES = st.text(st.sampled_from("ab:% +/é"), min_size=1, max_size=6)


@given(name=NAMES, secret=st.none() | NAMES, method=st.sampled_from([BASIC, POST, "none", None]))
def test_a_client_proves_itself_in_one_way_only(
    name: str, secret: str | None, method: str | None
) -> None:
    client = Registration(client_id=name, secret=secret, auth_method=method)
    fields, headers = authenticated({"a": "b"}, client)
    if secret and method == BASIC:
        pair = base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode()
        assert [unquote(part) for part in pair.split(":")] == [name, secret]
        assert fields == {"a": "b"}
        return
    told = {"client_secret": secret} if secret and method == POST else {}
    assert (fields, headers) == ({"a": "b", "client_id": name, **told}, {})


def test_an_assertion_takes_the_place_of_a_secret() -> None:
    client = Registration(client_id="c", secret="s", auth_method=BASIC)
    fields, headers = authenticated({}, client, assertion="jwt")
    assert headers == {}
    assert fields == {
        "client_id": "c",
        "client_assertion": "jwt",
        "client_assertion_type": CLIENT_ASSERTION,
    }


@given(scope=st.none() | NAMES, resource=st.none() | NAMES)
def test_what_is_not_known_is_not_asked_for(scope: str | None, resource: str | None) -> None:
    optional = {"scope": scope, "resource": resource}
    told = {name: value for name, value in optional.items() if value}
    assert credentials_fields(scope, resource) == {"grant_type": "client_credentials", **told}
    assert bearer_fields("j", scope, resource) == {
        "grant_type": JWT_BEARER,
        "assertion": "j",
        **told,
    }
    held = Credentials(
        authority=Authority(issuer="i", token_url="t", resource=resource),
        registration=Registration(client_id="c"),
        tokens=Tokens(access="a", refresh="r", scope=scope),
    )
    asked = {"grant_type": "refresh_token", "refresh_token": "r"}
    assert refresh_fields(held) == asked | ({"resource": resource} if resource else {})


@given(st.lists(st.sampled_from(["none", BASIC, POST, "private_key_jwt"])) | st.none())
def test_a_secret_is_sent_in_a_header_unless_only_the_form_is_taken(
    supported: list[str] | None,
) -> None:
    only_form = supported is not None and POST in supported and BASIC not in supported
    assert secret_method(supported) == (POST if only_form else BASIC)


def test_every_secret_of_a_form_is_known_as_one() -> None:
    forms = [
        authenticated(bearer_fields("S1", "x", "y"), Registration(client_id="c"), assertion="S2"),
        authenticated(
            exchange_fields("S1", "x", "y"),
            Registration(client_id="c", secret="S2", auth_method=POST),
        ),
        (revocation_fields("S1", "refresh_token"), {}),
        ({"code": "S1", "code_verifier": "S2", "redirect_uri": "x"}, {}),
    ]
    for fields, _ in forms:
        held = {value for value in fields.values() if value.startswith("S")}
        assert set(form_secrets(fields)) == held


@given(
    code=st.text("abc_.-", min_size=1, max_size=20),
    why=st.none() | st.text(st.sampled_from("why \n\x1b[31m"), max_size=300),
)
def test_a_refusal_is_one_line_of_bounded_length(code: str, why: str | None) -> None:
    refusal = read_refusal(json.dumps({"error": code, "error_description": why}))
    assert refusal is not None
    assert refusal.code == code
    assert refusal.words.startswith(code)
    assert len(refusal.words) <= MAX_WORDS_CHARS
    assert refusal.words.isprintable()


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>502",
        "[]",
        "{}",
        '{"error": 5}',
        '{"error": "two words"}',
        '{"error": "temporarily_unavailable"}',
        '{"error": "slow_down"}',
        "[" * 100_000,
    ],
)
def test_what_is_no_word_of_a_token_endpoint_is_no_refusal(body: str) -> None:
    assert read_refusal(body) is None
