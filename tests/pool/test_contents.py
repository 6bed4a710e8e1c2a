"""Requests for contents over sockets: a lost session is renewed once, a dead server is named."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from host.errors import PoolError
from host.pool.server_pool import ServerPool
from tests.fakes.mcp_servers.http_server import PlainHttpServer, http_server


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


async def refusal(server: PlainHttpServer, *, session: str = "one") -> PoolError:
    """How a resource's reading fails once the server is up and has changed its session."""
    with anyio.fail_after(20):
        async with ServerPool.open([server.row()]) as pool:
            await pool.wait_ready()
            server.session = session
            with pytest.raises(PoolError) as error:
                await pool.read_resource("web", "docs://one")
    return error.value


async def test_a_request_refused_for_its_session_is_sent_again_on_a_new_one() -> None:
    with http_server() as server:
        error = await refusal(server, session="two")
        assert server.methods.count("resources/read") == 2
    assert (error.code, error.server_id) == ("tool-error", "web")
    assert str(error) == 'server "web" answered with an error: Method not found (-32601)'


async def test_an_http_error_is_told_with_its_meaning_and_not_tried_again() -> None:
    with http_server() as server:
        server.status = {"resources/read": 503}
        error = await refusal(server)
        assert server.methods.count("resources/read") == 1
    assert error.code == "tool-error"
    assert str(error).startswith('server "web" answered HTTP 503; service unavailable')
