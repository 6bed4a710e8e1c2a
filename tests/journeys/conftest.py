"""Host processes for journeys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.absence import linux_processes
from tests.fakes.command_line import write_servers
from tests.fakes.http_endpoint import HttpEndpoint
from tests.journeys.host_process import ForkServer, HostProcess


class StartHost(Protocol):
    """Starts ``agent-host`` on a fleet, asking an endpoint where one is given."""

    def __call__(
        self,
        *args: str,
        rows: dict[str, Any] | None = None,
        endpoint: HttpEndpoint | None = None,
        typed: str | None = "",
        is_read: bool = True,
        **env: str,
    ) -> HostProcess: ...


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    linux_processes()
    server = ForkServer(tmp_path_factory.mktemp("fork"))
    yield server
    server.close()


@pytest.fixture
def start(fork_server: ForkServer, tmp_path: Path) -> StartHost:
    def started(
        *args: str,
        rows: dict[str, Any] | None = None,
        endpoint: HttpEndpoint | None = None,
        typed: str | None = "",
        is_read: bool = True,
        **env: str,
    ) -> HostProcess:
        if rows is not None:
            write_servers(tmp_path, rows)
        if endpoint is not None:
            env |= {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_MODEL": "fake-model"}
        return HostProcess(fork_server, tmp_path, *args, typed=typed, is_read=is_read, **env)

    return started
