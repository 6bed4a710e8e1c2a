"""A child's group ends, whatever child and grandchildren do about it."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from host.pool.child_process import ChildProcess
from host.pool.command_lookup import CommandProblem
from host.pool.guard import ProcessGuard
from tests.fakes.mcp_servers.processes import SERVER_ARGS, alive_in_group, group_gone


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


@pytest.fixture
async def guard() -> AsyncIterator[ProcessGuard]:
    guard = ProcessGuard()
    yield guard
    await guard.aclose()


async def started(guard: ProcessGuard, *flags: str, command: str = sys.executable) -> ChildProcess:
    return await ChildProcess.start(
        command, [*SERVER_ARGS, *flags], env=dict(os.environ), cwd=None, guard=guard
    )


async def answered(child: ChildProcess) -> None:
    """Wait until it is up: it answers."""
    await child.stdin.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    with anyio.fail_after(10):
        await child.stdout.receive()


async def test_an_obedient_child_ends_with_its_input(guard: ProcessGuard) -> None:
    child = await started(guard)
    await answered(child)
    with anyio.fail_after(1.5):
        await child.stop()
    assert child.exit_code == 0
    assert not alive_in_group(child.pid)


async def test_what_a_child_leaves_behind_ends_as_well(guard: ProcessGuard) -> None:
    child = await started(guard, "--grandchild")
    await answered(child)
    assert len(alive_in_group(child.pid)) == 2
    with anyio.fail_after(3):
        await child.stop()
    assert await group_gone(child.pid, seconds=1)


async def test_a_deaf_child_is_killed_and_no_cancellation_cuts_that_short(
    guard: ProcessGuard,
) -> None:
    child = await started(guard, "--deaf", "--grandchild")
    await answered(child)
    began = anyio.current_time()
    with anyio.move_on_after(0.05) as scope:
        await child.stop()
    assert scope.cancel_called
    assert 3.9 < anyio.current_time() - began < 5.5
    assert child.exit_code == -9
    assert await group_gone(child.pid, seconds=1)


async def test_a_child_that_cannot_be_guarded_is_not_left_behind() -> None:
    started_groups: list[int] = []

    class NoGuard(ProcessGuard):
        async def add(self, group: int) -> None:
            started_groups.append(group)
            raise LookupError("no guard")

    with pytest.raises(LookupError):
        await started(NoGuard())
    assert await group_gone(started_groups[0])


async def test_stopping_twice_is_fine(guard: ProcessGuard) -> None:
    child = await started(guard)
    await child.stop()
    await child.stop()
    child.kill()
    assert child.exit_code is not None


async def test_what_the_system_refuses_to_start_is_named(
    guard: ProcessGuard, tmp_path: Any
) -> None:
    (tmp_path / "odd").write_bytes(b"\x00\x01 no program")
    (tmp_path / "odd").chmod(0o755)
    with pytest.raises(CommandProblem, match=r'"\./odd" could not be started'):
        await ChildProcess.start("./odd", [], env={}, cwd=str(tmp_path), guard=guard)


async def test_a_null_in_an_argument_is_a_problem_and_no_crash(guard: ProcessGuard) -> None:
    with pytest.raises(CommandProblem, match="could not be started"):
        await ChildProcess.start(sys.executable, ["\0"], env={}, cwd=None, guard=guard)
