"""A client for the official conformance suite on top of our pool.

``python -m tests.conformance.client URL`` does what a host does with a server: it connects, logs
in where that is wanted, lists, calls every tool, reads every resource and gets every prompt. What
a scenario gives beforehand (credentials, arguments) comes in its environment variables.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import anyio
import httpx2

from host.errors import PoolError
from host.pool import ElicitationAnswer, HttpServerRow, PoolSettings, ServerPool
from host.pool.auth.stores import UserStore
from host.pool.rows import AuthRow, IdentityProviderRow

CALL_SECONDS = 20.0
MAX_LOGINS = 2
LISTS_ONLY = ("json-schema-ref-no-deref",)
"""Scenarios whose server answers no calls."""
CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"

T = TypeVar("T")


async def browse(_server_id: str, address: str) -> None:
    """Do what a browser does whose user agrees to everything."""
    async with httpx2.AsyncClient() as browser:
        sent = await browser.get(address)
        await browser.get(sent.headers["location"])


async def accept(_server_id: str, _request: object) -> ElicitationAnswer:
    """Accept every form as it is."""
    return ElicitationAnswer(action="accept", content={})


def plain_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An argument for every property of a flat schema."""
    values = {"number": 2, "integer": 2, "boolean": True, "array": [], "object": {}}
    properties = schema.get("properties", {})
    return {name: values.get(kind.get("type"), "text") for name, kind in properties.items()}


class Client:
    """A pool with the suite's server, and the logins that are left."""

    def __init__(self, pool: ServerPool) -> None:
        self._pool = pool
        self._logins = MAX_LOGINS

    async def run(self, calls: list[dict[str, Any]] | None) -> int:
        """Do everything; 0 when the server came up and every call was answered.

        Args:
            calls: names and arguments; None calls every tool with plain ones.
        """
        await self._pool.wait_ready()
        (state,) = self._pool.state()
        if state.status == "needs-auth":
            await self._login()
            (state,) = self._pool.state()
        if state.status != "ready":
            raise PoolError("connect-failed", state.error)
        for call in self._plain_calls() if calls is None else calls:
            made = partial(
                self._pool.call_raw,
                f"suite__{call['name']}",
                call["arguments"],
                timeout_seconds=CALL_SECONDS,
                coerce=False,
            )
            if (await self._let_in(made)).is_error:
                return 1
        await self._read_all()
        return 0

    def _plain_calls(self) -> list[dict[str, Any]]:
        schemas: dict[str, Any] = {}
        for tool in self._pool.state()[0].tools:
            described = self._pool.describe(tool.qualified)
            assert described is not None
            schemas[tool.name] = described.input_schema
        calls = [{"name": name, "arguments": plain_arguments(schemas[name])} for name in schemas]
        first: Any = next(iter(schemas.values()), {})
        for call in calls:
            if set(call["arguments"]) == {"schema"}:  # wants another tool's schema back as it was
                call["arguments"] = {"schema": first}
        return calls

    async def _read_all(self) -> None:
        pool = self._pool
        if pool.servers_with("resources"):
            for resource in await pool.list_resources("suite"):
                await pool.read_resource("suite", resource.uri)
        if pool.servers_with("prompts"):
            for prompt in await pool.list_prompts("suite"):
                await pool.get_prompt("suite", prompt.name)

    async def _let_in(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What it answers; asked again after a login where that is what it takes."""
        while True:
            try:
                return await ask()
            except PoolError as error:
                if "agent-host login" not in str(error) or not self._logins:
                    raise
            await self._login()

    async def _login(self) -> None:
        self._logins -= 1
        await self._pool.login("suite")


async def described_issuer(url: str) -> str:
    """The authorization server of the suite, which whoever writes a row knows."""
    async with httpx2.AsyncClient() as client:
        refused = await client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        where = re.search('resource_metadata="([^"]+)"', refused.headers["www-authenticate"])
        assert where is not None
        return str((await client.get(where[1])).json()["authorization_servers"][0])


async def auth_for(
    scenario: str, context: Mapping[str, Any], url: str, folder: Path
) -> AuthRow | None:
    """What a row says of authorisation, by what the suite gave beforehand."""
    fields: dict[str, Any] = {
        "client_id": context.get("client_id"),
        "client_secret": context.get("client_secret"),
        "issuer": context.get("issuer"),
    }
    if scenario == "auth/basic-cimd":
        fields["client_metadata_url"] = CLIENT_DOCUMENT
    if pem := context.get("private_key_pem"):
        fields |= {"grant": "client_credentials", "private_key_file": written(folder, "key", pem)}
    elif scenario.startswith("auth/client-credentials"):
        fields["grant"] = "client_credentials"
    elif assertion := context.get("valid_jwt"):
        fields |= {"grant": "jwt_bearer", "assertion_file": written(folder, "jwt", assertion)}
    elif token := context.get("idp_id_token"):
        provider = IdentityProviderRow(
            token_url=context["idp_token_endpoint"],
            client_id=context["idp_client_id"],
            id_token_file=written(folder, "id-token", token),
        )
        fields |= {"grant": "jwt_bearer", "identity_provider": provider}
    if "grant" in fields:
        fields["issuer"] = await described_issuer(url)
    return AuthRow(**fields)


def written(folder: Path, name: str, text: str) -> str:
    """The path of a new file that holds the text."""
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


async def main(url: str) -> int:
    """Run one scenario; the exit status."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with TemporaryDirectory() as folder:
        here = Path(folder)
        auth = await auth_for(scenario, context, url, here)
        settings = PoolSettings(
            on_authorize=browse,
            on_elicit=accept,
            credentials=UserStore(here / "credentials.json", find_keyring=lambda: None),
        )
        row = HttpServerRow(id="suite", url=url, auth=auth)
        async with ServerPool.open([row], settings=settings) as pool:
            try:
                calls = [] if scenario in LISTS_ONLY else context.get("toolCalls")
                return await Client(pool).run(calls)
            except PoolError as error:
                sys.stderr.write(f"{error}\n")
                return 1


if __name__ == "__main__":
    sys.exit(anyio.run(main, sys.argv[-1]))
