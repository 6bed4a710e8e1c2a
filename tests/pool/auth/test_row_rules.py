"""A row's ``auth`` holds what its grant needs, and nothing it has no use for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from host.pool.auth.row_rules import auth_conflicts, auth_header_conflict
from host.pool.row_validation import validate_server_row
from host.pool.rows import AuthRow, HttpServerRow, read_row, same_connection

PROVIDER = {"tokenUrl": "https://idp.example/token", "clientId": "c", "idTokenFile": "f"}
VALUES: dict[str, Any] = {
    "clientId": "c",
    "clientSecret": "s",
    "clientMetadataUrl": "https://me.example/client.json",
    "scope": "a b:c",
    "redirectPort": 8123,
    "issuer": "https://as.example",
    "dpop": False,
    "privateKeyFile": "key.pem",
    "assertionFile": "jwt",
    "identityProvider": PROVIDER,
}
GOOD: list[dict[str, Any]] = [
    {},
    {"scope": "a", "redirectPort": 1, "issuer": "https://as.example", "dpop": True},
    {"clientId": "c"},
    {"clientId": "c", "clientSecret": "s"},
    {"clientMetadataUrl": "https://me.example/client.json"},
    {"grant": "client_credentials", "clientId": "c", "clientSecret": "s", "issuer": "http://as"},
    {"grant": "client_credentials", "clientId": "c", "privateKeyFile": "k", "issuer": "http://as"},
    {"grant": "jwt_bearer", "clientId": "c", "assertionFile": "f", "issuer": "http://as"},
    {"grant": "jwt_bearer", "clientId": "c", "identityProvider": PROVIDER, "issuer": "http://as"},
]


def row(auth: object, **fields: Any) -> dict[str, Any]:
    """A written row with this ``auth``."""
    return {"id": "a", "transport": "http", "url": "https://h/mcp", "auth": auth, **fields}


@pytest.mark.parametrize("auth", GOOD)
def test_a_good_auth_has_no_problems(auth: dict[str, Any]) -> None:
    assert validate_server_row(row(auth)) == []
    assert isinstance(read_row(row(auth)), HttpServerRow)


@given(
    fields=st.fixed_dictionaries({}, optional={name: st.just(VALUES[name]) for name in VALUES}),
    grant=st.sampled_from(["authorization_code", "client_credentials", "jwt_bearer"]),
)
def test_a_row_is_taken_exactly_when_nothing_is_in_its_way(
    fields: dict[str, Any], grant: str
) -> None:
    written = {"grant": grant, **fields}
    conflicts = auth_conflicts(written)
    assert isinstance(read_row(row(written)), HttpServerRow) is (conflicts == [])
    assert all(line.startswith("auth.") for line in conflicts)
    if conflicts:  # each names a field that is too much, or one that is not there
        assert validate_server_row(row(written)) == ["; ".join(conflicts)]


@given(
    grant=st.sampled_from(["client_credentials", "jwt_bearer"]),
    left_out=st.sampled_from(["clientId", "issuer"]),
)
def test_a_secret_goes_nowhere_without_an_issuer_where_nobody_looks(
    grant: str, left_out: str
) -> None:
    source = "clientSecret" if grant == "client_credentials" else "assertionFile"
    auth = {"grant": grant, **{name: VALUES[name] for name in ("clientId", "issuer", source)}}
    assert auth_conflicts(auth) == []
    del auth[left_out]
    assert auth_conflicts(auth) == [f'auth.{left_out} is missing; grant "{grant}" needs it']


@pytest.mark.parametrize(
    ("auth", "problem"),
    [
        ("x", "auth must be an object like {clientId, scope}"),
        ({"grant": "implicit"}, 'auth.grant must be "authorization_code"'),
        ({"clientId": ""}, "auth.clientId must be text"),
        ({"clientID": "x"}, 'auth.clientID is not a known field; did you mean "clientId"?'),
        ({"scope": "a  b"}, "auth.scope must be text: scopes with single spaces"),
        ({"scope": 'a"b'}, "auth.scope must be text: scopes with single spaces"),
        ({"redirectPort": 0}, "auth.redirectPort must be a whole number from 1 to 65535"),
        ({"issuer": "as.example"}, "auth.issuer must be an address"),
        ({"clientMetadataUrl": "https://me.example"}, "auth.clientMetadataUrl must be the https"),
        ({"clientMetadataUrl": "http://me.example/c"}, "auth.clientMetadataUrl must be the https"),
        ({"dpop": "yes"}, "auth.dpop must be true or false"),
        ({"clientSecret": "s"}, "auth.clientSecret needs auth.clientId"),
        ({"privateKeyFile": "k"}, "auth.privateKeyFile goes with grant"),
        ({"identityProvider": {}}, "auth.identityProvider.tokenUrl is missing; it must be an addr"),
        (
            {"identityProvider": PROVIDER | {"tokenURI": "x"}},
            'auth.identityProvider.tokenURI is not a known field; did you mean "tokenUrl"?',
        ),
    ],
)
def test_a_fault_names_its_field_and_the_remedy(auth: object, problem: str) -> None:
    assert validate_server_row(row(auth))[0].startswith(problem)


def test_variables_without_a_value_are_left_alone() -> None:
    auth = {"clientMetadataUrl": "https://${HOST}", "issuer": "{env:ISSUER}"}
    assert validate_server_row(row(auth)) == []


def test_a_header_of_ones_own_takes_the_place_of_auth() -> None:
    both = row({}, headers={"authorization ": "Bearer x"})
    assert auth_header_conflict(both) == validate_server_row(both)
    assert "exclude each other" in auth_header_conflict(both)[0]
    assert auth_header_conflict(row({}, headers={"X-Key": "x"})) == []
    assert auth_header_conflict(row(None, headers={"Authorization": "x"})) == []


def test_auth_belongs_to_the_connection_and_absent_is_like_empty() -> None:
    plain = HttpServerRow(id="a", url="http://h")
    assert same_connection(plain, HttpServerRow(id="a", url="http://h", auth=AuthRow()))
    other = HttpServerRow(id="a", url="http://h", auth=AuthRow(scope="x"))
    assert not same_connection(plain, other)


def test_no_secret_of_auth_stands_in_a_repr_or_an_error() -> None:
    auth = AuthRow(client_id="c", client_secret="sesame-sesame")
    assert "sesame" not in repr(auth) + repr(HttpServerRow(id="a", url="http://h", auth=auth))
    with pytest.raises(ValidationError) as error:
        AuthRow(client_secret="sesame-sesame")
    assert "sesame" not in str(error.value)
