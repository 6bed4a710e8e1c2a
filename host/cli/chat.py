"""``agent-host chat``: questions in turns. Ctrl-C stops the turn and not the program."""

from __future__ import annotations

import argparse
import signal
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager, suppress
from functools import partial

from anyio.from_thread import BlockingPortal, start_blocking_portal

from host.assembly import Host, open_host
from host.cli.approving import terminal_approver
from host.cli.ask import report_end, start_together
from host.cli.opening import endpoint_flags
from host.cli.run_view import RunView
from host.cli.screen import Screen
from host.config import HostConfig, resolve_model
from host.errors import HostError, failed_run
from host.loop import PersonAsker, RunControl
from host.records import Run

PROMPT = "you> "
TICK_SECONDS = 0.2
"""How often the waiting main thread looks up: a thread that waits for ever hears no Ctrl-C."""


def chat(config: HostConfig, arguments: argparse.Namespace) -> int:
    """Talks until end of input. The fleet lives on a loop of its own, the keyboard here."""
    screen = Screen()
    ask_person = terminal_approver(config.agent.approve, screen)
    with start_blocking_portal() as portal:
        endpoint = portal.call(
            lambda: resolve_model(config, endpoint_flags(arguments), on_notice=screen.notice)
        )
        opened = portal.wrap_async_context_manager(
            open_host(config, RunView(screen), endpoint=endpoint, on_notice=screen.notice)
        )
        with opened as host:
            portal.call(start_together, host, config, screen)
            conversation = _Conversation(host, portal, screen, ask_person)
            conversation.talk()
            conversation.end()
    return 0


class _Conversation:
    """The history of one chat, and the turn under way."""

    def __init__(
        self, host: Host, portal: BlockingPortal, screen: Screen, ask_person: PersonAsker | None
    ) -> None:
        self._host = host
        self._portal = portal
        self._screen = screen
        self._ask_person = ask_person
        self._session_id = str(uuid.uuid4())
        self._last: Run | None = None
        self._status, self._reply = "", ""

    def talk(self) -> None:
        """Reads questions until end of input; an interrupt at the prompt clears the line."""
        is_typed = sys.stdin.isatty()
        if is_typed:
            with suppress(ImportError):
                import readline  # noqa: F401  # makes input() a line editor that remembers
            self._screen.notice("Ctrl-C stops a turn, Ctrl-D ends the chat")
        while True:
            try:
                if question := input(PROMPT if is_typed else "").strip():
                    self._turn(question)
            except KeyboardInterrupt:
                self._screen.write("")
            except EOFError:
                self._screen.write("")
                return

    def end(self) -> None:
        """Tells the hooks that the conversation is over, if there was one."""
        if self._status:
            ended = partial(self._host.end_session, status=self._status, reply=self._reply)
            self._portal.call(ended, self._session_id)

    def _turn(self, question: str) -> None:
        control = RunControl()
        stop = partial(self._portal.start_task_soon, control.stop, "Ctrl-C")
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
        return await self._host.ask(
            question,
            after=self._last,
            session_id=self._session_id,
            control=control,
            ask_person=self._ask_person,
        )


@contextmanager
def on_interrupt(act: Callable[[], object]) -> Iterator[None]:
    """For the length of a block of the main thread, Ctrl-C does this and raises nothing."""
    before = signal.signal(signal.SIGINT, lambda _number, _frame: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _outcome(turn: Future[Run]) -> Run:
    while True:
        try:
            return turn.result(timeout=TICK_SECONDS)
        except NotYet:
            if turn.done():
                raise
