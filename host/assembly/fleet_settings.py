"""What a configuration means for the pool."""

from __future__ import annotations

from host import __version__
from host.config import HostConfig
from host.pool import PoolSettings


def pool_settings(config: HostConfig) -> PoolSettings:
    """The pool's settings for a configuration: who we are, and what children must not inherit."""
    return PoolSettings(
        client_name="mcp-agent-host",
        client_version=__version__,
        secret_env=config.secret_env,
    )
