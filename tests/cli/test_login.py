"""Logging in to a server in the browser, and out again; what the other commands say meanwhile."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from host.cli.login import address_lines, has_screen, login_lines, logout_line
from host.pool import Login, Logout
from tests.cli.conftest import CommandLine
from tests.fakes.auth_server import AuthServer, auth_server
from tests.fakes.command_line import plain_server
from tests.fakes.mcp_servers.http_server import http_server


@pytest.fixture
def web() -> Iterator[AuthServer]:
    with auth_server() as server:
        yield server


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The addresses that a browser was opened with, whose user agrees to everything."""
    addresses: list[str] = []

    def browse(address: str) -> bool:
        addresses.append(address)
        try:
            urllib.request.urlopen(address, timeout=10).close()
        except urllib.error.HTTPError as error:
            error.close()
        return True

    monkeypatch.setattr(webbrowser, "open", browse)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setitem(sys.modules, "keyring", None)
    return addresses


def test_a_login_is_shown_with_its_address_and_where_it_is_kept(
    agent_host: CommandLine, web: AuthServer, opened: list[str]
) -> None:
    web.first_scope = "read"
    agent_host.servers({"web": {"url": web.url()}, "near": plain_server()})
    ended = agent_host("login", "web")
    assert ended.status == 0
    (address,) = opened
    assert address in ended.err.splitlines()
    assert "to log in to web, your browser opens; if it does not, go to:" in ended.err
    first, until, kept = ended.out.splitlines()
    assert first == f'✓ web: logged in at {web.issuer}, scope "read"'
    assert until.endswith(", then renewed by itself")
    assert "agent-host/credentials.json; `agent-host logout` forgets them" in kept
    assert "-canary-" not in ended.out + ended.err
    assert agent_host("call", "web__read").out == "called\n"
    ended = agent_host("logout", "web")
    assert (ended.status, ended.out) == (
        0,
        "✓ web: logged out; its tokens were given back and forgotten\n",
    )
    assert agent_host("logout", "web").out == "web was not logged in to\n"
    assert len(web.revoked) == 1


def test_as_json_the_facts_are_printed_without_secrets(
    agent_host: CommandLine, web: AuthServer, opened: list[str]
) -> None:
    agent_host.servers({"web": {"url": web.url()}})
    ended = agent_host("login", "web", "--json")
    told: dict[str, Any] = json.loads(ended.out)
    assert (told["server"], told["loggedIn"], told["issuer"]) == ("web", True, web.issuer)
    assert told["expiresAt"].endswith("+00:00")
    assert told["storedIn"].endswith("credentials.json")
    assert "-canary-" not in ended.out
    assert json.loads(agent_host("logout", "web", "--json").out) == {
        "server": "web",
        "wasLoggedIn": True,
        "revoked": True,
    }


def test_other_commands_name_the_remedy_and_ask_nobody(
    agent_host: CommandLine, web: AuthServer, opened: list[str]
) -> None:
    agent_host.servers({"web": {"url": web.url()}, "near": plain_server()})
    remedy = "it wants authorisation: run `agent-host login web`"
    ended = agent_host("servers")
    lines = ended.out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("web "))
    assert ended.status == 1
    assert "needs-auth" in lines[at]
    assert remedy in lines[at + 1]
    (state,) = [
        each for each in json.loads(agent_host("servers", "--json").out) if each["id"] == "web"
    ]
    assert (state["status"], remedy in state["error"]) == ("needs-auth", True)
    ended = agent_host("check", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert ended.status == 1
    assert remedy in ended.out + ended.err
    ended = agent_host("call", "web__read")
    assert ended.status == 1
    assert f'Server "web" is not up: answered HTTP 401; {remedy}' in ended.err
    ended = agent_host("tools", "list")
    assert "going on with 1 server, without web" in ended.err
    assert remedy in ended.err
    assert opened == []


def test_a_login_that_is_refused_ends_with_1_and_no_traceback(
    agent_host: CommandLine, web: AuthServer, opened: list[str]
) -> None:
    web.answer = {"error": "access_denied"}
    agent_host.servers({"web": {"url": web.url()}})
    ended = agent_host("login", "web")
    assert ended.status == 1
    assert ended.err.splitlines()[-1] == (
        'agent-host: server "web" was not logged in to: it was refused: access_denied; '
        "to try again, run `agent-host login web`"
    )


def test_a_server_that_asks_for_nothing_needs_no_login(
    agent_host: CommandLine, opened: list[str]
) -> None:
    with http_server() as plain:
        agent_host.servers({"web": {"url": plain.url()}})
        ended = agent_host("login", "web")
    assert ended.status == 0
    assert "asks for no authorisation" in ended.out
    assert opened == []


@pytest.mark.parametrize("command", ["login", "logout"])
@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ("webb", 'there is no server "webb"; did you mean "web"?'),
        ("xyzzy", 'there is no server "xyzzy"; the file has web, near, own, machine, off'),
        ("near", 'server "near": it is started here'),
        ("own", 'server "own": its row has an Authorization header'),
        ("machine", 'server "machine": its auth.grant "client_credentials" needs nobody'),
        ("off", 'server "off": it is disabled'),
        ("unset", 'server "unset": NO_SUCH_VARIABLE is not set'),
    ],
)
def test_what_has_no_login_is_a_mistake_of_usage(
    agent_host: CommandLine, opened: list[str], command: str, server: str, problem: str
) -> None:
    url = "http://127.0.0.1:9/mcp"
    machine = {
        "grant": "client_credentials",
        "clientId": "c",
        "clientSecret": "s",
        "issuer": "http://as",
    }
    agent_host.servers(
        {
            "web": {"url": url},
            "near": plain_server(),
            "own": {"url": url, "headers": {"Authorization": "Bearer x"}},
            "machine": {"url": url, "auth": machine},
            "off": {"url": url, "disabled": True},
            "unset": {"url": url, "auth": {"clientId": "${NO_SUCH_VARIABLE}"}},
        }
    )
    ended = agent_host(command, server)
    assert ended.status == 2
    assert problem in ended.err
    assert ended.out == ""


ADDRESS = "https://as.example/authorize?redirect_uri=http%3A%2F%2F127.0.0.1%3A8123%2Fcallback"


def test_without_a_browser_the_address_comes_with_the_way_back() -> None:
    _, shown, way_back = address_lines("web", ADDRESS, opens=False)
    assert shown == ADDRESS
    assert "`ssh -L 8123:127.0.0.1:8123`" in way_back
    assert address_lines("web", ADDRESS, opens=True)[1:] == [ADDRESS]


@pytest.mark.parametrize(
    ("platform", "env", "has"),
    [
        ("darwin", {}, True),
        ("win32", {}, True),
        ("linux", {}, False),
        ("linux", {"DISPLAY": ""}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
    ],
)
def test_a_browser_is_opened_only_where_somebody_sees_it(
    platform: str, env: dict[str, str], has: bool
) -> None:
    assert has_screen(platform, env) is has


def test_no_browser_is_opened_where_none_is_wanted(
    agent_host: CommandLine, web: AuthServer, opened: list[str]
) -> None:
    agent_host.servers({"web": {"url": web.url()}})
    ended = agent_host("login", "web", "--no-browser", "--timeout", "0.2")
    assert ended.status == 1
    assert opened == []
    assert "go with your browser to:" in ended.err
    assert "was not logged in to within 0.2 s" in ended.err


def test_what_is_not_known_of_a_login_is_not_shown() -> None:
    bare = Login(server_id="web", issuer="https://as.example", stored_in="memory only")
    assert login_lines(bare)[0] == "✓ web: logged in at https://as.example"
    assert len(login_lines(bare)) == 2
    ends = Login(server_id="web", issuer="i", expires_at=datetime(2026, 1, 2, tzinfo=UTC))
    assert login_lines(ends)[1].startswith("  good until 2026-01-0")
    assert not login_lines(ends)[1].endswith("itself")


@pytest.mark.parametrize(
    ("revoked", "words"),
    [(True, "were given back"), (False, "could not be given back"), (None, "no way to give")],
)
def test_a_logout_says_what_became_of_the_tokens(revoked: bool | None, words: str) -> None:
    assert words in logout_line(Logout(server_id="web", was_logged_in=True, revoked=revoked))
