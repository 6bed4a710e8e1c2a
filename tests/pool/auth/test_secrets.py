"""Tokens, codes and secrets of clients are in the store, on the wire, and nowhere else."""

from __future__ import annotations

import logging
import traceback
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from host.errors import PoolError
from host.pool.rows import AuthRow
from host.pool.server_pool import ServerPool
from tests.fakes.auth_server import NONCE, AuthServer, auth_server
from tests.fakes.mcp_servers.watching import Watch
from tests.pool.auth.loopback import opened


@pytest.fixture
def web() -> Iterator[AuthServer]:
    with auth_server() as server:
        server.echoes = True
        yield server


async def browse(_server_id: str, address: str) -> None:
    """A browser outside of our HTTP client, whose log is not ours."""

    def get() -> None:
        try:
            urllib.request.urlopen(address, timeout=10).close()
        except urllib.error.HTTPError as error:
            error.close()

    await anyio.to_thread.run_sync(get)


class Told:
    """Everything that anybody could read."""

    def __init__(self, pool: ServerPool) -> None:
        self._pool = pool
        self._watch = Watch(pool)
        self._said: list[str] = []

    async def fails(self, work: Any) -> None:
        """Await what raises, and keep all that is said by that."""
        with pytest.raises(PoolError) as error:
            await work
        self._said += traceback.format_exception(error.value)
        self._said += [repr(error.value), str(error.value.detail)]

    def text(self) -> str:
        """All of it."""
        pool = self._pool
        parts = [*self._said, repr(self._watch.events), repr(pool.state()), repr(pool.catalogue())]
        parts += [repr(each) for each in pool._commons.authorities._known.values()]
        parts += [repr(vars(each)) for each in pool._commons.authorities._known.values()]
        parts += [repr(entry.redactor) for entry in pool._fleet.entries.values()]
        return "\n".join(parts)


@pytest.mark.parametrize("bound", [False, True])
async def test_no_secret_of_a_login_is_told_anywhere(
    web: AuthServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, bound: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    web.registered_method = "client_secret_basic"
    web.wants_proof, web.nonce = bound, NONCE if bound else ""
    async with opened(tmp_path, [web.row()], on_authorize=browse) as pool:
        told = Told(pool)
        web.answer = {"iss": "https://evil.example"}
        await told.fails(pool.login("web"))
        web.answer = {}
        web.refusals = [(400, {"error": "invalid_grant", "error_description": "no code-canary-x"})]
        await told.fails(pool.login("web"))
        done = await pool.login("web")
        await told.fails(pool.call("web__write"))
        web.forget_tokens()
        assert await pool.call("web__read") == "called"
        web.forget_tokens()
        web.refreshes = None  # the refusal repeats the refresh token
        await told.fails(pool.call("web__read"))
        await told.fails(pool.call("web__read"))
        logged_out = await pool.logout("web")
        shown = f"{told.text()}\n{caplog.text}\n{done!r}\n{logged_out!r}"
    verifiers = [form["code_verifier"] for form in web.forms if "code_verifier" in form]
    states = [asked["state"] for asked in web.authorized]
    assert [secret for secret in (*verifiers, *states) if secret in shown] == []
    assert [line for line in shown.splitlines() if "-canary-0" in line] == []
    assert "PRIVATE KEY" not in shown
    assert "was refused a token: invalid_grant" in shown
    assert "its login is no longer good" in shown


async def test_no_secret_of_a_row_is_told_anywhere(
    web: AuthServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = tmp_path / "id-token"
    token.write_text("id-token-canary-0001", "utf-8")
    auth = AuthRow.model_validate(
        {
            "grant": "jwt_bearer",
            "client_id": "me",
            "client_secret": "client-secret-canary-0002",
            "issuer": web.issuer,
            "identity_provider": {
                "token_url": f"{web.issuer}/token",
                "client_id": "us",
                "client_secret": "idp-secret-canary-0003",
                "id_token_file": str(token),
            },
        }
    )
    refused = {"error": "invalid_request", "error_description": "what is id-token-canary-0001?"}
    web.refusals = [(400, refused)]
    async with opened(tmp_path, [web.row(auth=auth)]) as pool:
        told = Told(pool)
        assert "was refused a token: invalid_request (what is ***?)" in pool.state()[0].error
        await pool.reconnect("web", [web.row(auth=auth)])
        await told.fails(pool.call("web__write"))
        shown = f"{told.text()}\n{caplog.text}"
        shown_row = pool.state()[0].row
    assert [line for line in shown.splitlines() if "-canary-0" in line] == []
    assert "***" in repr(shown_row.model_dump())
    assert web.forms[1]["subject_token"] == "id-token-canary-0001"
    assert web.forms[2]["assertion"].startswith("access-canary-")
