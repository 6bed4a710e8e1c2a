"""A refusal's header is read whoever wrote it, and written so that it can be read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.auth.challenges import Challenge, read_challenge

SCOPES = st.lists(st.text("abc:/.", min_size=1, max_size=6), min_size=1, max_size=3).map(" ".join)
ADDRESSES = st.sampled_from(["https://a.example/x", "http://127.0.0.1:1/.well-known/y?z=1,2"])
PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        "error": st.sampled_from(["invalid_token", "insufficient_scope"]),
        "scope": SCOPES,
        "resource_metadata": ADDRESSES,
        "realm": st.sampled_from(["a, b", 'say "hi"', "scope=evil", "back\\slash"]),
    },
)


def written(scheme: str, parameters: dict[str, str], *, quotes: bool = True) -> str:
    """A challenge as a server would write it."""
    shown = []
    for name, value in parameters.items():
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        bare = not quotes and value.replace("_", "").isalnum()
        shown.append(f"{name}={value}" if bare else f'{name}="{escaped}"')
    return f"{scheme} {', '.join(shown)}".strip()


@given(
    parameters=PARAMETERS,
    others=st.lists(
        st.sampled_from(["Basic realm=x", "Negotiate", "Digest nonce=abc==, qop=auth"])
    ),
    scheme=st.sampled_from(["Bearer", "bearer", "BEARER"]),
    quotes=st.booleans(),
)
def test_the_challenge_for_tokens_is_found_among_others(
    parameters: dict[str, str], others: list[str], scheme: str, quotes: bool
) -> None:
    header = ", ".join([*others, written(scheme, parameters, quotes=quotes)])
    found = read_challenge(401, header)
    assert found == Challenge(
        status=401,
        error=parameters.get("error", ""),
        scope=parameters.get("scope"),
        resource_metadata=parameters.get("resource_metadata"),
    )


@given(parameters=PARAMETERS, scope=SCOPES | st.none())
def test_a_challenge_that_is_handed_on_asks_for_the_scope_that_was_decided(
    parameters: dict[str, str], scope: str | None
) -> None:
    handed_on = read_challenge(
        401, read_challenge(403, written("Bearer", parameters)).header(scope)
    )
    assert handed_on == Challenge(
        status=401, scope=scope, resource_metadata=parameters.get("resource_metadata")
    )


@given(st.text(st.sampled_from('Bearer DPoP=",\\ scope;\t=é'), max_size=60))
def test_no_header_is_too_strange_to_be_read(header: str) -> None:
    assert read_challenge(401, header).status == 401


@pytest.mark.parametrize(
    ("header", "wants_proof", "wants_nonce"),
    [
        (None, False, False),
        ("", False, False),
        ('DPoP resource_metadata="x"', True, False),
        ('DPoP error="use_dpop_nonce"', True, True),
        ('Bearer realm="x", DPoP algs="ES256"', False, False),
        ('Bearer realm="x", DPoP error=use_dpop_nonce', False, True),
        ('Basic realm="DPoP"', False, False),
    ],
)
def test_a_proof_is_wanted_where_nothing_else_is_taken(
    header: str | None, wants_proof: bool, wants_nonce: bool
) -> None:
    found = read_challenge(401, header)
    assert (found.wants_proof, found.wants_nonce) == (wants_proof, wants_nonce)


@pytest.mark.parametrize(
    ("status", "error", "is_step_up", "is_for_tokens"),
    [
        (401, "", False, True),
        (401, "insufficient_scope", False, True),
        (403, "insufficient_scope", True, True),
        (403, "", False, False),
        (400, "insufficient_scope", False, False),
        (200, "", False, False),
    ],
)
def test_only_a_refusal_of_the_token_is_a_matter_of_tokens(
    status: int, error: str, is_step_up: bool, is_for_tokens: bool
) -> None:
    found = read_challenge(status, f'Bearer error="{error}"')
    assert (found.is_step_up, found.is_for_tokens) == (is_step_up, is_for_tokens)


def test_nothing_that_would_end_a_quoted_text_is_handed_on() -> None:
    found = read_challenge(401, r'Bearer resource_metadata="a\"b", scope="x\" y"')
    assert found.header('s" t') == "Bearer"
