"""The configuration follows its file: good edits are applied, bad ones told, each thing once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.assembly import open_host
from host.assembly.live_config import LiveConfig
from host.config import AgentSettings, HostConfig, load_config
from host.errors import ConfigError
from host.pool.rows import StdioServerRow
from host.records import PoolEvent, RunEvent
from tests.fakes.command_line import plain_server


def row(row_id: str, **fields: Any) -> StdioServerRow:
    return StdioServerRow(id=row_id, command="x", **fields)


def config(*rows: StdioServerRow, **fields: Any) -> HostConfig:
    return HostConfig(source="s.json", rows=rows, **fields)


class Heard:
    """What a live configuration applied and told."""

    def __init__(self, first: HostConfig) -> None:
        self.applied: list[HostConfig] = []
        self.told: list[tuple[str, str]] = []
        self.live = LiveConfig(
            first,
            apply=self.applied.append,
            notice=lambda level, text: self.told.append((level, text)),
        )


def test_what_is_as_it_was_changes_nothing_and_is_not_told() -> None:
    heard = Heard(config(row("a")))
    heard.live.take(config(row("a")))
    assert (heard.applied, heard.told) == ([], [])


def test_an_edit_is_applied_and_told_in_a_line() -> None:
    heard = Heard(config(row("a"), row("b")))
    edited = config(row("a", label="A"), row("c"))
    heard.live.take(edited)
    assert heard.applied == [edited]
    assert heard.live.current is edited
    assert heard.told == [("notice", "s.json was read again; new: c; gone: b; edited: a")]


def test_an_edit_with_mistakes_is_told_and_the_rest_stays_as_it_is() -> None:
    heard = Heard(config(row("a")))
    heard.live.take(ConfigError("s.json", ["line 3: a comma is missing", "and more"]))
    assert heard.applied == []
    assert heard.live.current.rows == (row("a"),)
    told = "s.json is not taken over: line 3: a comma is missing; and more"
    assert heard.told == [("error", told)]
    assert heard.live.problem == told
    heard.live.take(config(row("a")))
    assert heard.applied == []
    assert heard.live.problem == ""
    assert heard.told[1:] == [("notice", "s.json is as it was before")]


def test_what_counts_only_after_a_restart_is_told_once() -> None:
    heard = Heard(config(agent=AgentSettings(model="m")))
    heard.live.take(config(agent=AgentSettings(model="n", system_prompt="Be brief.")))
    heard.live.take(config(agent=AgentSettings(model="n", system_prompt="Be kind.")))
    told = [text for level, text in heard.told if level == "warning"]
    assert told == ["agent.model will count after a restart"]
    heard.live.take(config(agent=AgentSettings(model="m", system_prompt="Be kind.")))
    assert [text for level, text in heard.told if level == "warning"] == told
    assert len(heard.applied) == 3


def test_rows_that_cannot_be_started_and_keys_of_others_are_told_once() -> None:
    heard = Heard(config())
    for label in ("a", "b"):
        heard.live.take(
            config(row("x", label=label), unset={"u": ("KEY",)}, notices=("s.json: dropped icon",))
        )
    texts = [text for _, text in heard.told]
    assert sum("KEY is not set" in text for text in texts) == 1
    assert texts.count("s.json: dropped icon") == 1


def test_flags_keep_their_say_over_an_edit() -> None:
    first = config(overrides={"discovery": "keywords"})
    heard = Heard(first)
    heard.live.take(config(agent=AgentSettings(model="n")))
    assert heard.live.current.agent.discovery == "keywords"


# The whole way, over a real file and real servers.


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


def write(path: Path, text: str | None = None, **servers: dict[str, Any]) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"mcpServers": servers}) if text is None else text)
    new.replace(path)


async def test_a_host_that_watches_its_file_connects_only_what_an_edit_changed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "servers.json"
    write(path, a=plain_server(), b=plain_server())
    heard: list[RunEvent | PoolEvent] = []

    def happened(kind: str, server_id: str | None, words: str = "") -> bool:
        return any(
            event.kind == kind and event.server_id == server_id and words in str(event.text)
            for event in heard
            if isinstance(event, PoolEvent)
        )

    async def until(kind: str, server_id: str | None, words: str = "") -> None:
        while not happened(kind, server_id, words):  # noqa: ASYNC110 - a file's news have no event
            await anyio.sleep(0.02)

    with anyio.fail_after(30):
        async with open_host(load_config(path, env={}), heard.append, watch=True) as host:
            await host.settle()
            before = {state.id: state.pid for state in host.pool.state()}
            calls = 0

            async def keep_calling(*, task_status: anyio.abc.TaskStatus[None]) -> None:
                nonlocal calls
                task_status.started()
                while True:
                    assert await host.pool.call("a__echo", {"text": "x"}) == "x"
                    calls += 1

            async with anyio.create_task_group() as tasks:
                await tasks.start(keep_calling)
                write(path, text="{ no JSON")
                await until("log", None, "is not taken over")
                assert {s.id: s.pid for s in host.pool.state()} == before
                write(path, a=plain_server(label="A"), c=plain_server())
                await until("connect", "c")
                await until("close", "b")
                assert [state.id for state in host.pool.state()] == ["a", "c"]
                assert host.pool.state()[0].pid == before["a"]
                tasks.cancel_scope.cancel()
            assert calls > 10
    errors = [e for e in heard if isinstance(e, PoolEvent) and e.level == "error"]
    assert len(errors) == 1
    assert str(path) in str(errors[0].text)


async def test_a_host_cannot_watch_what_is_no_file() -> None:
    with pytest.raises(ConfigError, match="cannot be watched"):
        open_host(HostConfig(source="test"), watch=True)


async def test_an_edit_between_reading_and_opening_is_seen_at_once(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    write(path)
    config = load_config(path, env={})
    write(path, late=plain_server())
    with anyio.fail_after(20):
        async with open_host(config, watch=True) as host:
            while not host.pool.state():  # noqa: ASYNC110 - as above
                await anyio.sleep(0.02)
            assert await host.pool.call("late__echo", {"text": "x"}) == "x"
