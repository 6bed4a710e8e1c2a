"""Telling a server only of the kinds of question that are really put to a person.

The SDK says of every client that asks people at all that it knows forms and pages (sdk.md §1), and
has no switch. So what it sends is corrected on its way out.
"""

from __future__ import annotations

from collections.abc import Collection
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mcp_types import CLIENT_CAPABILITIES_META_KEY, JSONRPCRequest

if TYPE_CHECKING:
    from mcp.client._transport import Transport, TransportStreams, WriteStream
    from mcp.shared.message import SessionMessage


class Advertising:
    """A transport whose outgoing requests name only these kinds of question."""

    def __init__(self, inner: Transport, modes: Collection[str]) -> None:
        self._inner = inner
        self._modes = modes

    async def __aenter__(self) -> TransportStreams:
        """Open the inner transport."""
        read, write = await self._inner.__aenter__()
        return read, _Writing(write, self._modes)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Close it."""
        return await self._inner.__aexit__(exc_type, exc, traceback)


class _Writing:
    """The write stream of the SDK's protocol."""

    def __init__(self, inner: WriteStream[SessionMessage], modes: Collection[str]) -> None:
        self._inner = inner
        self._modes = modes

    async def send(self, item: SessionMessage, /) -> None:
        if isinstance(item.message, JSONRPCRequest):
            correct_capabilities(item.message.params or {}, self._modes)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _Writing:
        return self

    async def __aexit__(self, *_exc: Any) -> None:
        await self.aclose()


def correct_capabilities(params: dict[str, Any], modes: Collection[str]) -> None:
    """Take the other kinds out of what a request says of us: of a handshake, or in ``_meta``."""
    told = (params.get("_meta") or {}).get(CLIENT_CAPABILITIES_META_KEY)
    for capabilities in (told, params.get("capabilities")):
        if isinstance(capabilities, dict) and isinstance(capabilities.get("elicitation"), dict):
            known = capabilities["elicitation"]
            for mode in [mode for mode in known if mode not in modes]:
                del known[mode]
