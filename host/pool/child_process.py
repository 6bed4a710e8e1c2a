"""One child process in a group of its own, and the certain end of that group."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

import anyio
import anyio.abc

from host.pool.command_lookup import (
    CommandProblem,
    find_command,
    start_problem,
    working_folder,
)
from host.pool.guard import ProcessGuard

logger = logging.getLogger(__name__)

EOF_SECONDS = 2.0
"""How long a child may take to end by itself after its input was closed."""
TERM_SECONDS = 2.0
"""How long its group may take after SIGTERM."""
KILL_SECONDS = 2.0
LEFTOVER_SECONDS = 0.5
"""How long what a leader left behind may take after SIGTERM."""
_POLL_SECONDS = 0.01


class ChildProcess:
    """A started child: its pipes, its exit, its end.

    Daemons that leave the group for a session of their own are out of reach.
    """

    def __init__(self, process: anyio.abc.Process, guard: ProcessGuard) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.stderr = process.stderr
        self._process = process
        self._guard = guard
        self._ended = False

    @classmethod
    async def start(
        cls,
        command: str,
        args: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None,
        guard: ProcessGuard,
    ) -> ChildProcess:
        """Start a child with piped streams and put its group under guard.

        Raises:
            CommandProblem: command or folder cannot be used; the text says why.
        """
        program = find_command(command, env=env, cwd=cwd)
        # Shielded: a cancellation between the fork and our holding the process would lose it.
        with anyio.CancelScope(shield=True):
            try:
                process = await anyio.open_process(
                    [program, *args],
                    env=env,
                    cwd=working_folder(cwd),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise CommandProblem(
                    f'the command "{command}" could not be started: {start_problem(error)}'
                ) from error
            child = cls(process, guard)
            try:
                await guard.add(process.pid)
            except BaseException:
                child.kill()
                await process.aclose()
                raise
        return child

    @property
    def pid(self) -> int:
        """Process id of the leader, which is also its group's."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How the leader ended, negative for a signal; None while it runs."""
        return self._process.returncode

    async def wait(self) -> None:
        """Wait until the leader has ended."""
        await self._process.wait()

    async def stop(self) -> None:
        """End the child and all that is left of its group: input closed, SIGTERM, SIGKILL.

        At most about six seconds; a cancellation does not cut it short, and asyncio's own
        ``Task.cancel``, which no scope can hold off, turns it into an immediate kill.
        """
        try:
            with anyio.CancelScope(shield=True):
                await self._end()
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the whole group now; nothing happens when it has ended already."""
        if not self._ended:
            self._signal("SIGKILL")
            self._forget()

    async def _end(self) -> None:
        if self._ended:
            return
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self.stdin.aclose()
        for seconds, name in (
            (EOF_SECONDS, "SIGTERM"),
            (TERM_SECONDS, "SIGKILL"),
            (KILL_SECONDS, ""),
        ):
            if await self._exited(seconds):
                await self._end_leftovers()
                await self._process.aclose()
                return
            if name:
                self._signal(name)
        logger.warning("process %d survived SIGKILL and is left to the system", self.pid)

    async def _exited(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._process.wait()
        return self._process.returncode is not None

    async def _end_leftovers(self) -> None:
        deadline = anyio.current_time() + LEFTOVER_SECONDS
        alive = self._signal("SIGTERM")
        while alive and anyio.current_time() < deadline:
            await anyio.sleep(_POLL_SECONDS)
            alive = self._signal("")
        if not alive:
            self._forget()

    def _forget(self) -> None:
        self._ended = True
        self._guard.remove(self.pid)

    def _signal(self, name: str) -> bool:
        """Whether the group was still there to take the signal; "" only asks."""
        if sys.platform == "win32":  # no groups there: the leader alone
            alive = self._process.returncode is None
            if alive and name:
                self._process.kill()
            return alive
        try:
            os.killpg(self.pid, getattr(signal, name) if name else 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # macOS says so for a group of zombies; else it is not ours
            return False
        return True
