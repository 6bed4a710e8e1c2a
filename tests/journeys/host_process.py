"""``agent-host`` as a process: started, watched, interrupted, waited for. Every wait is bounded."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.architecture import ROOT
from tests.fakes.command_line import Ended, environment
from tests.fakes.mcp_servers.processes import alive_in_group

WAIT_SECONDS = 30.0
GONE_SECONDS = 5.0
"""How long servers may outlive their host (issue 2, Acceptance 6)."""

_LOOK_SECONDS = 0.02


def until(
    fact: Callable[[], object], what: Callable[[], str], *, seconds: float = WAIT_SECONDS
) -> None:
    """Waits for a fact that no event tells of: another process's doing.

    Args:
        what: says at the end of the time what did not come.
    """
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what()}"
        select.select([], [], [], _LOOK_SECONDS)


def run_python(folder: Path, *args: str) -> Ended:
    """Runs this interpreter in a folder to its end, from a cold start."""
    done = subprocess.run(
        [sys.executable, *args],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ended(status=done.returncode, out=done.stdout, err=done.stderr)


class ForkServer:
    """The process that host processes are forked from."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder / "fork.sock")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.journeys.fork_server", self._path],
            cwd=ROOT,
            env=environment(folder),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def fork(self, wanted: Mapping[str, Any], streams: Sequence[int]) -> socket.socket:
        """Has a child started; the socket tells its process id, and how it ends."""
        connection = socket.socket(socket.AF_UNIX)
        until(lambda: connection.connect_ex(self._path) == 0, lambda: "the fork server listens")
        connection.settimeout(WAIT_SECONDS)
        socket.send_fds(connection, [json.dumps(wanted).encode()], list(streams))
        return connection

    def close(self) -> None:
        """Ends the server; what it forked goes on."""
        self._process.kill()
        self._process.communicate()


class HostProcess:
    """One ``agent-host`` process for a block; what is left of it at the end is killed.

    Args:
        folder: its working folder, where its servers file is.
        typed: what its stdin holds; None for a terminal to type on with ``type_line``.
        is_read: False for a stdout whose reader has gone.

    Attributes:
        pid: its process id.
    """

    def __init__(
        self,
        server: ForkServer,
        folder: Path,
        *args: str,
        typed: str | None = "",
        is_read: bool = True,
        **env: str,
    ) -> None:
        count = sum(1 for _ in folder.glob("err-*"))
        self._out, self._err = folder / f"out-{count}", folder / f"err-{count}"
        self._keyboard: int | None = None
        stdin = self._terminal() if typed is None else _file_of(typed, folder / f"in-{count}")
        stdout = _created(self._out)
        if not is_read:
            os.close(stdout)
            stdout = _pipe_to_nobody()
        streams = [stdin, stdout, _created(self._err)]
        wanted = {"args": args, "cwd": str(folder), "env": environment(folder) | env}
        self._socket = server.fork(wanted, streams)
        for stream in streams:
            os.close(stream)
        self._told = self._socket.makefile()
        self.pid = int(self._told.readline())
        self._has_ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._has_ended:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._told.close()
        self._socket.close()
        if self._keyboard is not None:
            os.close(self._keyboard)

    @property
    def out(self) -> str:
        """What it wrote to stdout so far."""
        return self._out.read_text("utf-8")

    @property
    def err(self) -> str:
        """What it wrote to stderr so far."""
        return self._err.read_text("utf-8")

    def wait_for(self, text: str, *, times: int = 1) -> None:
        """Returns once the text stands in what it wrote, so many times."""
        until(
            lambda: (self.out + self.err).count(text) >= times,
            lambda: f"{times} times {text!r} in {self.out!r} and {self.err!r}",
        )

    def wait_for_file(self, name: str) -> None:
        """Returns once a file of that name is in its folder."""
        until((self._out.parent / name).exists, lambda: f"{name}: {self.err!r}")

    def wait_for_children(self, count: int) -> list[int]:
        """Returns the process groups of its children, once there are so many of them.

        Every server leads a group of its own, and so does the watchdog.
        """
        until(
            lambda: len(groups_below(self.pid)) >= count, lambda: f"{count} children: {self.err!r}"
        )
        return groups_below(self.pid)

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.send(signal.SIGINT)

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        os.kill(self.pid, number)

    def type_line(self, text: str) -> None:
        """Types a line on its terminal."""
        self._type(f"{text}\n")

    def type_end(self) -> None:
        """Ctrl-D."""
        self._type("\x04")

    def end(self) -> Ended:
        """Waits for its end."""
        try:
            line = self._told.readline()
        except TimeoutError as error:
            raise AssertionError(f"it goes on; so far: {self.out!r} {self.err!r}") from error
        self._has_ended = True
        return Ended(status=int(line), out=self.out, err=self.err)

    def _type(self, text: str) -> None:
        assert self._keyboard is not None
        os.write(self._keyboard, text.encode())

    def _terminal(self) -> int:
        self._keyboard, other = pty.openpty()
        return other


def groups_below(pid: int) -> list[int]:
    """The process groups of a process's children, without the process's own."""
    found = set()
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found |= {os.getpgid(int(child)) for child in children.read_text().split()}
    return sorted(found - {pid})


def wait_until_gone(groups: Sequence[int]) -> None:
    """Returns once no process of the groups is left, within the five seconds it may take."""
    until(
        lambda: not alive_in_group(*groups),
        lambda: f"the processes of {groups} are gone",
        seconds=GONE_SECONDS,
    )


def _created(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_APPEND)


def _file_of(text: str, path: Path) -> int:
    path.write_text(text, "utf-8")
    return os.open(path, os.O_RDONLY)


def _pipe_to_nobody() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing
