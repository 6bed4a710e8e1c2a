"""What is shown of a server holds none of its secrets, and everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.row_secrets import row_redactor
from host.pool.rows import HttpServerRow, ServerRow, StdioServerRow
from host.pool.state_view import blanked_row
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.pools import memory_pool, refused

SECRETS = st.sampled_from(["hunter2!", "s3cr3t-token", "päss wörd", "sk_test_1234"])
NAMES = st.sampled_from(["API_KEY", "Authorization", "X-Key", "DEBUG"])
secret_map = st.dictionaries(NAMES, SECRETS, max_size=3)


@st.composite
def rows(draw: st.DrawFn) -> tuple[ServerRow, set[str]]:
    """A row, and the secrets that are in it, here and there."""
    secrets = draw(secret_map)
    leaked = draw(st.sampled_from([*secrets.values(), "plain"]))
    hooks = [{"id": "h", "on": "beforeTurn", "tool": "t", "args": {"a": {"b": [leaked, 1]}}}]
    if draw(st.booleans()):
        args = draw(st.sampled_from([None, ["--plain", f"--level={leaked}"]]))
        return StdioServerRow(id="a", command="run", env=secrets, args=args, hooks=hooks), set(
            secrets.values()
        )
    query = draw(SECRETS)
    url = f"https://user:{query}@example.org/mcp?key={query}"
    return HttpServerRow(id="a", url=url, headers=secrets, hooks=hooks), {
        query,
        *secrets.values(),
    }


@given(rows())
def test_a_shown_row_holds_no_secret_and_keeps_its_shape(made: tuple[ServerRow, set[str]]) -> None:
    row, secrets = made
    shown = blanked_row(row, row_redactor(row))
    text = shown.model_dump_json() + repr(shown)
    assert not [secret for secret in secrets if secret in text]
    assert (shown.id, shown.transport) == (row.id, row.transport)
    if isinstance(row, StdioServerRow) and isinstance(shown, StdioServerRow):
        assert (shown.command, shown.env and set(shown.env)) == (
            row.command,
            row.env and set(row.env),
        )
        assert (shown.args is None) == (row.args is None)
        assert "--plain" in (shown.args or ("--plain",))
    if isinstance(row, HttpServerRow) and isinstance(shown, HttpServerRow):
        assert "example.org/mcp" in shown.url
        assert (shown.headers is None) == (row.headers is None)


@given(rows())
def test_showing_changes_nothing_of_the_row(made: tuple[ServerRow, set[str]]) -> None:
    row, _ = made
    before = row.model_dump_json()
    blanked_row(row, row_redactor(row))
    assert row.model_dump_json() == before


async def test_secrets_are_shown_only_where_they_are_asked_for() -> None:
    row = memory_row("fs", headers={"Authorization": "Bearer hunter2!"})
    async with memory_pool(Servers(fs=EchoServer()), [row]) as pool:
        assert "hunter2!" not in repr(pool.state())
        (state,) = pool.state(secrets=True)
        assert isinstance(state.row, HttpServerRow)
        assert state.row.headers == {"Authorization": "Bearer hunter2!"}


async def test_errors_events_and_states_are_free_of_secrets() -> None:
    servers = Servers(fs=EchoServer(), down=EchoServer())
    servers.refused["down"] = OSError("bad key hunter2!")
    headers = {"Authorization": "hunter2!"}
    rows = [memory_row("fs", headers=headers), memory_row("down", headers=headers)]
    async with memory_pool(servers, []) as pool:
        watch = Watch(pool)
        await pool.sync(rows)
        assert state_of(pool, "down").error == "failed: bad key *** (OSError)"
        error = await refused(pool, "fs__echo", {"error": "you said hunter2!"})
        assert "***" in str(error)
        assert "hunter2!" not in repr(watch.events) + repr(error.__dict__) + str(error)


@pytest.mark.parametrize("secrets", [True, False])
async def test_a_shown_row_is_a_copy(secrets: bool) -> None:
    row = memory_row("fs", headers={"a": "value"})
    async with memory_pool(Servers(fs=EchoServer()), [row]) as pool:
        (state,) = pool.state(secrets=secrets)
        assert isinstance(state.row, HttpServerRow)
        assert state.row.headers is not None
        state.row.headers["a"] = "changed"
        (again,) = pool.state(secrets=True)
        assert isinstance(again.row, HttpServerRow)
        assert again.row.headers == {"a": "value"}


def test_a_secret_in_command_folder_and_roots_is_not_shown() -> None:
    row = StdioServerRow(
        id="a",
        command="/opt/hunter2!/run",
        env={"KEY": "hunter2!"},
        cwd="/srv/hunter2!",
        roots=["/data/hunter2!", "/plain"],
    )
    shown = blanked_row(row, row_redactor(row))
    assert isinstance(shown, StdioServerRow)
    assert (shown.command, shown.cwd, shown.roots) == (
        "/opt/***/run",
        "/srv/***",
        ("/data/***", "/plain"),
    )
