"""The stdio transport: JSON-RPC lines to and from a child, as the SDK's pair of streams.

Our own, since the SDK's reads in quadratic time without a limit, dies in silence on a byte that is
not UTF-8, and tells neither pid nor exit code nor that the child has gone (sdk.md §2.3-9).
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from host.pool.child_process import ChildProcess
from host.pool.guard import ProcessGuard
from host.pool.line_splitter import MAX_LINE_BYTES, LineSplitter, LineTooLong
from host.pool.line_writer import LineWriter
from host.pool.message_text import read_message
from host.pool.row_secrets import row_redactor
from host.pool.stderr_tail import StderrTail
from host.text.terminal_text import clean_terminal

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    from host.pool.rows import StdioServerRow

logger = logging.getLogger(__name__)

MAX_NOISE_CHARS = 200
_CHUNK_BYTES = 1 << 18
_READ_AHEAD = 64
_FLUSH_SECONDS = 0.5
_LAST_WORDS_SECONDS = 0.5
_GONE = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)


class StdioTransport:
    """A child that speaks MCP on its pipes, from ``__aenter__`` to ``__aexit__``.

    When the child ends or closes its output, the read stream ends, once its exit code and last
    words are known or half a second has passed.

    Attributes:
        noise_count: lines of output so far that were neither blank nor JSON-RPC.
    """

    def __init__(
        self,
        row: StdioServerRow,
        *,
        env: dict[str, str],
        guard: ProcessGuard,
        on_noise: Callable[[str], None] | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        self.noise_count = 0
        self._row = row
        self._env = env
        self._guard = guard
        self._on_noise = on_noise
        self._splitter = LineSplitter(max_line_bytes)
        self._redactor = row_redactor(row)
        self._stderr = StderrTail(self._redactor)
        self._printed = StderrTail(self._redactor)
        self._is_heard = False
        self._fault = ""
        self._stopping = False
        self._read_done = anyio.Event()
        self._stderr_done = anyio.Event()
        self._child: ChildProcess | None = None
        self._tasks: anyio.abc.TaskGroup | None = None
        self._inbox: MemoryObjectSendStream[SessionMessage | Exception]
        self._from_child: MemoryObjectReceiveStream[SessionMessage | Exception]
        self._to_child: LineWriter

    @property
    def pid(self) -> int | None:
        """Process id of the child, once started."""
        return self._child.pid if self._child else None

    def stderr_tail(self) -> str:
        """The last words on stderr, readable and without the child's secrets; "" for none.

        A child that said nothing there, nor sent a message, may have put its words on stdout.
        """
        return self._stderr.text() or ("" if self._is_heard else self._printed.text())

    def end_note(self) -> str:
        """Why the transport ended, as a clause without subject; "" while it works."""
        code = self._child.exit_code if self._child else None
        if self._fault:
            return self._fault
        if code is None:
            return "closed its output" if self._read_done.is_set() else ""
        return f"was ended by {_signal_name(-code)}" if code < 0 else f"exited with code {code}"

    async def __aenter__(self) -> TransportStreams:
        """Start the child.

        Raises:
            CommandProblem: it cannot be started; the text says why.
        """
        self._child = await ChildProcess.start(
            self._row.command,
            self._row.args or (),
            env=self._env,
            cwd=self._row.cwd,
            guard=self._guard,
        )
        self._inbox, self._from_child = anyio.create_memory_object_stream[
            SessionMessage | Exception
        ](_READ_AHEAD)
        self._to_child = LineWriter(self._child.stdin, self._deafened)
        self._tasks = await anyio.create_task_group().__aenter__()
        for work in (self._read, self._drain_stderr, self._watch_exit):
            self._tasks.start_soon(work, self._child)
        return self._from_child, self._to_child

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the child, whatever happens meanwhile, and wait for its end."""
        assert self._child is not None
        assert self._tasks is not None
        self._stopping = True
        self._from_child.close()  # the reader goes on and throws away what comes
        try:
            await self._to_child.finish(_FLUSH_SECONDS)
            await self._child.stop()
        finally:
            self._tasks.cancel_scope.cancel()
            self._tasks.cancel_scope.shield = True
            await self._tasks.__aexit__(None, None, None)
            self._inbox.close()
            self._from_child.close()

    async def _read(self, child: ChildProcess) -> None:
        try:
            while True:
                for line in self._splitter.feed(await child.stdout.receive(_CHUNK_BYTES)):
                    await self._deliver(line)
        except LineTooLong as problem:
            self._fault = f"wrote too much: {problem}"
        except (anyio.EndOfStream, *_GONE):
            pass
        self._read_done.set()
        if not self._fault:
            with anyio.move_on_after(_LAST_WORDS_SECONDS):
                await child.wait()
                await self._stderr_done.wait()
        self._inbox.close()
        await _drain(child.stdout)

    async def _deliver(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = read_message(line)
        except ValueError:
            self._note_noise(line)
            return
        self._is_heard = True
        try:
            try:
                self._inbox.send_nowait(SessionMessage(message))
            except anyio.WouldBlock:
                await self._inbox.send(SessionMessage(message))
        except _GONE:  # the session has ended; later lines are thrown away
            return

    def _note_noise(self, line: bytes) -> None:
        if self._stopping:
            return
        self.noise_count += 1
        if not self._is_heard:
            self._printed.add(line + b"\n")
        if self.noise_count == 1 and self._on_noise:
            text = clean_terminal(line.decode("utf-8", "replace")).strip()
            text = self._redactor.redact(text)
            self._on_noise(text if len(text) <= MAX_NOISE_CHARS else text[:MAX_NOISE_CHARS] + "…")

    async def _deafened(self) -> None:
        """End the session of a child that reads no more; it may live on.

        That beats letting every call run out its time.
        """
        assert self._child is not None
        if self._stopping:
            return
        with anyio.move_on_after(_LAST_WORDS_SECONDS):
            await self._child.wait()
        if self._child.exit_code is None:
            self._fault = self._fault or "stopped reading its input"
        self._inbox.close()

    async def _drain_stderr(self, child: ChildProcess) -> None:
        try:
            while True:
                self._stderr.add(await child.stderr.receive())
        except (anyio.EndOfStream, *_GONE):
            self._stderr_done.set()

    async def _watch_exit(self, child: ChildProcess) -> None:
        """End the session when the leader has gone but something holds its output open."""
        await child.wait()
        with anyio.move_on_after(_LAST_WORDS_SECONDS):
            await self._read_done.wait()
        self._inbox.close()


async def _drain(stream: anyio.abc.ByteReceiveStream) -> None:
    try:
        while True:
            await stream.receive(_CHUNK_BYTES)
    except (anyio.EndOfStream, *_GONE):
        return


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
