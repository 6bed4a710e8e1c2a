"""What an edit of a servers file means for a host that is running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic.alias_generators import to_camel

from host.config.agent_settings import AgentSettings
from host.config.host_config import HostConfig
from host.pool.rows import ServerRow, same_connection

RESTART_FIELDS = ("base_url", "api_key", "model", "gguf")
"""What says whom to ask; a running host goes on with the endpoint it was opened with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChanges:
    """Ids of the rows that an edit touched.

    Attributes:
        restarted: the connection they describe is another one now.
        edited: anything else about them changed; their connections stay.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The changes in words; "" for none."""
        named = {
            "new": self.added,
            "gone": self.removed,
            "connected anew": self.restarted,
            "edited": self.edited,
        }
        return "; ".join(f"{what}: {', '.join(ids)}" for what, ids in named.items() if ids)


def row_changes(before: Sequence[ServerRow], after: Sequence[ServerRow]) -> RowChanges:
    """Which rows an edit touched, in the order of the new ones; of two with one id the first."""
    old, new = _by_id(before), _by_id(after)
    kept = [(old[row.id], row) for row in new.values() if row.id in old]
    return RowChanges(
        added=tuple(row_id for row_id in new if row_id not in old),
        removed=tuple(row_id for row_id in old if row_id not in new),
        restarted=tuple(row.id for was, row in kept if not same_connection(was, row)),
        edited=tuple(row.id for was, row in kept if was != row and same_connection(was, row)),
    )


def restart_fields(opened: AgentSettings, now: AgentSettings) -> tuple[str, ...]:
    """The fields of ``agent`` whose new values count from the next start only, as JSON has them.

    Args:
        opened: what the host was opened with.
    """
    fields: tuple[str, ...] = RESTART_FIELDS
    if opened.gguf is not None or now.gguf is not None:
        fields = (*RESTART_FIELDS, "context_length")  # the engine was given it
    return tuple(
        f"agent.{to_camel(name)}" for name in fields if getattr(opened, name) != getattr(now, name)
    )


def with_overrides(config: HostConfig, overrides: Mapping[str, Any]) -> HostConfig:
    """The configuration with fields of its ``agent`` as flags have set them, whatever it says.

    Args:
        overrides: by their names in ``AgentSettings``; empty for none.
    """
    if not overrides:
        return config
    agent = config.agent.model_copy(update=dict(overrides))
    return replace(config, agent=agent, overrides=overrides)


def unset_remedy(names: Sequence[str]) -> str:
    """What to do about variables without a value."""
    return f"{', '.join(names)} is not set; set it, or write a default: ${{NAME:-default}}"


def _by_id(rows: Sequence[ServerRow]) -> dict[str, ServerRow]:
    found: dict[str, ServerRow] = {}
    for row in rows:
        found.setdefault(row.id, row)
    return found
