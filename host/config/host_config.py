"""Everything a host is started with, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from host.config.agent_settings import AgentSettings

if TYPE_CHECKING:
    from host.pool.rows import ServerRow


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """What a servers file says.

    Attributes:
        source: the file's path, or what stands for it.
        rows: the servers to start, in the file's order.
        unset: row id -> variables it needs that are not set; these rows are not in ``rows``.
        unset_agent: variables the ``agent`` object needs that are not set.
        secret_env: variables the endpoint's key was read from; children do not inherit them.
        overrides: fields of ``agent`` that flags have set; they outlast an edit of the file.
        notices: lines for a person, such as keys of other clients that were dropped.
    """

    source: str = "no servers file"
    rows: tuple[ServerRow, ...] = ()
    agent: AgentSettings = field(default_factory=AgentSettings)
    unset: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unset_agent: tuple[str, ...] = ()
    secret_env: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict, repr=False)
    notices: tuple[str, ...] = ()
