"""The SDK's client for one session, with everything of ours that it calls back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.client import Client
from mcp_types import Implementation

from host.pool.session_life import list_roots

if TYPE_CHECKING:
    from mcp.client.session import MessageHandlerFnT

    from host.pool.rows import ServerRow
    from host.pool.settings import PoolSettings
    from host.pool.wire_mending import MendedTransport


def session_client(
    transport: MendedTransport,
    row: ServerRow,
    *,
    mode: str,
    client_name: str,
    settings: PoolSettings,
    hear: MessageHandlerFnT,
) -> Client:
    """A client that is yet to be entered.

    Args:
        mode: the era, as the SDK calls it.
        hear: handed every notification; must not raise.
    """
    return Client(
        transport,
        mode=mode,
        cache=None,
        client_info=Implementation(name=client_name, version=settings.client_version),
        list_roots_callback=list_roots(row.roots or ()),
        log_level=row.log_level,
        message_handler=hear,
    )
