"""Settings of an endpoint, and the key it is sent."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.settings import (
    FIRST_TOKEN_FACTOR,
    NO_KEY,
    EndpointSettings,
    endpoint_id,
    resolve_api_key,
)

HERE = "http://here:8080/v1"
KEYS = st.sampled_from(["", "k1", "k2"])
URLS = st.sampled_from([HERE, "http://HERE:8080/v1", "http://here:8080/v1/x", "https://here/v1"])
DRESSED = st.sampled_from(["{}", "{}/", "  {}//\n", " {}"])


def settings(base_url: str = "", api_key: str | None = None) -> EndpointSettings:
    return EndpointSettings(base_url=base_url, api_key=api_key)


def test_the_key_shows_in_no_representation() -> None:
    assert "secret" not in repr(settings(HERE, "secret"))


@pytest.mark.parametrize(
    ("timeout", "first", "idle_seconds", "first_chunk_seconds"),
    [
        (0, None, None, None),
        (-1, None, None, None),
        (math.nan, None, None, None),
        (math.inf, None, None, None),
        (30, None, 30, 30 * FIRST_TOKEN_FACTOR),
        (30, 12.5, 30, 12.5),
        (30, 0, 30, None),
        (30, -3, 30, None),
        (0, 20, None, 20),
    ],
)
def test_allowances_follow_from_what_is_stated(
    timeout: float, first: float | None, idle_seconds: float | None, first_chunk_seconds: float
) -> None:
    stated = EndpointSettings(
        base_url=HERE, request_timeout_seconds=timeout, first_token_seconds=first
    )
    assert stated.idle_seconds == idle_seconds
    assert stated.first_chunk_seconds == first_chunk_seconds


def test_an_endpoint_id_shows_neither_url_nor_key() -> None:
    name = endpoint_id("http://secret-host/v1", "sk-secret")
    assert len(name) == 64
    assert set(name) <= set("0123456789abcdef")


def test_no_key_an_empty_one_and_the_placeholder_are_one_endpoint() -> None:
    assert endpoint_id(HERE) == endpoint_id(HERE, "") == endpoint_id(HERE, NO_KEY)


@given(st.tuples(URLS, KEYS), st.tuples(URLS, KEYS))
def test_two_endpoints_share_an_id_only_if_url_and_key_are_equal(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert (endpoint_id(*one) == endpoint_id(*other)) == (one == other)


@pytest.mark.parametrize(
    ("own", "inherited", "env", "key"),
    [
        (settings(), None, {}, NO_KEY),
        (settings(), None, {"OPENAI_API_KEY": "e"}, "e"),
        (settings(), None, {"OPENAI_API_KEY": " "}, NO_KEY),
        (settings(HERE), None, {"OPENAI_API_KEY": "e"}, "e"),
        (settings(HERE, "own"), settings("http://there/v1", "k"), {}, "own"),
        (settings("http://friend/v1"), settings(HERE, "k"), {"OPENAI_API_KEY": "e"}, NO_KEY),
        (settings(f"  {HERE}/ "), settings(HERE, "k"), {}, "k"),
        (settings(HERE), settings(f"{HERE}//", "k"), {}, "k"),
        (settings("HTTP://HERE:8080/v1"), settings(HERE, "k"), {}, NO_KEY),
        (settings("  "), settings(HERE, "k"), {}, "k"),
        (settings(), settings(HERE), {"OPENAI_API_KEY": "e"}, "e"),
        (settings(HERE), settings(HERE, " "), {}, NO_KEY),
        (settings(HERE, "own\n"), None, {}, "own"),
    ],
)
def test_a_key_goes_only_where_it_was_issued_for(
    own: EndpointSettings, inherited: EndpointSettings | None, env: dict[str, str], key: str
) -> None:
    assert resolve_api_key(own, inherited, env) == key


@given(URLS, DRESSED, URLS, DRESSED, KEYS)
def test_another_url_never_gets_an_inherited_key(
    own_url: str, own_dress: str, url: str, dress: str, key: str
) -> None:
    own = settings(own_dress.format(own_url))
    sent = resolve_api_key(own, settings(dress.format(url), key), {"OPENAI_API_KEY": "env"})
    assert sent == (NO_KEY if own_url != url else key or "env")
