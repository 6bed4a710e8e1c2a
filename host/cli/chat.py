"""``agent-host chat``: questions in turns. Ctrl-C stops the turn and not the program."""

from __future__ import annotations

import argparse
import signal
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from host.assembly import Host, open_host
from host.cli.ask import report_end, start_together
from host.cli.chat_commands import ChatCommands
from host.cli.eliciting import Person, person_at_terminal
from host.cli.opening import endpoint_flags, saved_listings
from host.cli.run_view import RunView
from host.cli.screen import Screen
from host.cli.slash_lines import CommandRefused, is_command
from host.config import HostConfig, is_watchable, resolve_model
from host.errors import HostError, PoolError, failed_run
from host.loop import RunControl
from host.records import Message, Run

PROMPT = "you> "
TICK_SECONDS = 0.2
"""How often the waiting main thread looks up: a thread that waits for ever hears no Ctrl-C."""

T = TypeVar("T")


def chat(config: HostConfig, arguments: argparse.Namespace) -> int:
    """Talks until end of input. The fleet lives on a loop of its own, the keyboard here."""
    screen = Screen()
    person = person_at_terminal(config.agent.approve, screen)
    with start_blocking_portal() as portal:
        endpoint = portal.call(
            lambda: resolve_model(config, endpoint_flags(arguments), on_notice=screen.notice)
        )
        opened = portal.wrap_async_context_manager(
            open_host(
                config,
                RunView(screen),
                endpoint=endpoint,
                on_notice=screen.notice,
                watch=is_watchable(config.source),
                **person.for_servers(),
                **saved_listings(arguments),
            )
        )
        with opened as host:
            portal.call(start_together, host, config, screen)
            conversation = _Conversation(host, portal, screen, person)
            conversation.talk()
            conversation.end()
    return 0


class _Conversation:
    """The history of one chat, and the turn under way."""

    def __init__(self, host: Host, portal: BlockingPortal, screen: Screen, person: Person) -> None:
        self._host = host
        self._portal = portal
        self._screen = screen
        self._person = person
        self._session_id = str(uuid.uuid4())
        self._last: Run | None = None
        self._opening: list[Message] = []
        self._status, self._reply = "", ""

    def talk(self) -> None:
        """Reads questions until end of input; an interrupt at the prompt clears the line."""
        is_typed = sys.stdin.isatty()
        if is_typed:
            with suppress(ImportError):
                import readline  # noqa: F401  # makes input() a line editor that remembers
            self._screen.notice("Ctrl-C stops a turn, Ctrl-D ends the chat, /help says more")
        read = self._typed if is_typed else None
        commands = ChatCommands(self._host.pool, self._screen, self._wait, read)
        while True:
            try:
                if line := self._typed(PROMPT if is_typed else "").strip():
                    self._hear(line, commands)
            except KeyboardInterrupt:
                self._screen.write("")
            except EOFError:
                self._screen.write("")
                return

    def _typed(self, prompt: str) -> str:
        """A line of the keyboard, which servers' questions do not get meanwhile."""
        self._portal.call(self._person.keyboard.close)
        try:
            return input(prompt)
        finally:
            self._person.keyboard.is_free = True

    async def _give_up(self, act: Callable[[], object]) -> None:
        """Ctrl-C: takes back the question that a server has put, or else does this."""
        if not self._person.keyboard.interrupt():
            act()

    def end(self) -> None:
        """Tells the hooks that the conversation is over, if there was one."""
        if self._status:
            ended = partial(self._host.end_session, status=self._status, reply=self._reply)
            self._portal.call(ended, self._session_id)

    def _hear(self, line: str, commands: ChatCommands) -> None:
        """Asks what was typed, or carries it out."""
        if not is_command(line):
            self._turn(line)
            return
        try:
            said = commands.run(line)
        except (CommandRefused, PoolError) as error:
            self._screen.fail(str(error))
            return
        if said and said[-1]["role"] == "user":
            self._opening += said[:-1]
            self._turn(str(said[-1]["content"]))
        elif said:
            self._opening += said
            self._screen.notice("what you say next follows on this")

    def _wait(self, act: Callable[[], Awaitable[T]]) -> T:
        """What the fleet's loop makes of it; Ctrl-C gives it up, as it does a typed line."""
        doing = self._portal.start_task_soon(act)
        with on_interrupt(partial(self._portal.start_task_soon, self._give_up, doing.cancel)):
            try:
                return _outcome(doing)
            except CancelledError:
                raise KeyboardInterrupt from None

    def _turn(self, question: str) -> None:
        control = RunControl()
        stop = partial(self._portal.start_task_soon, self._give_up, partial(control.stop, "Ctrl-C"))
        try:
            with on_interrupt(stop):
                run = _outcome(self._portal.start_task_soon(self._ask, question, control))
        except HostError as error:
            self._screen.end_line()
            self._screen.fail(str(error))
            # What the failed turn had done stays part of the conversation.
            self._status, so_far = "error", failed_run(error)
            self._last = so_far or self._last
            return
        self._screen.end_line()
        self._last, self._reply = run, run.answer
        self._status = "ok" if run.stop_reason == "completed" else "stopped"
        if not control.stopped:  # whoever pressed Ctrl-C knows
            report_end(run, self._screen)

    async def _ask(self, question: str, control: RunControl) -> Run:
        opening, self._opening = self._opening, []
        return await self._host.ask(
            question,
            after=self._last,
            preceding=opening,
            session_id=self._session_id,
            control=control,
            ask_person=self._person.ask_person,
        )


@contextmanager
def on_interrupt(act: Callable[[], object]) -> Iterator[None]:
    """For the length of a block of the main thread, Ctrl-C does this and raises nothing."""
    before = signal.signal(signal.SIGINT, lambda _number, _frame: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _outcome(doing: Future[T]) -> T:
    while True:
        try:
            return doing.result(timeout=TICK_SECONDS)
        except NotYet:
            if doing.done():
                raise
