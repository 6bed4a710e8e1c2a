"""A secret is where it was written and where it is needed, and nobody reads it anywhere else.

Each place where a secret can be written is tried against all that can be read: states, events, log
records, errors with what they came from, reprs, traces, saved listings, the command line. The
servers tell everything they are given wherever a server can, in every spelling.

What a server answers to a call is its word to the model, and is cleared of what surely is a
secret, as are descriptions and instructions; ``call_raw``, ``client`` and notifications hand on
what was sent.
"""

from __future__ import annotations

import base64
import json
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import anyio
import anyio.to_thread
import pytest

from host.assembly import open_host
from host.config import AgentSettings, EndpointChoice, HostConfig
from host.pool.elicitation import ElicitationAnswer
from host.pool.listing_files import ListingFiles
from host.pool.rows import HttpServerRow, ServerRow, StdioServerRow
from host.pool.sampling import SamplingAnswer
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from host.records import HookContext, PoolEvent, RunEvent
from host.wire import Endpoints, EndpointSettings
from tests.fakes.auth_server import auth_server
from tests.fakes.endpoint import Reply, answer, finish, streamed, tool_call, usage
from tests.fakes.loopback_endpoint import LoopbackEndpoint
from tests.fakes.mcp_servers import telling
from tests.fakes.mcp_servers.http_server import PlainHandler, PlainHttpServer, serving
from tests.fakes.mcp_servers.watching import state_of
from tests.fakes.spans import Spans
from tests.fakes.surfaces import (
    EveryRecord,
    Surfaces,
    every_record,
    shown_in,
    spans_of_the_sdk,
)
from tests.pool.auth import loopback

__all__ = ["every_record", "spans_of_the_sdk"]

CANARY = 'c4nary/0pen+"se\\same%7'
"""Every encoding changes it."""
LONG = 4 * CANARY
"""Whoever quotes it cuts it."""
KEY = "sk_live_c4nary0pensesame7"
"""Clearly a key, wherever it stands."""
USER = "me"
ENDPOINT_KEY = "sk-an-endpoints-key-1"
ENDPOINT_SECRET = "an-endpoints-password-2"
ANSWER = "what-a-person-answered"


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a secret is written in a row.

    Attributes:
        is_sure: whether it surely is a secret, so that models do not read it either.
    """

    name: str
    fields: dict[str, Any]
    secret: str = CANARY
    is_sure: bool = True


def hook(tool: str = "fail", **args: Any) -> dict[str, Any]:
    """A hook whose tool fails with its arguments."""
    return {"hooks": [{"id": "h", "on": "beforeTurn", "tool": tool, "args": args}]}


DSN = f"postgres://{USER}:{quote(CANARY, safe='')}@h.example/db"
BASIC = base64.b64encode(f"{USER}:{CANARY}".encode()).decode()

IN_CHILDREN = [
    Place(name="env-telling", fields={"env": {"API_TOKEN": CANARY}}),
    Place(name="env-other", fields={"env": {"WHATEVER": CANARY}}, is_sure=False),
    Place(name="env-key", fields={"env": {"WHATEVER": KEY}}, secret=KEY),
    Place(name="env-address", fields={"env": {"DATABASE": DSN}}),
    Place(name="env-json", fields={"env": {"X": json.dumps({"token": CANARY})}}),
    Place(name="args-flag", fields={"args": ["--api-key", CANARY]}),
    Place(name="args-assigned", fields={"args": [f"--token={CANARY}"]}),
    Place(name="args-address", fields={"args": [f"--db={DSN}"]}),
    Place(name="args-header", fields={"args": ["--header", f"Authorization: Bearer {CANARY}"]}),
    Place(name="args-variable", fields={"args": ["-e", f"API_KEY={CANARY}"]}),
    Place(name="args-key", fields={"args": [KEY]}, secret=KEY),
    Place(name="hook-telling", fields=hook(token=CANARY)),
    Place(name="hook-misfit", fields=hook("strict", token=LONG), secret=LONG),
    Place(name="hook-other", fields=hook(deep={"note": [CANARY]}), is_sure=False),
    Place(name="hook-text", fields=hook(note=f"about {{{{ prompt }}}} {KEY}"), secret=KEY),
]

IN_WEB = [
    Place(name="header-bearer", fields={"headers": {"Authorization": f"Bearer {CANARY}"}}),
    Place(name="header-basic", fields={"headers": {"Authorization": f"Basic {BASIC}"}}),
    Place(name="header-other", fields={"headers": {"X-Custom": CANARY}}, is_sure=False),
    Place(name="header-telling", fields={"headers": {"X-Api-Key": CANARY}}),
    Place(name="cookie", fields={"headers": {"Cookie": f"session={KEY}; lang=en"}}, secret=KEY),
    Place(name="user-info", fields={"user": f"{USER}:{quote(CANARY, safe='')}@"}),
    Place(name="user-alone", fields={"user": f"{KEY}@"}, secret=KEY),
    Place(name="query-telling", fields={"query": f"?api_key={quote(CANARY, safe='')}"}),
    Place(name="query-other", fields={"query": f"?x={quote(CANARY, safe='')}"}, is_sure=False),
    Place(name="query-bare", fields={"query": f"?{KEY}"}, secret=KEY),
]


def by_name(place: Place) -> str:
    return place.name


def child_row(place: Place, *flags: str) -> StdioServerRow:
    """A row that starts the program that tells all, with the secret in its place."""
    given = dict(place.fields)
    args = ["-I", "-S", telling.__file__, *flags, *given.pop("args", ())]
    own: dict[str, Any] = {"sampling": {"allow": True}, "progress_extends_timeout": True}
    return StdioServerRow(id="s", command=sys.executable, args=args, **own, **given)


def settings(folder: Path, surfaces: list[Surfaces]) -> PoolSettings:
    """A pool that serves all that servers ask for, and saves their listings."""

    async def on_elicit(_server_id: str, request: object) -> ElicitationAnswer:
        surfaces[0].say(request)
        return ElicitationAnswer(action="accept", content={"a": ANSWER})

    async def on_sample(_server_id: str, request: object) -> SamplingAnswer:
        surfaces[0].to_models.append(repr(request))
        return SamplingAnswer(text="sampled", model="m", stop_reason="endTurn")

    return PoolSettings(
        on_elicit=on_elicit,
        on_sample=on_sample,
        tools_cache=ListingFiles(folder),
        crash_backoff_seconds=0,
    )


@asynccontextmanager
async def opened(
    row: ServerRow, folder: Path, spans: Spans, log: EveryRecord
) -> AsyncIterator[tuple[ServerPool, Surfaces]]:
    """A pool of one server, and all that can be read of it."""
    found: list[Surfaces] = []
    with anyio.fail_after(60):
        async with ServerPool.open([], settings=settings(folder, found)) as pool:
            found.append(Surfaces(pool, spans, log))
            await pool.sync([row])
            yield pool, found[0]


CONTEXT: HookContext = {"session": {"id": "1"}, "prompt": "hello"}


def saved(folder: Path) -> str:
    """Whatever lies in the folder's files."""
    return "\n".join(file.read_text("utf-8") for file in folder.rglob("*") if file.is_file())


def assert_unread(place: Place, surfaces: Surfaces, folder: Path, *more: str) -> None:
    """Nobody reads the secret: not people, not programs, and no models if it surely is one."""
    told = "\n".join([surfaces.text(), saved(folder), *more])
    assert "***" in told
    assert shown_in(told, place.secret, USER, "user") == []
    assert shown_in(told, ANSWER) == []
    if place.is_sure:
        assert shown_in(surfaces.models_text(), place.secret, USER, "user") == []


@pytest.mark.anyio
@pytest.mark.parametrize("place", IN_CHILDREN, ids=by_name)
async def test_what_a_child_tells_of_its_secret_is_read_by_nobody(
    place: Place, tmp_path: Path, spans_of_the_sdk: Spans, every_record: EveryRecord
) -> None:
    flags = ("--names",) if place.is_sure and "hooks" not in place.fields else ()
    row = child_row(place, *flags)
    async with opened(row, tmp_path, spans_of_the_sdk, every_record) as (pool, surfaces):
        assert state_of(pool, "s").status == "ready"
        heard: list[str] = []
        outcomes = await pool.run_hooks("beforeTurn", CONTEXT, on_notice=heard.append)
        surfaces.say(outcomes, heard, await pool.probe(row))
        for name in ("say", "ask", "sample"):
            surfaces.to_models.append(await pool.call(f"s__{name}", {"x": "y"}))
        for name in ("fail", "error"):
            await surfaces.raises(pool.call(f"s__{name}"))
        await surfaces.raises(pool.call("s__strict", {"token": place.secret, "note": "x" * 50}))
        await surfaces.raises(pool.call("s__mute", timeout_seconds=0.2))
        surfaces.to_models += map(repr, await pool.list_resources("s"))
        surfaces.to_models.append(repr(await pool.read_resource("s", "a://b")))
        surfaces.to_models += map(repr, await pool.list_prompts("s"))
        surfaces.to_models.append(repr(await pool.get_prompt("s", "p")))
        shown = surfaces.text()
        await surfaces.raises(pool.call("s__die"))
        assert state_of(pool, "s").status == "error"
        await pool.flush()
        assert_unread(place, surfaces, tmp_path, shown)
        named = [tool for tool in pool.tools() if telling.MARK in tool["function"]["name"]]
        assert named == []
    assert_unread(place, surfaces, tmp_path)
    assert saved(tmp_path) != ""


@pytest.mark.anyio
@pytest.mark.parametrize("place", IN_CHILDREN[:11], ids=by_name)
async def test_what_a_dying_child_tells_of_its_secret_is_read_by_nobody(
    place: Place, tmp_path: Path, spans_of_the_sdk: Spans, every_record: EveryRecord
) -> None:
    row = child_row(place, "--die")
    async with opened(row, tmp_path, spans_of_the_sdk, every_record) as (pool, surfaces):
        assert state_of(pool, "s").status == "error"
        await surfaces.raises(pool.client("s"))
        await surfaces.raises(pool.call("s__say"))
        surfaces.say(await pool.probe(row))
        assert "exited with code 3" in state_of(pool, "s").error
        assert_unread(place, surfaces, tmp_path)


class TellingWeb(PlainHttpServer):
    """Answers with what it was asked: address and headers, in bodies of errors and of results.

    Attributes:
        fails: the status of every answer to this method, and the kind of its body.
    """

    def __init__(self) -> None:
        super().__init__(0, _TellingHandler)
        self.fails: dict[str, tuple[int, str]] = {}


class _TellingHandler(PlainHandler):
    server: TellingWeb

    def take(self, message: dict[str, Any]) -> None:
        """Answer one message."""
        scheme, _, word = self.headers.get("authorization", "").partition(" ")
        told = [self.path, *self.headers.values(), word]
        if scheme == "Basic":
            told += (basic := base64.b64decode(word).decode()), *basic.split(":", 1)
        telling.learn([part for text in told for part in (text, *text.split("="))])
        said = f"{self.path} {dict(self.headers)} {telling.story()}"
        method, identifier = message.get("method", ""), message.get("id")
        status, kind = self.server.fails.get(method, (200, ""))
        if kind:
            error = {"code": -32000, "message": said, "data": {"said": said}}
            body: Any = {"jsonrpc": "2.0", "id": identifier, "error": error}
            if kind != "rpc":
                body = {"error": said} if kind == "json" else said
            text = body if isinstance(body, str) else json.dumps(body)
            self._send(status, text.encode(), extra={"Content-Type": "application/json"})
        elif identifier is None:
            self._send(202, b"")
        elif (result := telling.result_of(method)) is not None:
            self._json({"jsonrpc": "2.0", "id": identifier, "result": result})
        else:
            content = [{"type": "text", "text": said}]
            failed = message.get("params", {}).get("name") == "fail"
            result = {"content": content, "isError": failed}
            self._json({"jsonrpc": "2.0", "id": identifier, "result": result})

    def _json(self, said: object) -> None:
        extra = {"Content-Type": "application/json", "Mcp-Session-Id": "one"}
        self._send(200, json.dumps(said).encode(), extra=extra)


@pytest.fixture
def web() -> Iterator[TellingWeb]:
    telling.TOLD.clear()
    with serving(TellingWeb()) as server:
        yield server


def web_row(place: Place, web: TellingWeb, **fields: Any) -> HttpServerRow:
    """A row for the server, with the secret in its place."""
    given = dict(place.fields)
    host = urlsplit(web.url()).netloc
    url = f"http://{given.pop('user', '')}{host}/mcp{given.pop('query', '')}"
    return HttpServerRow(id="s", url=url, **given, **fields)


FAILURES = [
    *((401, "json"), (403, "rpc"), (404, "text"), (404, "rpc")),
    *((429, "json"), (500, "rpc"), (500, "text")),
]


@pytest.mark.slow  # a second each
@pytest.mark.anyio
@pytest.mark.parametrize("place", IN_WEB, ids=by_name)
async def test_what_a_web_server_tells_of_its_secret_is_read_by_nobody(
    place: Place,
    web: TellingWeb,
    tmp_path: Path,
    spans_of_the_sdk: Spans,
    every_record: EveryRecord,
) -> None:
    row = web_row(place, web)
    async with opened(row, tmp_path, spans_of_the_sdk, every_record) as (pool, surfaces):
        assert state_of(pool, "s").status == "ready"
        surfaces.to_models.append(await pool.call("s__say", {"x": "y"}))
        await surfaces.raises(pool.call("s__fail"))
        surfaces.say(await pool.probe(row))
        for status, kind in [*FAILURES, (200, "rpc"), (200, "text"), (200, "json")]:
            web.fails["tools/call"] = (status, kind)
            await surfaces.raises(pool.call("s__say"))
            await pool.reconnect("s", [row])
        assert_unread(place, surfaces, tmp_path)
    assert_unread(place, surfaces, tmp_path)
    assert telling.TOLD


@pytest.mark.slow  # a second each
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("place", "fallback"), [*((place, None) for place in IN_WEB), (IN_WEB[0], "sse")]
)
async def test_what_a_web_server_refuses_its_secret_with_is_read_by_nobody(
    place: Place,
    fallback: str | None,
    web: TellingWeb,
    tmp_path: Path,
    spans_of_the_sdk: Spans,
    every_record: EveryRecord,
) -> None:
    row = web_row(place, web, transport_fallback=fallback)
    web.fails = dict.fromkeys(("initialize", "server/discover"), (400, "text"))
    async with opened(row, tmp_path, spans_of_the_sdk, every_record) as (pool, surfaces):
        for status, kind in FAILURES:
            web.fails = dict.fromkeys(("initialize", "server/discover"), (status, kind))
            await pool.reconnect("s", [row])
            await surfaces.raises(pool.client("s"))
            surfaces.say(await pool.probe(row))
        assert_unread(place, surfaces, tmp_path)
    assert_unread(place, surfaces, tmp_path)


@pytest.mark.anyio
@pytest.mark.parametrize("bound", [False, True])
async def test_no_token_code_or_client_secret_is_read_by_anybody(
    bound: bool, tmp_path: Path, spans_of_the_sdk: Spans, every_record: EveryRecord
) -> None:
    with auth_server() as authority:
        authority.echoes = True  # bodies of errors repeat the token
        authority.registered_method = "client_secret_basic"
        authority.wants_proof = bound
        async with loopback.opened(
            tmp_path,
            [authority.row()],
            on_authorize=browse,
            tools_cache=ListingFiles(tmp_path / "l"),
        ) as pool:
            surfaces = Surfaces(pool, spans_of_the_sdk, every_record)
            surfaces.say(await pool.login("web"))
            surfaces.to_models.append(await pool.call("web__read"))
            await surfaces.raises(pool.call("web__write"))
            authority.forget_tokens()
            surfaces.to_models.append(await pool.call("web__read"))
            authority.forget_tokens()
            authority.refreshes = None
            await surfaces.raises(pool.call("web__read"))
            surfaces.say(pool.state(secrets=True), await pool.logout("web"))
            told = f"{surfaces.text()}\n{surfaces.models_text()}\n{saved(tmp_path / 'l')}"
    secrets = [form[name] for form in authority.forms for name in form if name in CREDENTIALS]
    secrets += [asked["state"] for asked in authority.authorized]
    minted = [line for line in told.splitlines() if "-canary-0" in line]
    assert minted == []
    assert len(secrets) > 2
    assert [secret for secret in secrets if shown_in(told, secret)] == []


CREDENTIALS = ("code", "code_verifier", "refresh_token", "client_secret")


async def browse(_server_id: str, address: str) -> None:
    """A browser, whose own log of where it was is not ours."""

    def get() -> None:
        with suppress(urllib.error.HTTPError):
            urllib.request.urlopen(address, timeout=10).close()

    await anyio.to_thread.run_sync(get)


# A whole run.


def calls(name: str, **args: Any) -> Reply:
    call = tool_call(name, json.dumps(args), call_id=f"call_{name}")
    return streamed(call, finish("tool_calls"), usage(10, 5))


@pytest.mark.anyio
@pytest.mark.parametrize("place", IN_CHILDREN, ids=by_name)
async def test_no_event_span_or_transcript_of_a_run_has_a_servers_secret(
    place: Place, monkeypatch: pytest.MonkeyPatch, every_record: EveryRecord
) -> None:
    spans = Spans()
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", spans)
    monkeypatch.setattr("mcp.shared._otel._tracer", spans)
    agent = AgentSettings(
        context_length=100_000, max_retries=0, capture_content=True, resources=True
    )
    config = HostConfig(source="test", rows=(child_row(place),), agent=agent)
    heard: list[RunEvent | PoolEvent] = []
    script = (
        calls("load_tools", names=["s__say", "s__fail"]),
        calls("s__say", x="y"),
        calls("s__fail"),
        answer("Done."),
    )
    async with LoopbackEndpoint(*script) as endpoint:
        address = endpoint.base_url.replace("//", f"//{USER}:{ENDPOINT_SECRET}@")
        address += f"?key={ENDPOINT_SECRET}"
        choice = EndpointChoice(base_url=address, api_key=ENDPOINT_KEY, model="m", origin="test")
        with anyio.fail_after(60):
            async with open_host(config, heard.append, endpoint=choice) as host:
                await host.settle()
                run = await host.ask("Say all")
                told = [*heard, config, choice, host.endpoints.export_capabilities()]
    assert [call.ok for call in run.tool_calls] == [True, True, False]
    lines = [*map(repr, told), *every_record.lines]
    lines += [repr((span.attributes, span.events, span.description)) for span in spans.spans]
    assert "***" in "\n".join(lines)
    assert shown_in("\n".join(lines), place.secret, USER) == []
    assert shown_in("\n".join(lines), ENDPOINT_KEY) == []
    assert shown_in("\n".join(lines), ENDPOINT_SECRET, USER) == []
    if place.is_sure:
        assert shown_in(repr(run), place.secret, USER) == []


@pytest.mark.anyio
async def test_a_snapshot_of_what_was_learned_of_endpoints_has_no_key() -> None:
    async with Endpoints() as endpoints:
        address = f"http://{USER}:{quote(CANARY, safe='')}@127.0.0.1:9/v1?key={KEY}"
        own = EndpointSettings(base_url=address, api_key=KEY)
        endpoints.capabilities(own).for_model("m").tools = False
        shown = f"{endpoints.export_capabilities()!r} {own!r} {endpoints!r}"
    assert "'m'" in shown
    assert shown_in(shown, CANARY, USER) == shown_in(shown, KEY) == []
