"""A model's file served on this machine, for the length of a block."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from host.assembly.background import Background
from host.assembly.engine_plan import plan_engine
from host.assembly.engine_words import death_words, problem_words, size_words
from host.config import EndpointChoice, HostConfig, ModelFile
from host.errors import EngineFailed, HostError
from host.pool.child_environment import child_environment
from host.pool.child_process import ChildProcess
from host.pool.command_lookup import CommandProblem
from host.pool.guard import ProcessGuard
from host.pool.stderr_tail import StderrTail
from host.text.redaction import Redactor

PROGRAM = Path(__file__).with_name("engine_program.py")
START_SECONDS = 60.0
"""How long the engine may take to introduce itself; loading takes as long as it takes."""

PROGRESS_SECONDS = 10.0
DEATH_SECONDS = 1.0
"""How long a process whose connections break may take to be seen dead."""

LAST_WORDS_SECONDS = 10.0
"""How long one that says it ends may take: it logs in a thread, and a busy machine is slow."""

KILL_SECONDS = 5.0
_MAX_LINE_BYTES = 1 << 16
_GONE = (
    OSError,
    anyio.EndOfStream,
    anyio.IncompleteRead,
    anyio.DelimiterNotFound,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)


class LocalEngine:
    """An engine in a process of its own, that loads the file from the block's beginning on.

    The process ends with the block, and with this process however that ends.

    Args:
        context_tokens: the window to serve; 0 for a sensible one.
        secret_env: further variables that the process does not inherit.
        on_notice: hears how far the loading is.

    Attributes:
        name: of the model, for requests.
    """

    def __init__(
        self,
        file: ModelFile,
        *,
        context_tokens: int = 0,
        secret_env: Collection[str] = (),
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        self.name = file.name
        self._file = file
        self._context_tokens = context_tokens
        self._secret_env = secret_env
        self._on_notice = on_notice
        self._key = secrets.token_hex(16)
        self._log = StderrTail(Redactor((self._key,)))
        self._log_ended = anyio.Event()
        self._settled = anyio.Event()
        self._choice: EndpointChoice | None = None
        self._error: HostError | None = None
        self._parts = AsyncExitStack()
        self._child: ChildProcess
        self._answers: BufferedByteReceiveStream

    @classmethod
    def configured(
        cls, file: ModelFile, config: HostConfig, on_notice: Callable[[str], None] | None
    ) -> Self:
        """The engine for a file, with the window and the secrets that a configuration names."""
        return cls(
            file,
            context_tokens=config.agent.context_length,
            secret_env=config.secret_env,
            on_notice=on_notice,
        )

    async def __aenter__(self) -> Self:
        """Starts the engine; returns as soon as it begins to load.

        Raises:
            ConfigError: there is no engine, or the file is too large for this machine.
            EngineFailed: it ended.
        """
        async with AsyncExitStack() as parts:
            guard = ProcessGuard()
            parts.push_async_callback(guard.aclose)
            await self._start(guard)
            parts.push_async_callback(self._end)
            group = await parts.enter_async_context(Background())
            group.start_soon(self._keep_log)
            with anyio.move_on_after(START_SECONDS):
                memory = (await self._heard())["memory"]
                await self._send_wishes(memory)
                group.start_soon(self._load)
                self._parts = parts.pop_all()
                return self
            raise EngineFailed(self._file.path.name, f"did not start in {START_SECONDS:g} s")

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._parts.__aexit__(kind, error, trace)

    async def ready(self) -> EndpointChoice:
        """Waits until the model is loaded; returns where to ask it.

        Raises:
            ConfigError: the engine cannot load the file.
            EngineFailed: it ended.
        """
        await self._settled.wait()
        if self._error is not None:
            raise self._error
        assert self._choice is not None  # one of the two is set before the event
        return self._choice

    async def death(self, *, patience_seconds: float = DEATH_SECONDS) -> EngineFailed | None:
        """Why the engine is not there any more; None if it is still, after a moment's patience."""
        with anyio.move_on_after(patience_seconds):
            await self._child.wait()
            await self._log_ended.wait()
        code = self._child.exit_code
        if code is None:
            return None
        log = self._log.text()
        return EngineFailed(
            self._file.path.name, death_words(code, log), exit_code=code, detail=log
        )

    async def _start(self, guard: ProcessGuard) -> None:
        env = child_environment(os.environ, {"GGML_NO_BACKTRACE": "1"}, secret_env=self._secret_env)
        arguments = ["-P", str(PROGRAM), str(self._file.path.absolute())]
        try:
            self._child = await ChildProcess.start(
                sys.executable, arguments, env=env, cwd=None, guard=guard
            )
        except CommandProblem as problem:
            raise EngineFailed(self._file.path.name, f"did not start: {problem}") from problem
        self._answers = BufferedByteReceiveStream(self._child.stdout)

    async def _send_wishes(self, memory_bytes: int) -> None:
        plan = plan_engine(
            self._file, wanted_tokens=self._context_tokens, memory_bytes=memory_bytes
        )
        wishes = {
            "name": self.name,
            "key": self._key,
            "context": plan.context_tokens,
            "cacheMib": plan.cache_mib,
        }
        self._say(
            f"loading {self._file.path.name}, {size_words(self._file.size_bytes)}, "
            f"{plan.context_tokens:,} tokens of context"
        )
        with suppress(*_GONE):  # why it has gone is heard next
            await self._child.stdin.send(json.dumps(wishes).encode() + b"\n")

    async def _load(self) -> None:
        started = anyio.current_time()
        async with anyio.create_task_group() as group:
            group.start_soon(self._tell_progress, started)
            try:
                address = (await self._heard())["address"]
                self._choice = EndpointChoice(
                    base_url=f"{address}/v1",
                    api_key=self._key,
                    model=self.name,
                    origin=self._file.origin,
                )
            except HostError as error:
                self._error = error
            group.cancel_scope.cancel()
        if self._choice is not None:
            took = anyio.current_time() - started
            self._say(f"✓ {self._file.path.name}: loaded, {took:.1f} s")
        self._settled.set()

    async def _tell_progress(self, started: float) -> None:
        while True:
            await anyio.sleep(PROGRESS_SECONDS)
            so_far = anyio.current_time() - started
            self._say(f"· {self._file.path.name}: still loading, {so_far:.0f} s")

    async def _heard(self) -> dict[str, Any]:
        """The program's next message.

        Raises:
            ConfigError: it is a problem with the file or the installation.
            EngineFailed: there is none any more.
        """
        try:
            line = await self._answers.receive_until(b"\n", _MAX_LINE_BYTES)
        except _GONE as error:
            death = await self.death(patience_seconds=LAST_WORDS_SECONDS)
            raise death or EngineFailed(self._file.path.name, "fell silent") from error
        message: dict[str, Any] = json.loads(line)
        if problem := message.get("problem"):
            await self.death(patience_seconds=LAST_WORDS_SECONDS)  # its log is whole then
            words = problem_words(problem, message["text"], self._log.text())
            raise self._file.refused(words)
        return message

    async def _keep_log(self) -> None:
        try:
            while True:
                self._log.add(await self._child.stderr.receive())
        except _GONE:
            self._log_ended.set()

    async def _end(self) -> None:
        """Kills it: it has nothing to save, and while it loads it hears nothing else."""
        self._child.kill()
        with anyio.move_on_after(KILL_SECONDS, shield=True):
            await self._child.wait()
            for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
                with suppress(*_GONE):
                    await stream.aclose()

    def _say(self, text: str) -> None:
        """Tells whoever listens; one that raises must not end what it watches."""
        if self._on_notice is not None:
            with suppress(Exception):
                self._on_notice(text)
