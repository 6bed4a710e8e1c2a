"""The watchdog ends the groups it was told of when its pipe closes, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from host.pool import group_guard
from host.pool.guard import ProcessGuard
from tests.fakes.mcp_servers.processes import alive_in_group, group_gone

SLEEPER = "import time; time.sleep(60)"
DEAF = "import signal as s, time; s.signal(s.SIGTERM, s.SIG_IGN); print(flush=True); time.sleep(60)"
PROGRAM = str(Path(group_guard.__file__))


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


@pytest.fixture
def groups() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def sleeper(groups: list[subprocess.Popen[bytes]], code: str = SLEEPER) -> int:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE, start_new_session=True
    )
    groups.append(process)
    threading.Thread(target=process.wait, daemon=True).start()  # as init would: no zombies
    if code == DEAF and process.stdout:
        process.stdout.readline()
    return process.pid


def watchdog() -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", PROGRAM], stdin=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    return process, process.stdin


def told(lines: bytes) -> None:
    """Run a watchdog over these lines to its end, which must come within two seconds."""
    process, pipe = watchdog()
    pipe.write(lines)
    pipe.close()
    assert process.wait(timeout=2.5) == 0


def test_groups_end_when_the_pipe_closes(groups: list[subprocess.Popen[bytes]]) -> None:
    first, second = sleeper(groups), sleeper(groups, DEAF)
    told(f"add {first}\nadd {second}\n".encode())
    assert not alive_in_group(first)
    assert not alive_in_group(second)


def test_a_removed_group_is_left_alone(groups: list[subprocess.Popen[bytes]]) -> None:
    group = sleeper(groups)
    told(f"add {group}\nremove {group}\n".encode())
    assert alive_in_group(group)


def test_garbage_is_ignored(groups: list[subprocess.Popen[bytes]]) -> None:
    group = sleeper(groups)
    told(b"add\nadd 1\nadd 0\nadd -5\nadd x\n\xff\xfe\nremove 99999\nadd %d\nkill\n" % group)
    assert not alive_in_group(group)


def test_a_terminal_cannot_end_the_watchdog(groups: list[subprocess.Popen[bytes]]) -> None:
    group = sleeper(groups)
    process, pipe = watchdog()
    pipe.write(b"add %d\n" % group)
    pipe.flush()
    with pytest.raises(subprocess.TimeoutExpired):  # it is up once it survives these
        process.wait(timeout=0.3)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(process.pid, number)
    assert alive_in_group(group)
    pipe.close()
    assert process.wait(timeout=2.5) == 0
    assert not alive_in_group(group)


async def test_one_watchdog_starts_with_the_first_group_and_ends_with_the_pool(
    groups: list[subprocess.Popen[bytes]],
) -> None:
    guard = ProcessGuard()
    first, second = sleeper(groups), sleeper(groups)
    await guard.add(first)
    watchdog_pid = guard.pid
    assert watchdog_pid is not None
    await guard.add(second)
    assert guard.pid == watchdog_pid
    guard.remove(second)
    await guard.aclose()
    assert await group_gone(watchdog_pid, seconds=1)
    assert not alive_in_group(first)
    assert alive_in_group(second)


async def test_a_watchdog_that_was_killed_is_replaced_and_told_everything(
    groups: list[subprocess.Popen[bytes]],
) -> None:
    guard = ProcessGuard()
    first, second = sleeper(groups), sleeper(groups)
    await guard.add(first)
    assert guard.pid is not None
    killed = guard.pid
    os.killpg(killed, signal.SIGKILL)
    assert await group_gone(killed)
    await guard.add(second)
    assert guard.pid not in (None, killed)
    await guard.aclose()
    assert not alive_in_group(first)
    assert not alive_in_group(second)


async def test_a_watchdog_that_cannot_start_is_told_and_harms_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    guard = ProcessGuard()
    await guard.add(12345)
    guard.remove(12345)
    assert "no watchdog for child processes" in caplog.text
    await guard.aclose()


async def test_without_children_there_is_no_watchdog_to_close() -> None:
    guard = ProcessGuard()
    guard.remove(12345)
    await guard.aclose()
    assert guard.pid is None
