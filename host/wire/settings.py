"""What a caller states about an endpoint, a model and patience, and what follows from it."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from host.text.json_text import compact_json
from host.wire.retry import LOADING_TIMEOUT_SECONDS

NO_KEY = "no-key"
"""Sent where there is no key: clients insist on one, and local servers ignore it."""

FIRST_TOKEN_FACTOR = 5
"""How many times the request timeout the first token may take: reading a long prompt is slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """Where an OpenAI-compatible endpoint is, and how long it may be silent.

    Attributes:
        base_url: with the API's prefix, ``http://localhost:8080/v1``; it may hold credentials.
        api_key: None or "" for none.
        request_timeout_seconds: longest silence in an answer; 0 or less waits for ever.
        first_token_seconds: longest wait for the first token; 0 or less means the same as the
            request timeout, None means ``FIRST_TOKEN_FACTOR`` times it.
    """

    base_url: str = field(repr=False)
    api_key: str | None = field(default=None, repr=False)
    request_timeout_seconds: float = 0
    first_token_seconds: float | None = None

    @property
    def idle_seconds(self) -> float | None:
        """The silence allowed in an answer; None for any."""
        return _allowance(self.request_timeout_seconds)

    @property
    def first_chunk_seconds(self) -> float | None:
        """The silence allowed before anything of an answer; None for no allowance of its own."""
        if self.first_token_seconds is not None:
            return _allowance(self.first_token_seconds)
        idle = self.idle_seconds
        return None if idle is None else FIRST_TOKEN_FACTOR * idle


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelParams:
    """Which model to ask, and how.

    Attributes:
        max_tokens: the ceiling of one reply; 0 or less sends none.
        temperature: None sends none.
        reasoning_effort: None, "" or "off" sends none.
        extra_body: further body fields; they may override the temperature, and never set one of
            ``host.wire.request_body.RESERVED_FIELDS``.
    """

    model: str
    max_tokens: int = 0
    temperature: float | None = None
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how long to try.

    Attributes:
        max_retries: further attempts after a passing failure; 0 or less for none.
        loading_timeout_seconds: patience with a server that is loading its model, beside the
            attempts; 0 or less does not wait.
    """

    max_retries: int = 0
    loading_timeout_seconds: float = LOADING_TIMEOUT_SECONDS


def endpoint_id(base_url: str, api_key: str | None = None) -> str:
    """A name for an endpoint as one key sees it: 64 hex digits that reveal neither URL nor key.

    None, "" and `NO_KEY` are the same key; the URL counts as written (agent-core §14).
    """
    return hashlib.sha256(compact_json([base_url, api_key or NO_KEY]).encode()).hexdigest()


def resolve_api_key(
    own: EndpointSettings,
    inherited: EndpointSettings | None = None,
    env: Mapping[str, str] = os.environ,
) -> str:
    """The key to send to ``own``: never one that was issued for another endpoint.

    Its own key wins. With a base URL other than the one it inherits it gets `NO_KEY`. Otherwise
    the inherited key, then ``OPENAI_API_KEY`` of ``env``, then `NO_KEY`. Base URLs are compared
    trimmed and without trailing slashes, case included; a blank one is inherited.

    Args:
        inherited: the settings that ``own`` overrides; None when it overrides nothing.
    """
    if key := (own.api_key or "").strip():
        return key
    if inherited is not None:
        address = _address(own)
        if address and address != _address(inherited):
            return NO_KEY
        if key := (inherited.api_key or "").strip():
            return key
    return env.get("OPENAI_API_KEY", "").strip() or NO_KEY


def _address(settings: EndpointSettings) -> str:
    return settings.base_url.strip().rstrip("/")


def _allowance(seconds: float) -> float | None:
    return seconds if 0 < seconds < math.inf else None
