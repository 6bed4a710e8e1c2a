"""What the pool says about its servers and their tools: frozen snapshots, safe to show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from host.pool.rows import ServerRow

ServerStatus = Literal["disabled", "idle", "connecting", "ready", "error", "needs-auth"]
"""``needs-auth``: a person has to log in (``ServerPool.login``); nothing is dialled before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolState:
    """One tool as listed.

    Attributes:
        name: the server's own name; qualified: what the model calls it.
        hidden: True when the row keeps it from the model.
        tokens: estimate of what its whole definition costs in a request.
        withheld: why the model is not offered it whatever the row says; None for no such reason.
    """

    name: str
    qualified: str
    description: str
    title: str | None
    annotations: Mapping[str, Any] | None
    hidden: bool
    tokens: int
    withheld: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """One server at one moment.

    Attributes:
        row: a copy; values of ``env`` and ``headers``, and secrets elsewhere, are blanked unless
            they were asked for.
        error: why it is not ready, in one line; "" for no reason.
        tools: in the server's order; its last known ones when ``stale``.
        era: the protocol version spoken; None while not connected.
        tools_fingerprint: changes when the tools do; None before the first listing.
        pid: of a stdio server's process; None otherwise.
        retry_at: when a failed server may be dialled again; None when it need not wait, or not
            before a ``reconnect``.
        instructions: what the server tells models about itself; None while not connected.
        capabilities: as the server declared them; None while not connected.
        stderr_tail: the child's last words, this connection's or else the last one's.
    """

    id: str
    slug: str
    label: str
    row: ServerRow
    status: ServerStatus
    error: str = ""
    tools: tuple[ToolState, ...] = ()
    stale: bool = False
    era: str | None = None
    tools_fingerprint: str | None = None
    pid: int | None = None
    started_at: datetime | None = None
    retry_at: datetime | None = None
    instructions: str | None = None
    capabilities: Mapping[str, Any] | None = None
    stderr_tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDescription:
    """Everything known about one tool; optional parts are None where the server sent none.

    Attributes:
        description: the server's text, without the label.
    """

    server_id: str
    name: str
    qualified: str
    description: str
    input_schema: dict[str, Any]
    title: str | None
    annotations: Mapping[str, Any] | None
    output_schema: dict[str, Any] | None
    meta: Mapping[str, Any] | None
    hidden: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedTool:
    """One tool a probe found, under the server's own name."""

    name: str
    description: str
    title: str | None
    annotations: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReport:
    """What came of dialling a row once.

    Attributes:
        error: why it failed, last words of the child included; "" when ``ok``.
        tools_fingerprint: "" when it failed.
        instructions: None when there are none or it failed.
        era: the protocol version spoken; None when it failed.
    """

    ok: bool
    error: str = ""
    tools: tuple[ProbedTool, ...] = ()
    tools_fingerprint: str = ""
    instructions: str | None = None
    era: str | None = None
