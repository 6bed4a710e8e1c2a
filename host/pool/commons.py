"""What the connections of one pool share."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable

import anyio.abc

from host.pool.auth.authorities import Authorities
from host.pool.child_environment import child_environment
from host.pool.era_memory import EraMemory
from host.pool.guard import ProcessGuard
from host.pool.rows import ServerRow, StdioServerRow
from host.pool.settings import PoolSettings
from host.pool.transports import ServerTransport


class Commons:
    """The task group of the pool, its watchdog, its TLS context and what it learnt of servers.

    Attributes:
        authorities: who is let in where, and with what.
        eras: in which era the servers spoke.
    """

    def __init__(self, settings: PoolSettings, group: anyio.abc.TaskGroup) -> None:
        self.settings = settings
        self.group = group
        self.guard = ProcessGuard()
        self.eras = EraMemory()
        self._ssl_context: ssl.SSLContext | None = None
        self.authorities = Authorities(settings, group, self._shared_ssl_context)

    def transport(
        self,
        row: ServerRow,
        *,
        sse: bool,
        on_noise: Callable[[str], None],
        on_session_lost: Callable[[], None],
        on_broken: Callable[[], None],
        on_locked_out: Callable[[str], None],
    ) -> ServerTransport:
        """A fresh transport for a row: the settings' own factory's, or the built-in one."""
        if self.settings.create_transport is not None:
            return self.settings.create_transport(row)
        if isinstance(row, StdioServerRow):
            from host.pool.stdio import StdioTransport

            env = child_environment(
                os.environ,
                row.env,
                child_env=self.settings.child_env if row.child_env is None else row.child_env,
                secret_env=self.settings.secret_env,
            )
            return StdioTransport(row, env=env, guard=self.guard, on_noise=on_noise)
        from host.pool.http_transport import HttpTransport

        return HttpTransport(
            row,
            ssl_context=self._shared_ssl_context(),
            auth=self.authorities.of(row),
            on_session_lost=on_session_lost,
            on_broken=on_broken,
            on_locked_out=on_locked_out,
            sse=sse,
        )

    def _shared_ssl_context(self) -> ssl.SSLContext:
        """One for all servers: each of its own costs 0.8 MB and 30 ms (sdk.md §2.16)."""
        if self._ssl_context is None:
            import httpx2

            self._ssl_context = httpx2.create_ssl_context()
        return self._ssl_context
