"""Which transport a row gets, and what every transport can tell."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

UNREADABLE = "sent an answer that cannot be read"
"""How the error begins that stands for an answer which is no message."""


class ServerTransport(Protocol):
    """A way to a server: entered once, it yields the SDK's pair of streams."""

    @property
    def pid(self) -> int | None:
        """Process id of the server's process, if it has one of ours."""

    def stderr_tail(self) -> str:
        """The last words of that process; "" for none."""

    def end_note(self) -> str:
        """Why the transport ended, as a clause without subject; "" where it cannot tell."""

    async def __aenter__(self) -> TransportStreams: ...

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
