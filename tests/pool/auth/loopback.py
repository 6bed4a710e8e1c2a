"""Pools of one server that wants authorisation, with a store of their own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.errors import PoolError
from host.pool.auth.credentials import Credentials
from host.pool.auth.stores import UserStore, credentials_name
from host.pool.rows import ServerRow
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from tests.fakes.auth_server import AuthServer, browse


def store_in(folder: Path) -> UserStore:
    """The store of a folder, without any keyring."""
    return UserStore(folder / "credentials.json", find_keyring=lambda: None)


@asynccontextmanager
async def opened(
    folder: Path, rows: Iterable[ServerRow], **settings: Any
) -> AsyncIterator[ServerPool]:
    """A pool whose servers are ready, or are not; somebody with a browser agrees to all."""
    own: dict[str, Any] = {"on_authorize": browse, "credentials": store_in(folder)}
    with anyio.fail_after(60):
        async with ServerPool.open(rows, settings=PoolSettings(**(own | settings))) as pool:
            await pool.wait_ready()
            yield pool


async def logged_in(folder: Path, web: AuthServer, **fields: Any) -> Credentials:
    """Log in once in a pool that is closed again; what that left in the store."""
    async with opened(folder, [web.row(**fields)]) as pool:
        await pool.login("web")
    return await stored(folder, web)


async def stored(folder: Path, web: AuthServer) -> Credentials:
    """What the store holds for the server."""
    held = await store_in(folder).load(credentials_name("web", web.url()))
    assert held is not None
    return held


async def expire(folder: Path, web: AuthServer) -> None:
    """Have the stored access token run out, as if hours had passed."""
    held = await stored(folder, web)
    assert held.tokens is not None
    late = replace(held, tokens=replace(held.tokens, expires_at=1.0))
    await store_in(folder).save(credentials_name("web", web.url()), late)
    web.forget_tokens()


def written(folder: Path) -> dict[str, Any]:
    """The only entry of the store's file, as it is written."""
    servers = json.loads((folder / "credentials.json").read_text("utf-8"))["servers"]
    (entry,) = servers.values()
    found: dict[str, Any] = entry
    return found


async def refusal(pool: ServerPool, name: str = "web__read") -> str:
    """Why a call fails."""
    with pytest.raises(PoolError) as error:
        await pool.call(name)
    return str(error.value)
