"""The SDK's client for one session, with everything of ours that it calls back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp.client import Client
from mcp_types import DiscoverResult, Implementation

from host.pool.tasks import TasksExtension

if TYPE_CHECKING:
    from mcp.client.session import MessageHandlerFnT

    from host.pool.rows import ServerRow
    from host.pool.server_requests import ServerRequests
    from host.pool.settings import PoolSettings
    from host.pool.wire_mending import MendedTransport


def session_client(
    transport: MendedTransport,
    row: ServerRow,
    *,
    mode: str,
    client_name: str,
    settings: PoolSettings,
    requests: ServerRequests,
    hear: MessageHandlerFnT,
    discovered: Mapping[str, Any] | None = None,
) -> Client:
    """A client that is yet to be entered; it tells the server only of what is served.

    Args:
        mode: the era, as the SDK calls it.
        requests: answers what the server asks.
        hear: handed every notification; must not raise.
        discovered: what the server said of itself earlier, where it need not be asked.

    Raises:
        ValueError: ``discovered`` is no such answer.
    """
    return Client(
        transport,
        mode=mode,
        prior_discover=(
            None if discovered is None else DiscoverResult.model_validate(discovered, by_name=False)
        ),
        cache=None,
        extensions=[TasksExtension()],
        client_info=Implementation(name=client_name, version=settings.client_version),
        list_roots_callback=requests.roots,
        elicitation_callback=requests.elicitation,
        sampling_callback=requests.sampling,
        log_level=row.log_level,
        message_handler=hear,
    )
