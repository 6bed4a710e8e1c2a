"""The keyboard of a terminal, lent to one question at a time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.abc

from host.loop.approval import NOBODY_ASKED_TEXT
from host.loop.collaborators import Decision, PersonAsker
from host.records import ToolCallRequest

T = TypeVar("T")


class Keyboard:
    """Lends the keyboard to one question after the other, and takes it back.

    Attributes:
        is_free: False while something else reads it, such as a prompt; nobody is asked then.
    """

    def __init__(self) -> None:
        self.is_free = True
        self._turn = anyio.Lock()
        self._scope: anyio.CancelScope | None = None
        self._hears_interrupts = False

    async def ask(self, question: Callable[[], Awaitable[T]], *, interrupts: bool) -> T | None:
        """The answer; None where nobody can be asked, or the question was taken back.

        Args:
            interrupts: whether Ctrl-C takes back the question, and nothing else.
        """
        async with self._turn:
            if not self.is_free:
                return None
            with anyio.CancelScope() as scope:
                self._scope, self._hears_interrupts = scope, interrupts
                try:
                    return await _listening(question, scope if interrupts else None)
                finally:
                    self._scope = None
        return None

    def interrupt(self) -> bool:
        """Take back the open question if Ctrl-C is to do that; whether it was."""
        if self._scope is None or not self._hears_interrupts:
            return False
        self._scope.cancel()
        return True

    async def close(self) -> None:
        """Take the keyboard back for something else; returns when no question reads it."""
        self.is_free = False
        if self._scope is not None:
            self._scope.cancel()
        async with self._turn:
            pass

    def lent(self, ask_person: PersonAsker, *, interrupts: bool) -> PersonAsker:
        """The same asker, having its turn at the keyboard like everybody; no answer is a no."""

        async def ask(call: ToolCallRequest) -> Decision:
            decision = await self.ask(lambda: ask_person(call), interrupts=interrupts)
            return ("deny", NOBODY_ASKED_TEXT) if decision is None else decision

        return ask


async def _listening(question: Callable[[], Awaitable[T]], scope: anyio.CancelScope | None) -> T:
    """The answer; Ctrl-C cancels the scope where this thread is the one to hear of it."""
    if scope is None or threading.current_thread() is not threading.main_thread():
        return await question()
    before = signal.getsignal(signal.SIGINT)
    answers: list[T] = []
    try:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_cancel_on_interrupt, scope)
            answers.append(await question())
            tasks.cancel_scope.cancel()
    finally:
        signal.signal(signal.SIGINT, before)  # asyncio puts back its default, not what was there
    return answers[0]


async def _cancel_on_interrupt(
    scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    try:
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            task_status.started()
            async for _ in signals:
                scope.cancel()
    except NotImplementedError:  # asyncio on Windows: Ctrl-C ends the program there, as ever
        task_status.started()
