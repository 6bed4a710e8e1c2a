"""What a login leaves is read back as it was written, and read leniently from a server."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.auth.credentials import (
    Authority,
    Credentials,
    Registration,
    Tokens,
    credentials_json,
    read_credentials,
    tokens_from_answer,
    union_of_scopes,
)

WORDS = st.text("abc-._~é\n", min_size=1, max_size=8)
TIMES = st.none() | st.floats(0, 4e9)
TOKENS = st.builds(
    Tokens,
    access=WORDS,
    refresh=st.none() | WORDS,
    expires_at=TIMES,
    scope=st.none() | WORDS,
    is_bound=st.booleans(),
)
CLIENTS = st.builds(
    Registration,
    client_id=WORDS,
    secret=st.none() | WORDS,
    secret_expires_at=TIMES,
    auth_method=st.none() | WORDS,
    redirect_uri=st.none() | WORDS,
    issuer=st.none() | WORDS,
    is_dynamic=st.booleans(),
)
CREDENTIALS = st.builds(
    Credentials,
    authority=st.builds(
        Authority,
        issuer=WORDS,
        token_url=WORDS,
        revocation_url=st.none() | WORDS,
        resource=st.none() | WORDS,
    ),
    registration=CLIENTS,
    tokens=st.none() | TOKENS,
    dpop_key=st.none() | WORDS,
    wanted_scope=st.none() | WORDS,
)


@given(CREDENTIALS)
def test_credentials_are_read_back_as_they_were_written(credentials: Credentials) -> None:
    assert read_credentials(json.loads(json.dumps(credentials_json(credentials)))) == credentials


@given(CREDENTIALS, st.data())
def test_what_lacks_a_part_is_no_credentials_and_no_error(
    credentials: Credentials, data: st.DataObject
) -> None:
    written = credentials_json(credentials)
    broken: Any = data.draw(st.sampled_from(["authority", "registration"]))
    written[broken] = data.draw(st.none() | st.integers() | st.just({}))
    assert read_credentials(written) is None
    assert read_credentials(data.draw(st.none() | st.text() | st.integers())) is None


@given(CREDENTIALS)
def test_no_secret_stands_in_a_repr(credentials: Credentials) -> None:
    secret = "canary-of-a-secret"
    tokens = Tokens(access=secret, refresh=secret, scope=credentials.wanted_scope)
    client = Registration(client_id="c", secret=secret)
    shown = repr(
        Credentials(
            authority=credentials.authority, registration=client, tokens=tokens, dpop_key=secret
        )
    )
    assert secret not in shown


@given(now=st.floats(0, 4e9), lifetime=st.integers(-5, 100_000), as_text=st.booleans())
def test_a_lifetime_becomes_a_point_in_time(now: float, lifetime: int, as_text: bool) -> None:
    answer = {"access_token": "a", "expires_in": str(lifetime) if as_text else lifetime}
    tokens = tokens_from_answer(answer, now=now, asked_scope=None)
    assert tokens.expires_at == now + lifetime
    assert tokens.is_valid(now) is (lifetime > 0)
    assert not tokens.is_valid(now + max(lifetime, 0) + 1)


@pytest.mark.parametrize("written", [None, "soon", True, [], math.inf, math.nan, "1e999", 10**400])
def test_a_lifetime_that_is_none_is_not_known(written: object) -> None:
    answer = {"access_token": "a", "expires_in": written}
    tokens = tokens_from_answer(answer, now=1.0, asked_scope=None)
    assert tokens.expires_at is None
    assert tokens.is_valid(math.inf)


@given(
    before=st.none() | TOKENS,
    refresh=st.none() | WORDS,
    scope=st.none() | WORDS,
    asked=st.none() | WORDS,
)
def test_what_an_answer_leaves_out_stays_as_it_was(
    before: Tokens | None, refresh: str | None, scope: str | None, asked: str | None
) -> None:
    said = {"access_token": "new", "refresh_token": refresh, "scope": scope}
    answer = {name: value for name, value in said.items() if value is not None}
    tokens = tokens_from_answer(answer, now=0.0, asked_scope=asked, before=before)
    assert tokens.access == "new"
    assert tokens.refresh == (refresh or (before.refresh if before else None))
    assert tokens.scope == (scope or (before.scope if before else asked))


@pytest.mark.parametrize("answer", [{}, {"access_token": ""}, {"access_token": 5}])
def test_an_answer_without_a_token_is_none(answer: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no access token"):
        tokens_from_answer(answer, now=0.0, asked_scope=None)


@pytest.mark.parametrize(("kind", "is_bound"), [("DPoP", True), ("dpop", True), ("Bearer", False)])
def test_a_bound_token_is_known_by_its_type(kind: str, is_bound: bool) -> None:
    answer = {"access_token": "a", "token_type": kind}
    assert tokens_from_answer(answer, now=0.0, asked_scope=None).is_bound is is_bound


@given(st.lists(st.none() | st.lists(st.sampled_from("abc")).map(" ".join), max_size=4))
def test_a_union_of_scopes_has_each_once_in_order(scopes: list[str | None]) -> None:
    union = (union_of_scopes(*scopes) or "").split()
    every = [scope for text in scopes for scope in (text or "").split()]
    assert union == sorted(set(every), key=every.index)


@given(CLIENTS, st.floats(0, 4e9))
def test_a_client_is_of_use_until_its_secret_runs_out(client: Registration, now: float) -> None:
    ends = client.secret_expires_at
    assert client.is_usable(now) is (ends is None or now < ends)
