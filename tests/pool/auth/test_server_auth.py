"""Tokens are renewed by themselves as long as that can be done, and nobody is asked in a run."""

from __future__ import annotations

import threading
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from host.errors import PoolError
from host.pool.auth.stores import credentials_name
from host.pool.rows import AuthRow, HttpServerRow
from tests.fakes.auth_server import NONCE, AuthServer, Gate
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.auth.loopback import (
    expire,
    logged_in,
    opened,
    refusal,
    store_in,
    stored,
)


async def test_without_a_login_the_dial_fails_at_once_and_nobody_is_asked(
    web: AuthServer, tmp_path: Path
) -> None:
    async with opened(tmp_path, [web.row(label="The web")], on_authorize=None) as pool:
        state = state_of(pool, "web")
        assert (state.status, state.retry_at) == ("needs-auth", None)
        assert "it wants authorisation: run `agent-host login web`" in state.error
        assert web.authorized == web.registrations == web.forms == []
        asked = len(web.methods)
        await pool.sync([web.row(label="The web")])
        assert state_of(pool, "web").status == "needs-auth"
        assert len(web.methods) == asked == 0  # nothing was let in, and nothing is tried again


async def test_after_a_restart_a_token_that_ran_out_is_renewed_and_not_the_login(
    web: AuthServer, tmp_path: Path
) -> None:
    first = await logged_in(tmp_path, web)
    await expire(tmp_path, web)
    async with opened(tmp_path, [web.row()], on_authorize=None) as pool:
        assert state_of(pool, "web").status == "ready"
        assert await pool.call("web__read") == "called"
    assert web.grants == ["authorization_code", "refresh_token"]
    held = await stored(tmp_path, web)
    assert held.registration == first.registration
    assert held.tokens is not None
    assert first.tokens is not None
    assert held.tokens.refresh not in (None, first.tokens.refresh)  # it is good once only
    assert held.tokens.expires_at is not None
    assert web.forms[1]["resource"] == web.url()


async def test_a_valid_token_is_used_after_a_restart_without_a_word_to_anybody(
    web: AuthServer, tmp_path: Path
) -> None:
    await logged_in(tmp_path, web)
    async with opened(tmp_path, [web.row()], on_authorize=None) as pool:
        assert await pool.call("web__read") == "called"
    assert web.grants == ["authorization_code"]


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (None, "at its authorization server"),
        ((503, "<html>"), "HTTP 503"),
        ((400, "<html>a gateway's page"), "HTTP 400"),
        ((200, "no json"), "no JSON object"),
        ((200, {"token_type": "Bearer"}), "no access token"),
    ],
)
async def test_a_refresh_that_fails_once_costs_one_call_and_not_the_login(
    web: AuthServer, tmp_path: Path, broken: tuple[int, Any] | None, why: str
) -> None:
    await logged_in(tmp_path, web)
    async with opened(tmp_path, [web.row()], on_authorize=None) as pool:
        before = await stored(tmp_path, web)
        web.forget_tokens()
        web.refusals = [broken]
        assert why in await refusal(pool)
        assert await stored(tmp_path, web) == before
        assert state_of(pool, "web").status == "ready"
        assert await pool.call("web__read") == "called"
    assert web.grants == ["authorization_code", "refresh_token", "refresh_token"]


async def test_a_dial_that_cannot_refresh_for_now_is_a_failure_like_any_other(
    web: AuthServer, tmp_path: Path
) -> None:
    await logged_in(tmp_path, web)
    await expire(tmp_path, web)
    web.refusals = [(503, "busy"), (503, "busy")]  # the probe of the era, and the handshake
    async with opened(tmp_path, [web.row()]) as pool:
        state = state_of(pool, "web")
        assert (state.status, state.retry_at is None) == ("error", False)
        assert "HTTP 503" in state.error
        await pool.reconnect("web", [web.row()])
        assert await pool.call("web__read") == "called"


async def test_a_refused_refresh_needs_a_person_and_keeps_the_registration(
    web: AuthServer, tmp_path: Path
) -> None:
    before = await logged_in(tmp_path, web)
    await expire(tmp_path, web)
    web.refreshes = None
    async with opened(tmp_path, [web.row()]) as pool:
        state = state_of(pool, "web")
        assert state.status == "needs-auth"
        assert "its login is no longer good: run `agent-host login web`" in state.error
        held = await stored(tmp_path, web)
        assert held.registration == before.registration
        assert held.tokens is not None
        assert before.tokens is not None
        assert held.tokens.refresh == before.tokens.refresh
        web.refreshes = set()
        await pool.login("web")
        assert await pool.call("web__read") == "called"
    assert len(web.registrations) == 1
    assert web.grants.count("refresh_token") == 1  # a refused one is not tried again


async def test_a_client_that_is_not_known_any_more_is_registered_anew_by_the_next_login(
    web: AuthServer, tmp_path: Path
) -> None:
    await logged_in(tmp_path, web)
    await expire(tmp_path, web)
    web.refusals = [(401, {"error": "invalid_client"})]
    async with opened(tmp_path, [web.row()]) as pool:
        assert state_of(pool, "web").status == "needs-auth"
        await pool.login("web")
        assert await pool.call("web__read") == "called"
    assert len(web.registrations) == 2


@pytest.mark.parametrize("expires_at", [1, 4_000_000_000])
async def test_a_client_whose_secret_ran_out_is_registered_anew(
    web: AuthServer, tmp_path: Path, expires_at: int
) -> None:
    web.registered_method = "client_secret_basic"
    web.secret_expires_at = expires_at
    await logged_in(tmp_path, web)
    await expire(tmp_path, web)
    async with opened(tmp_path, [web.row()]) as pool:
        is_good = expires_at > 1
        assert state_of(pool, "web").status == ("ready" if is_good else "needs-auth")
        await pool.login("web")
        assert await pool.call("web__read") == "called"
    assert len(web.registrations) == (1 if is_good else 2)
    assert web.grants.count("refresh_token") == (1 if is_good else 0)
    assert web.token_headers[-1]["authorization"].startswith("Basic ")


async def test_a_registration_of_another_issuer_is_not_shown_to_the_new_one(
    web: AuthServer, tmp_path: Path
) -> None:
    first = await logged_in(tmp_path, web)
    web.issuer_path = "/moved"
    web.forget_tokens()
    web.refreshes = set()
    async with opened(tmp_path, [web.row()]) as pool:
        await pool.login("web")
        assert await pool.call("web__read") == "called"
    assert len(web.registrations) == 2
    assert web.authorized[-1]["client_id"] != first.registration.client_id
    assert (await stored(tmp_path, web)).authority.issuer.endswith("/moved")


async def test_calls_with_a_valid_token_do_not_wait_for_each_other(
    web: AuthServer, tmp_path: Path
) -> None:
    await logged_in(tmp_path, web)
    async with opened(tmp_path, [web.row()]) as pool:
        web.barrier = threading.Barrier(5, timeout=10)  # nobody is answered before all are there
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(pool.call, "web__write")
    assert not web.barrier.broken
    assert web.calls == ["write"] * 5


async def test_calls_that_meet_a_refusal_at_once_share_one_refresh(
    web: AuthServer, tmp_path: Path
) -> None:
    await logged_in(tmp_path, web)
    async with opened(tmp_path, [web.row()], on_authorize=None) as pool:
        web.forget_tokens()
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(pool.call, "web__write")
        assert web.calls == ["write"] * 8
    assert web.grants == ["authorization_code", "refresh_token"]


async def test_a_caller_that_goes_away_takes_no_refresh_token_with_it(
    web: AuthServer, tmp_path: Path
) -> None:
    await logged_in(tmp_path, web)
    async with opened(tmp_path, [web.row()], on_authorize=None) as pool:
        web.forget_tokens()
        gate = web.gates["token"] = Gate()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.call, "web__read")
            await gate.reached()
            tasks.cancel_scope.cancel()
        gate.open()
        assert await pool.call("web__read") == "called"
    assert web.grants == ["authorization_code", "refresh_token"]


async def test_a_login_that_ends_in_a_session_is_no_crash_and_calls_under_way_are_answered(
    web: AuthServer, tmp_path: Path
) -> None:
    await logged_in(tmp_path, web)
    async with opened(tmp_path, [web.row()]) as pool:
        watch = Watch(pool)
        gate = web.gates["write"] = Gate()
        answers: list[str] = []

        async def call() -> None:
            answers.append(await pool.call("web__write"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await gate.reached()
            web.forget_tokens()
            web.refreshes = None
            text = await refusal(pool)
            assert "its login is no longer good: run `agent-host login web`" in text
            state = state_of(pool, "web")
            assert (state.status, state.retry_at) == ("needs-auth", None)
            gate.open()
        assert answers == ["called"]
        await watch.until(lambda: watch.kinds("web") == ["close needs-auth"])
        assert "agent-host login web" in (watch.of("log", "web")[0].text or "")
        assert "agent-host login web" in await refusal(pool)
        web.refreshes = set()
        await pool.login("web")
        assert await pool.call("web__read") == "called"


async def test_a_login_elsewhere_is_found_by_the_next_use_and_the_next_sync(
    web: AuthServer, tmp_path: Path
) -> None:
    async with (
        opened(tmp_path, [web.row()], on_authorize=None) as used,
        opened(tmp_path, [web.row()], on_authorize=None) as synced,
        opened(tmp_path, [web.row()], on_authorize=None) as direct,
    ):
        assert state_of(used, "web").status == "needs-auth"
        await logged_in(tmp_path, web)
        assert await used.call("web__read") == "called"
        await synced.sync([web.row()])
        assert await synced.wait_ready(10)
        watch = Watch(synced)
        if state_of(synced, "web").status != "ready":
            await watch.until(lambda: watch.kinds("web") == ["connect"])
        assert len((await direct.use("web", lambda client: client.list_tools())).tools) == 2


async def test_another_process_that_renewed_first_is_followed(
    web: AuthServer, tmp_path: Path
) -> None:
    await logged_in(tmp_path, web)
    async with (
        opened(tmp_path, [web.row()], on_authorize=None) as one,
        opened(tmp_path, [web.row()], on_authorize=None) as other,
    ):
        web.forget_tokens()
        assert await one.call("web__read") == "called"
        assert await other.call("web__read") == "called"
    assert web.grants == ["authorization_code", "refresh_token"]


async def test_a_tool_that_wants_more_than_was_granted_fails_alone_and_the_next_login_asks(
    web: AuthServer, tmp_path: Path
) -> None:
    web.first_scope = "read"
    web.scope_of = {"write": "write"}
    await logged_in(tmp_path, web)
    async with opened(tmp_path, [web.row()]) as pool:
        text = await refusal(pool, "web__write")
        assert 'answered HTTP 403; it wants the scope "write": run `agent-host login web`' in text
        assert state_of(pool, "web").status == "ready"
        assert await pool.call("web__read") == "called"
    async with opened(tmp_path, [web.row()]) as later:
        await later.login("web")
        assert await later.call("web__write") == "called"
    assert [asked["scope"] for asked in web.authorized] == ["read", "read write"]


async def test_a_server_that_is_partly_open_stays_open(web: AuthServer, tmp_path: Path) -> None:
    web.open_methods = {"initialize", "notifications/initialized", "tools/list"}
    async with opened(tmp_path, [web.row()]) as pool:
        assert state_of(pool, "web").status == "ready"
        assert "run `agent-host login web`" in await refusal(pool)
        assert state_of(pool, "web").status == "ready"
        await pool.login("web")
        assert await pool.call("web__read") == "called"


async def test_tokens_are_bound_to_a_key_where_the_server_wants_that(
    web: AuthServer, tmp_path: Path
) -> None:
    web.wants_proof = True
    web.nonce = NONCE
    held = await logged_in(tmp_path, web)
    assert held.dpop_key is not None
    await expire(tmp_path, web)
    async with opened(tmp_path, [web.row()], on_authorize=None) as pool:
        for _ in range(3):
            assert await pool.call("web__read") == "called"
    assert (await stored(tmp_path, web)).dpop_key == held.dpop_key
    assert len(web.proofs) == len(set(web.proofs)) > 5


async def test_a_row_can_ask_for_bound_tokens_and_is_told_when_there_are_none(
    web: AuthServer, tmp_path: Path
) -> None:
    async with opened(tmp_path, [web.row(auth=AuthRow(dpop=True))]) as pool:
        with pytest.raises(Exception, match=r"bound to no key, though its row wants one"):
            await pool.login("web")
        assert state_of(pool, "web").status == "needs-auth"


async def test_a_client_of_its_own_gets_tokens_without_anybody_and_keeps_none(
    web: AuthServer, tmp_path: Path
) -> None:
    auth = AuthRow(
        grant="client_credentials",
        client_id="me",
        client_secret="sesame",
        issuer=web.issuer,
        scope="a b",
    )
    async with opened(tmp_path, [web.row(auth=auth)], on_authorize=None) as pool:
        assert await pool.call("web__read") == "called"
        web.forget_tokens()
        assert await pool.call("web__read") == "called"
    assert web.grants == ["client_credentials"] * 2
    assert web.forms[0]["scope"] == "a b"
    assert web.token_headers[0]["authorization"].startswith("Basic ")
    assert not (tmp_path / "credentials.json").exists()


async def test_a_client_with_a_key_signs_its_own_word(web: AuthServer, tmp_path: Path) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    written = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "key.pem").write_bytes(written)
    fields = {"grant": "client_credentials", "client_id": "me", "issuer": web.issuer}
    auth = AuthRow.model_validate({**fields, "private_key_file": str(tmp_path / "key.pem")})
    async with opened(tmp_path, [web.row(auth=auth)], on_authorize=None) as pool:
        assert await pool.call("web__read") == "called"
    said = jwt.decode(
        web.forms[0]["client_assertion"],
        private.public_key(),
        algorithms=["ES256"],
        audience=web.issuer,
    )
    assert (said["iss"], said["sub"], web.forms[0]["client_id"]) == ("me", "me", "me")
    (tmp_path / "key.pem").write_text("no key", "utf-8")
    async with opened(tmp_path, [web.row(auth=auth)], on_authorize=None) as pool:
        assert "auth.privateKeyFile holds no PEM key" in state_of(pool, "web").error


@pytest.mark.parametrize("machine", [False, True])
async def test_a_server_that_takes_no_token_at_all_is_not_tried_for_ever(
    web: AuthServer, tmp_path: Path, machine: bool
) -> None:
    fields = {"grant": "client_credentials", "client_id": "me", "client_secret": "s"}
    auth = AuthRow.model_validate({**fields, "issuer": web.issuer}) if machine else None
    web.takes_tokens = False
    async with opened(tmp_path, [web.row(auth=auth)]) as pool:
        if not machine:
            with pytest.raises(PoolError, match="tokens that its authorization server has just"):
                await pool.login("web")
        state = state_of(pool, "web")
        assert state.status == ("error" if machine else "needs-auth")
        assert "answered HTTP 401 to tokens that its authorization server has just" in state.error
        assert ("agent-host login" in state.error) is not machine
    assert len(web.forms) <= 2  # the probe of the era, and the handshake


async def test_a_refused_client_is_asked_for_no_second_time_in_one_dial(
    web: AuthServer, tmp_path: Path
) -> None:
    assertion = tmp_path / "jwt"
    assertion.write_text("signed-elsewhere\n", "utf-8")
    auth = AuthRow(
        grant="jwt_bearer", client_id="me", assertion_file=str(assertion), issuer=web.issuer
    )
    web.refusals = [(400, {"error": "invalid_grant", "error_description": "expired"})] * 2
    async with opened(tmp_path, [web.row(auth=auth)], on_authorize=None) as pool:
        state = state_of(pool, "web")
        assert state.status == "error"
        assert "was refused a token: invalid_grant (expired)" in state.error
        assert [form["assertion"] for form in web.forms] == ["signed-elsewhere"]


@pytest.mark.parametrize(
    ("auth", "words"),
    [
        ({"assertion_file": "/no/such/file"}, "auth.assertionFile cannot be read (/no/such/file"),
        ({"issuer": "https://elsewhere.example"}, "names another authorization server"),
    ],
)
async def test_what_keeps_a_client_of_its_own_out_is_named(
    web: AuthServer, tmp_path: Path, auth: dict[str, Any], words: str
) -> None:
    fields = {
        "grant": "jwt_bearer",
        "client_id": "me",
        "assertion_file": __file__,
        "issuer": web.issuer,
        **auth,
    }
    async with opened(tmp_path, [web.row(auth=AuthRow(**fields))]) as pool:
        state = state_of(pool, "web")
        assert state.status == "error"
        assert words in state.error
        assert web.forms == []


async def test_tokens_that_could_not_be_stored_are_not_given_up_for_older_ones(
    web: AuthServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await logged_in(tmp_path, web)

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    async with opened(tmp_path, [web.row()], on_authorize=None) as pool:
        monkeypatch.setattr("host.pool.auth.stores.os.fsync", full)
        web.forget_tokens()
        assert await pool.call("web__read") == "called"
        await pool.stop("web")
        assert await pool.call("web__read") == "called"
    assert web.grants == ["authorization_code", "refresh_token"]


async def test_a_user_in_the_address_is_sent_as_ever(web: AuthServer, tmp_path: Path) -> None:
    row = HttpServerRow(id="web", url=web.url().replace("://", "://me:sesame@"))
    async with opened(tmp_path, [row]) as pool:
        state = state_of(pool, "web")
        assert (state.status, "check the row's headers" in state.error) == ("error", True)
    assert web.seen_authorization[-1] == f"Basic {b64encode(b'me:sesame').decode()}"


async def test_a_login_of_another_client_or_issuer_is_not_the_rows(
    web: AuthServer, tmp_path: Path
) -> None:
    held = await logged_in(tmp_path, web)
    for auth in (AuthRow(client_id="other"), AuthRow(issuer="https://elsewhere.example")):
        async with opened(tmp_path, [web.row(auth=auth)], on_authorize=None) as pool:
            assert state_of(pool, "web").status == "needs-auth"
    name = credentials_name("web", web.url())
    mine = replace(held.registration, client_id="mine", is_dynamic=False)
    await store_in(tmp_path).save(name, replace(held, registration=mine))
    async with opened(tmp_path, [web.row(auth=AuthRow(client_id="mine"))]) as pool:
        assert state_of(pool, "web").status == "ready"
