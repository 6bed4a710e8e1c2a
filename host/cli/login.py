"""``agent-host login SERVER`` and ``logout SERVER``: the only commands that open a browser."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread

from host.assembly import pool_settings
from host.cli.run_view import pool_line
from host.cli.screen import Screen, json_text
from host.config import HostConfig, unset_remedy
from host.errors import ConfigError
from host.pool import HttpServerRow, Login, Logout, PoolSettings, ServerPool
from host.pool.row_validation import nearest_name
from host.records import PoolEvent


def login_or_logout(config: HostConfig, arguments: argparse.Namespace) -> int:
    """Has a person log in to a server, or forgets that; 1 when it fails.

    Raises:
        ConfigError: the server is none to log in to.
    """
    work = _login if arguments.command == "login" else _logout
    return anyio.run(work, config, _row(config, arguments.server), arguments)


def _row(config: HostConfig, server_id: str) -> HttpServerRow:
    """The server's row, if it is one to log in to.

    Raises:
        ConfigError: it is none, or there is no such server.
    """
    rows = {row.id: row for row in config.rows}
    row = rows.get(server_id)
    if server_id in config.unset:
        problem = unset_remedy(config.unset[server_id])
    elif row is None:
        near = nearest_name(server_id, rows)
        known = ", ".join(rows) or "no server"
        problem = f'did you mean "{near}"?' if near else f"the file has {known}"
        raise ConfigError(config.source, [f'there is no server "{server_id}"; {problem}'])
    elif not isinstance(row, HttpServerRow):
        problem = "it is started here; what it needs goes into its env. Only http servers log in"
    elif row.has_own_authorization:
        problem = "its row has an Authorization header, or a user in its url; remove it to log in"
    elif row.auth is not None and row.auth.grant != "authorization_code":
        problem = f'its auth.grant "{row.auth.grant}" needs nobody to log in'
    elif not row.enabled:
        problem = "it is disabled in its row"
    else:
        return row
    raise ConfigError(config.source, [f'server "{server_id}": {problem}'])


async def _login(config: HostConfig, row: HttpServerRow, arguments: argparse.Namespace) -> int:
    screen = Screen()
    opens = not arguments.no_browser and has_screen(sys.platform, os.environ)

    async def show(server_id: str, address: str) -> None:
        for line in address_lines(server_id, address, opens=opens):
            screen.notice(line, style="")
        if opens:
            await anyio.to_thread.run_sync(webbrowser.open, address, abandon_on_cancel=True)

    settings = replace(
        pool_settings(config),
        lazy=True,
        on_authorize=show,
        login_timeout_seconds=arguments.timeout,
    )
    done = await _in_pool(row, settings, screen, lambda pool: pool.login(row.id))
    if arguments.json:
        screen.write(json_text(login_json(done), indent=1))
    else:
        for line in login_lines(done):
            screen.write(line)
    return 0


async def _logout(config: HostConfig, row: HttpServerRow, arguments: argparse.Namespace) -> int:
    screen = Screen()
    settings = replace(pool_settings(config), lazy=True)
    done = await _in_pool(row, settings, screen, lambda pool: pool.logout(row.id))
    if arguments.json:
        screen.write(json_text(logout_json(done), indent=1))
    else:
        screen.write(logout_line(done))
    return 0


async def _in_pool(row: HttpServerRow, settings: PoolSettings, screen: Screen, do: Any) -> Any:
    """What it does in a pool of this one server; the server's worries are shown."""

    def listen(event: PoolEvent) -> None:
        if event.kind == "log" and (line := pool_line(event)):
            screen.notice(line)

    async with ServerPool.open([row], settings=settings) as pool:
        pool.subscribe(listen)
        return await do(pool)


def has_screen(platform: str, env: Any) -> bool:
    """Whether a browser that is opened here can be seen here, and does not take the terminal."""
    if platform in ("darwin", "win32", "cygwin"):
        return True
    return bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def address_lines(server_id: str, address: str, *, opens: bool) -> list[str]:
    """What a person is told to do with the address."""
    what = "your browser opens; if it does not, go" if opens else "go with your browser"
    lines = [f"to log in to {server_id}, {what} to:", address]
    back = urlsplit(parse_qs(urlsplit(address).query).get("redirect_uri", [""])[0])
    if not opens and back.port:
        there = f"127.0.0.1:{back.port}"
        lines.append(
            f"it must be able to come back to {there} of this machine; from another one by "
            f"`ssh -L {back.port}:{there}` (auth.redirectPort keeps the port the same)"
        )
    return lines


def login_lines(done: Login) -> list[str]:
    """What came of a login, and what of it is kept where."""
    if done.issuer is None:
        return [f"{done.server_id} asks for no authorisation; there is nothing to log in to"]
    scope = f', scope "{done.scope}"' if done.scope else ""
    lines = [f"✓ {done.server_id}: logged in at {done.issuer}{scope}"]
    if done.expires_at is not None:
        until = done.expires_at.astimezone().strftime("%Y-%m-%d %H:%M")
        lines.append(f"  good until {until}{', then renewed by itself' if done.renews else ''}")
    kept = "its tokens and our registration are kept in"
    lines.append(f"  {kept} {done.stored_in}; `agent-host logout` forgets them")
    return lines


def login_json(done: Login) -> dict[str, Any]:
    """What came of a login, as a JSON object; without its tokens."""
    return {
        "server": done.server_id,
        "loggedIn": done.issuer is not None,
        "issuer": done.issuer,
        "scope": done.scope,
        "expiresAt": done.expires_at and done.expires_at.isoformat(),
        "renews": done.renews,
        "storedIn": done.stored_in,
    }


def logout_line(done: Logout) -> str:
    """What came of a logout."""
    if not done.was_logged_in:
        return f"{done.server_id} was not logged in to"
    revoked = {
        True: "its tokens were given back and forgotten",
        False: "its tokens were forgotten; they could not be given back, and run out by themselves",
        None: "its tokens were forgotten; there is no way to give them back, they run out",
    }[done.revoked]
    return f"✓ {done.server_id}: logged out; {revoked}"


def logout_json(done: Logout) -> dict[str, Any]:
    """What came of a logout, as a JSON object."""
    return {
        "server": done.server_id,
        "wasLoggedIn": done.was_logged_in,
        "revoked": done.revoked,
    }
