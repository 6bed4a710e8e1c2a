"""The fleet as a whole: its listing, its start, its refusals."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.types import Tool

from host.demo.note_store import NoteStore
from host.demo.servers.clock import clock_server
from host.demo.servers.notes import notes_server
from host.demo.servers.units import units_server
from tests.demo.servers.fleet import NAMES, answer, child


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


def fleet(folder: Path) -> list[Server]:
    return [clock_server(), notes_server(NoteStore(folder)), units_server()]


async def tools_of(server: Server) -> list[Tool]:
    async with Client(server) as client:
        return list((await client.list_tools()).tools)


async def test_the_fleet_offers_enough_tools_for_a_catalogue(tmp_path: Path) -> None:
    tools = [tool for server in fleet(tmp_path) for tool in await tools_of(server)]
    assert len(tools) >= 15
    assert len({tool.name for tool in tools}) == len(tools)


async def test_every_tool_has_a_short_description_and_a_flat_schema(tmp_path: Path) -> None:
    for server in fleet(tmp_path):
        for tool in await tools_of(server):
            assert tool.description is not None
            assert 10 <= len(tool.description) <= 110
            properties = tool.input_schema["properties"]
            assert set(tool.input_schema["required"]) <= set(properties)
            for schema in properties.values():
                assert schema["type"] in ("string", "number", "integer")
                assert schema["description"]


async def test_annotations_tell_which_tools_change_something(tmp_path: Path) -> None:
    kinds: dict[tuple[bool | None, bool | None], set[str]] = {}
    for server in fleet(tmp_path):
        for tool in await tools_of(server):
            assert tool.annotations is not None
            hints = tool.annotations
            assert hints.open_world_hint is False
            assert hints.idempotent_hint is hints.read_only_hint
            key = (hints.read_only_hint, hints.destructive_hint)
            kinds.setdefault(key, set()).add(tool.name)
    assert kinds.pop((False, True)) == {"delete_note"}
    assert kinds.pop((False, False)) == {"add_note", "remember"}
    assert set(kinds) == {(True, False)}


def times_of(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in folder.iterdir()}


async def test_a_read_only_tool_leaves_the_notes_file_alone(tmp_path: Path) -> None:
    server = notes_server(NoteStore(tmp_path))
    async with Client(server) as client:
        await answer(client, "add_note", title="t", text="miles")
        before = times_of(tmp_path)
        await answer(client, "list_notes")
        await answer(client, "read_note", id=1)
        await answer(client, "search_notes", query="miles")
        await answer(client, "recall", prompt="miles")
        assert times_of(tmp_path) == before


@pytest.mark.parametrize("at", range(3))
async def test_an_unknown_tool_is_an_error_that_names_the_nearest(at: int, tmp_path: Path) -> None:
    server = fleet(tmp_path)[at]
    known = (await tools_of(server))[0].name
    async with Client(server) as client:
        text, is_error = await answer(client, known + "s")
        assert is_error
        assert text.startswith(f'There is no tool "{known}s": did you mean {known}')
        text, is_error = await answer(client, "qqqq")
    assert is_error
    assert known in text


@pytest.mark.parametrize("at", range(3))
async def test_wrong_arguments_of_any_tool_are_answered_with_one_sentence(
    at: int, tmp_path: Path
) -> None:
    server = fleet(tmp_path)[at]
    async with Client(server) as client:
        for tool in (await client.list_tools()).tools:
            text, is_error = await answer(client, tool.name, nonsense=1)
            assert is_error
            assert "\n" not in text
            assert "nonsense" in text
            for required in tool.input_schema["required"]:
                assert required in text


@pytest.mark.parametrize(
    ("name", "tool", "arguments", "expected", "wrong"),
    [
        (
            "clock",
            "days_between",
            {"start": "2025-03-01", "end": "2025-03-31"},
            "From 2025-03-01 (Saturday) to 2025-03-31 (Monday): 30 days.",
            {"start": "soon", "end": "2025-03-31"},
        ),
        (
            "units",
            "convert_unit",
            {"value": 26.2, "from_unit": "mile", "to_unit": "km"},
            "26.2 mile = 42.1648128 kilometre",
            {"value": 1, "from_unit": "mile", "to_unit": "kg"},
        ),
        ("notes", "add_note", {"title": "a", "text": "b"}, "Saved as note 1: a", {"title": "a"}),
    ],
)
@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the process is the same
async def test_a_server_of_its_own_process_answers_and_refuses(
    name: str,
    tool: str,
    arguments: dict[str, Any],
    expected: str,
    wrong: dict[str, Any],
    tmp_path: Path,
) -> None:
    with anyio.fail_after(60):
        async with Client(child(name, tmp_path)) as client:
            assert await answer(client, tool, **arguments) == (expected, False)
            text, is_error = await answer(client, tool, **wrong)
            assert is_error
            assert "\n" not in text


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_notes_survive_a_restart_of_the_server(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with Client(child("notes", tmp_path)) as client:
            await answer(client, "add_note", title="Units", text="I think in kilometres")
        async with Client(child("notes", tmp_path)) as client:
            assert await answer(client, "list_notes") == ("1: Units", False)
            assert await answer(client, "recall", prompt="How many kilometres?") == (
                "- Units: I think in kilometres",
                False,
            )


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "host.demo.servers", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=variables,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("arguments", [(), ("nope",), ("notes",), ("clock", "--folder", "x")])
def test_wrong_usage_ends_with_status_2_and_one_line_on_stderr(arguments: tuple[str, ...]) -> None:
    finished = run(*arguments)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert "Traceback" not in finished.stderr


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    stderr = run("nope").stderr
    assert all(re.search(rf"\b{name}\b", stderr.splitlines()[-1]) for name in NAMES)


def test_wrong_usage_is_found_before_mcp_is_imported() -> None:
    code = (
        "import sys; from host.demo.servers import main\n"
        "try: main(['nope'])\n"
        "except SystemExit: sys.exit('mcp' in sys.modules)"
    )
    finished = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, check=False)
    assert finished.returncode == 0


def test_ctrl_c_ends_a_server_at_once_and_quietly() -> None:
    command = [sys.executable, "-m", "host.demo.servers", "units"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == -signal.SIGINT
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_a_server_ends_with_its_stdin_and_status_0(tmp_path: Path) -> None:
    finished = run("notes", NOTES_FOLDER=str(tmp_path))
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
