"""A person logs in once and out once; whatever goes wrong on the way is told in a sentence."""

from __future__ import annotations

import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest

from host.errors import PoolError
from host.pool.auth.records import Logout
from host.pool.rows import AuthRow, HttpServerRow, ServerRow
from host.pool.server_pool import ServerPool
from tests.fakes.auth_server import AuthServer, browse
from tests.fakes.mcp_servers.http_server import http_server
from tests.fakes.mcp_servers.processes import plain_row
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.auth.loopback import logged_in, opened, refusal, stored, written


async def failed_login(pool: ServerPool) -> str:
    """Why a login fails."""
    with pytest.raises(PoolError) as error:
        await pool.login("web")
    assert error.value.code == "connect-failed"
    assert error.value.__cause__ is None
    return str(error.value)


async def test_a_login_makes_the_server_ready_and_says_what_it_gave(
    web: AuthServer, tmp_path: Path
) -> None:
    web.first_scope = "read"
    async with opened(tmp_path, [web.row(), plain_row("near", "--mark", "here")]) as pool:
        assert state_of(pool, "web").status == "needs-auth"
        watch = Watch(pool)
        done = await pool.login("web")
        assert (done.issuer, done.scope, done.renews) == (web.issuer, "read", True)
        assert done.expires_at is not None
        assert 3500 < (done.expires_at - datetime.now(UTC)).total_seconds() <= 3600
        assert done.stored_in == str(tmp_path / "credentials.json")
        assert state_of(pool, "web").status == "ready"
        assert await pool.call("web__read") == "called"
        assert await pool.call("near__mark") == "here"
        assert watch.kinds("web") == ["connect"]
    (asked,) = web.authorized
    assert asked["scope"] == "read"
    assert asked["code_challenge_method"] == "S256"
    assert asked["resource"] == web.url()
    assert asked["redirect_uri"].startswith("http://127.0.0.1:")
    (client,) = web.registrations
    assert client["client_name"] == "mcp-agent-host"
    assert client["grant_types"] == ["authorization_code", "refresh_token"]
    assert written(tmp_path)["registration"]["redirect_uri"] == asked["redirect_uri"]


async def test_the_next_login_is_that_of_the_same_client_and_comes_back_to_the_same_port(
    web: AuthServer, tmp_path: Path
) -> None:
    await logged_in(tmp_path, web)
    await logged_in(tmp_path, web)
    first, second = web.authorized
    assert len(web.registrations) == 1
    assert (first["client_id"], first["redirect_uri"]) == (
        second["client_id"],
        second["redirect_uri"],
    )
    port = urlsplit(first["redirect_uri"]).port
    with socket.create_server(("127.0.0.1", port or 0)):
        await logged_in(tmp_path, web)
    assert len(web.registrations) == 2  # the port was in use


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"state": "another"}, "was not logged in to: the answer belongs to no login of ours"),
        ({"state": None}, "was not logged in to: the answer belongs to no login of ours"),
        ({"iss": "https://evil.example"}, "iss mismatch: https://evil.example"),
        ({"iss": None}, "missing iss parameter"),
        ({"code": None}, "the answer holds no code"),
        (
            {"error": "access_denied", "error_description": "the user\x1b[31m said\nno"},
            "was not logged in to: it was refused: access_denied (the user said no)",
        ),
    ],
)
async def test_an_answer_that_is_none_to_our_question_is_not_traded(
    web: AuthServer, tmp_path: Path, answer: dict[str, str | None], words: str
) -> None:
    web.answer = answer
    async with opened(tmp_path, [web.row()]) as pool:
        text = await failed_login(pool)
        assert words in text
        assert text.endswith("; to try again, run `agent-host login web`")
        state = state_of(pool, "web")
        assert (state.status, state.retry_at) == ("needs-auth", None)
    assert len(web.authorized) == 1  # a person is asked once
    assert web.forms == []


async def test_a_failed_login_leaves_the_one_before_it(web: AuthServer, tmp_path: Path) -> None:
    before = await logged_in(tmp_path, web)
    web.answer = {"error": "access_denied"}
    async with opened(tmp_path, [web.row()]) as pool:
        await failed_login(pool)
        assert await stored(tmp_path, web) == before
        await pool.reconnect("web", [web.row()])
        assert await pool.call("web__read") == "called"


async def test_a_person_who_never_comes_back_is_waited_for_so_long(
    web: AuthServer, tmp_path: Path
) -> None:
    async def look_away(_server_id: str, _address: str) -> None:
        await anyio.sleep_forever()

    async with opened(
        tmp_path, [web.row()], on_authorize=look_away, login_timeout_seconds=0.2
    ) as pool:
        assert "was not logged in to within 0.2 s" in await failed_login(pool)
        assert state_of(pool, "web").status == "needs-auth"


async def test_the_dial_does_not_run_out_of_time_while_a_person_is_asked(
    web: AuthServer, tmp_path: Path
) -> None:
    async def slowly(server_id: str, address: str) -> None:
        await anyio.sleep(1)
        await browse(server_id, address)

    row = web.row(connect_timeout_ms=700)
    async with opened(tmp_path, [row], on_authorize=slowly) as pool:
        await pool.login("web")
        assert state_of(pool, "web").status == "ready"


async def test_a_callback_that_raises_fails_the_login_only(web: AuthServer, tmp_path: Path) -> None:
    def broken(_server_id: str, address: str) -> None:
        raise RuntimeError(f"no browser for {address}")

    async with opened(tmp_path, [web.row()], on_authorize=broken) as pool:
        text = await failed_login(pool)
        assert "showing the address failed (RuntimeError)" in text
        assert "state" not in text


async def test_a_login_that_is_given_up_can_be_begun_again(web: AuthServer, tmp_path: Path) -> None:
    shown: list[str] = []

    async def agree(server_id: str, address: str) -> None:
        shown.append(address)
        if len(shown) == 1:
            tasks.cancel_scope.cancel()
            return
        await browse(server_id, address)

    async with opened(tmp_path, [web.row()], on_authorize=agree) as pool:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.login, "web")
        await pool.login("web")
        assert await pool.call("web__read") == "called"


async def test_two_logins_at_once_are_one(web: AuthServer, tmp_path: Path) -> None:
    refused: list[str] = []

    async def agree(server_id: str, address: str) -> None:
        refused.append(await failed_login(pool))
        await browse(server_id, address)

    async with opened(tmp_path, [web.row()], on_authorize=agree) as pool:
        await pool.login("web")
    assert refused == ['server "web" is being logged in to already']


async def test_a_port_that_must_be_and_is_taken_is_named(web: AuthServer, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with opened(tmp_path, [web.row(auth=AuthRow(redirect_port=port))]) as pool:
            text = await failed_login(pool)
            assert f"port {port} is in use (auth.redirectPort)" in text
    async with opened(tmp_path, [web.row(auth=AuthRow(redirect_port=port))]) as pool:
        await pool.login("web")
    assert urlsplit(web.authorized[0]["redirect_uri"]).port == port


async def test_a_server_that_registers_nobody_wants_a_client_in_the_row(
    web: AuthServer, tmp_path: Path
) -> None:
    web.registers = False
    async with opened(tmp_path, [web.row()]) as pool:
        assert "name one in its row (auth.clientId)" in await failed_login(pool)
    auth = AuthRow(client_id="known", client_secret="sesame-sesame", scope="mine")
    async with opened(tmp_path, [web.row(auth=auth)]) as pool:
        await pool.login("web")
        web.forget_tokens()
        assert await pool.call("web__read") == "called"
    assert web.authorized[0]["client_id"] == "known"
    assert web.authorized[0]["scope"] == "mine"
    assert all(sent["authorization"].startswith("Basic ") for sent in web.token_headers)
    assert "sesame-sesame" not in (tmp_path / "credentials.json").read_text("utf-8")


async def test_a_client_of_the_row_is_shown_to_the_issuer_it_was_first_used_with_only(
    web: AuthServer, tmp_path: Path
) -> None:
    auth = AuthRow(client_id="known", client_secret="sesame-sesame")
    await logged_in(tmp_path, web, auth=auth)
    web.issuer_path, web.refreshes = "/evil", set()
    web.forget_tokens()
    async with opened(tmp_path, [web.row(auth=auth)]) as pool:
        text = await failed_login(pool)
        assert f"names another authorization server ({web.issuer}) than" in text
        assert "set auth.issuer in its row" in text
    assert len(web.forms) == 2  # the first login, and a refresh at the issuer it came from
    named = auth.model_copy(update={"issuer": web.issuer})
    async with opened(tmp_path, [web.row(auth=named)]) as pool:
        await pool.login("web")
        assert await pool.call("web__read") == "called"


async def test_offline_access_is_asked_for_where_it_is_offered(
    web: AuthServer, tmp_path: Path
) -> None:
    web.scopes = ["read", "offline_access"]
    web.first_scope = "read"
    await logged_in(tmp_path, web)
    assert web.authorized[0]["scope"] == "read offline_access"


async def test_a_server_that_asks_for_nothing_has_no_login(tmp_path: Path) -> None:
    with http_server() as plain:
        async with opened(tmp_path, [plain.row()]) as pool:
            done = await pool.login("web")
            assert (done.issuer, done.stored_in) == (None, "")
            assert await pool.call("web__read") == "called"
    assert not (tmp_path / "credentials.json").exists()


async def test_a_server_that_wants_what_it_does_not_describe_says_so(
    web: AuthServer, tmp_path: Path
) -> None:
    web.describes = False
    async with opened(tmp_path, [web.row()]) as pool:
        assert "registers no client of ours" in await failed_login(pool)


async def test_a_server_that_is_down_is_no_matter_of_login(tmp_path: Path) -> None:
    row = HttpServerRow(id="web", url="http://127.0.0.1:9/mcp")
    async with opened(tmp_path, [row]) as pool:
        assert "could not be reached" in await failed_login(pool)
        assert state_of(pool, "web").status == "error"


async def test_the_users_own_store_is_used_where_none_is_given(
    web: AuthServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "keyring", None)
    async with opened(tmp_path, [web.row()], credentials=None) as pool:
        watch = Watch(pool)
        done = await pool.login("web")
        assert done.stored_in == str(tmp_path / "agent-host" / "credentials.json")
        (told,) = watch.of("log")
        assert (told.level, told.server_id) == ("info", None)
        assert f"there is no keyring here; logins are kept in {done.stored_in}" in (told.text or "")


@pytest.mark.parametrize("offers", [True, False])
async def test_a_logout_gives_the_tokens_back_and_forgets_all(
    web: AuthServer, tmp_path: Path, offers: bool
) -> None:
    held = await logged_in(tmp_path, web)
    assert held.tokens is not None
    web.revokes = offers
    async with opened(tmp_path, [web.row()]) as pool:
        watch = Watch(pool)
        done = await pool.logout("web")
        assert done == Logout(server_id="web", was_logged_in=True, revoked=offers)
        assert watch.kinds("web") == ["close stop"]
        assert state_of(pool, "web").status == "idle"
        assert "it wants authorisation" in await refusal(pool)
        assert await pool.logout("web") == Logout(server_id="web", was_logged_in=False)
        await pool.login("web")
        assert await pool.call("web__read") == "called"
    assert [(form["token"], form["client_id"]) for form in web.revoked][:1] == [
        (held.tokens.refresh, held.registration.client_id)
    ]
    assert len(web.registrations) == 2


async def test_what_has_no_login_says_why(web: AuthServer, tmp_path: Path) -> None:
    machine = AuthRow(
        grant="client_credentials", client_id="c", client_secret="s", issuer="http://as"
    )
    rows: list[ServerRow] = [
        plain_row("near"),
        web.row("off", enabled=False),
        web.row("own", headers={"Authorization": "Bearer x"}),
        web.row("machine", auth=machine),
    ]
    async with opened(tmp_path, rows) as pool:
        for server_id, code, words in (
            ("none", "unknown-server", "no server"),
            ("near", "connect-failed", "it is a program started here"),
            ("off", "disabled", "is disabled in its row"),
            ("own", "connect-failed", "its row has an Authorization header"),
            ("machine", "connect-failed", "its row's auth.grant needs no person"),
        ):
            with pytest.raises(PoolError) as error:
                await pool.login(server_id)
            assert error.value.code == code
            assert words in str(error.value)
        assert (await pool.logout("off")).was_logged_in is False
    async with opened(tmp_path, [web.row()], on_authorize=None) as pool:
        assert "nothing here can show a person an address" in await failed_login(pool)


async def test_the_address_is_one_of_the_issuer_and_holds_no_secret_of_the_client(
    web: AuthServer, tmp_path: Path
) -> None:
    shown: list[str] = []

    async def note(server_id: str, address: str) -> None:
        shown.append(address)
        await browse(server_id, address)

    web.registered_method = "client_secret_post"
    async with opened(tmp_path, [web.row()], on_authorize=note) as pool:
        await pool.login("web")
    (address,) = shown
    assert address.startswith(f"{web.issuer}/authorize?")
    assert parse_qs(urlsplit(address).query)["response_type"] == ["code"]
    assert "client-secret" not in address
    assert web.forms[0]["client_secret"].startswith("client-secret-canary")
