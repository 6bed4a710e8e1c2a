"""The pool's end of the watchdog that outlives it for a moment (design §8, "No orphans").

POSIX only. On Windows nothing is started and children of a killed host are left to themselves: a
job object would be needed there.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.abc

logger = logging.getLogger(__name__)

_PROGRAM = Path(__file__).with_name("group_guard.py")
_END_SECONDS = 3.0


class ProcessGuard:
    """Tells one watchdog process which process groups must not survive this process.

    The watchdog starts with the first group and is started again if somebody ended it. It costs
    about 20 ms of its own and 9 MB, once per pool. Losing it never fails a dial.
    """

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: anyio.abc.Process | None = None
        self._pipe: int | None = None
        self._starting = anyio.Lock()

    @property
    def pid(self) -> int | None:
        """The watchdog's process id; None while it is not running."""
        return self._process.pid if self._process else None

    async def add(self, group: int) -> None:
        """Put a process group under guard, starting the watchdog if there is none."""
        self._groups.add(group)
        if sys.platform == "win32" or self._tell("add", group):
            return
        async with self._starting:
            if not self._tell("add", group):
                await self._start()

    def remove(self, group: int) -> None:
        """Take a group whose processes have ended from under guard; unknown ones are fine."""
        if group in self._groups:
            self._groups.discard(group)
            self._tell("remove", group)

    async def aclose(self) -> None:
        """Let the watchdog end what is still under guard, and wait for it, 3 s at most."""
        self._groups.clear()
        await self._drop()

    def _tell(self, verb: str, group: int) -> bool:
        """Whether the watchdog was told; never blocks."""
        if self._pipe is None:
            return False
        try:
            os.write(self._pipe, f"{verb} {group}\n".encode())
        except BlockingIOError:  # it is stopped and its pipe full: nothing better can be done
            return True
        except OSError:
            return False
        return True

    async def _start(self) -> None:
        await self._drop()
        reading, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        try:
            self._process = await anyio.open_process(
                [sys.executable, "-I", "-S", str(_PROGRAM)],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            logger.warning("no watchdog for child processes: %s", error)
        finally:
            os.close(reading)
        for group in self._groups:
            self._tell("add", group)

    async def _drop(self) -> None:
        pipe, self._pipe = self._pipe, None
        process, self._process = self._process, None
        if pipe is not None:
            os.close(pipe)
        if process is not None:
            with anyio.move_on_after(_END_SECONDS, shield=True):
                await process.wait()
            if process.returncode is not None:
                await process.aclose()
