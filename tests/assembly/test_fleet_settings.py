"""A configuration's part that concerns the pool reaches it, and nothing else does."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

import host
from host.assembly.fleet_settings import pool_settings
from host.config import AgentSettings, HostConfig
from host.pool import PoolSettings

variables = st.lists(st.sampled_from(["OPENAI_API_KEY", "MY_KEY", "OTHER"])).map(tuple)


@given(variables, st.integers(0, 10**6), st.integers(0, 9))
def test_secrets_reach_the_pool_and_the_rest_stays_as_it_is(
    secret_env: tuple[str, ...], max_result_chars: int, max_tokens: int
) -> None:
    agent = AgentSettings(max_result_chars=max_result_chars, max_tokens=max_tokens)
    settings = pool_settings(HostConfig(secret_env=secret_env, agent=agent))
    assert settings.client_version == host.__version__
    assert settings == replace(
        PoolSettings(),
        secret_env=secret_env,
        client_name="mcp-agent-host",
        now=settings.now,
        jitter=settings.jitter,
    )
