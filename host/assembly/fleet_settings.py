"""What a configuration means for the pool."""

from __future__ import annotations

from collections.abc import Sequence

from host import __version__
from host.config import HostConfig
from host.pool import ElicitationMode, OnElicit, OnSample, PoolSettings, ToolsCache


def pool_settings(
    config: HostConfig,
    *,
    on_elicit: OnElicit | None = None,
    elicitation_modes: Sequence[ElicitationMode] = ("form",),
    on_sample: OnSample | None = None,
    tools_cache: ToolsCache | None = None,
    dial_known: bool = False,
) -> PoolSettings:
    """The pool's settings for a configuration: who we are, and what children must not inherit.

    Args:
        on_elicit, elicitation_modes, on_sample: as ``PoolSettings`` has them; so are
        tools_cache, dial_known.
    """
    return PoolSettings(
        on_elicit=on_elicit,
        elicitation_modes=tuple(elicitation_modes),
        on_sample=on_sample,
        tools_cache=tools_cache,
        dial_known=dial_known,
        client_name="mcp-agent-host",
        client_version=__version__,
        secret_env=config.secret_env,
    )
