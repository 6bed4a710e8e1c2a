"""Answering on the terminal what a server wants to know of a person."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from anyio import to_thread

from host.cli.approving import ReadLine, drop_typed_ahead, terminal_approver, typed_line
from host.cli.form_answers import NO, YES, answer_lines, field_lines, typed_value
from host.cli.keyboard import Keyboard
from host.cli.run_view import shortened
from host.cli.screen import Screen
from host.config.approval_settings import ApprovalSettings
from host.loop.collaborators import PersonAsker
from host.pool.elicitation import (
    CANCEL,
    DECLINE,
    ElicitationAnswer,
    ElicitationMode,
    ElicitationRequest,
    FormElicitation,
    OnElicit,
    UrlElicitation,
)
from host.pool.form_fields import FormField, FormValue
from host.text.terminal_text import one_line

MODES: tuple[ElicitationMode, ...] = ("form", "url")
MAX_REASON_CHARS = 100
MIN_COLUMNS = 20

NEVER_SECRETS = "never type a password, key or card number here: the server reads what you answer"
FORM_KEYS = "/no: answer nothing · Ctrl-C: cancel"
SEND_KEYS = "y: send this · e: fill it in again · n: answer nothing"
OPEN_KEYS = "y: open it in your browser · o: I open it myself · n: no"
SELF_KEYS = "o: I open it myself · n: no"
DONE_KEYS = "y: it is done there · n: it is not"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Whoever sits at the terminal, asked for one thing at a time.

    Attributes:
        on_elicit: asks them what a server wants to know.
        ask_person: asks them about calls that a run is to make.
        ask_for_server: asks them about what a server wants of the model.
        keyboard: what all of these share.
    """

    keyboard: Keyboard
    on_elicit: OnElicit
    ask_person: PersonAsker
    ask_for_server: PersonAsker

    def for_servers(self) -> dict[str, Any]:
        """What ``open_host`` takes of it."""
        return {
            "on_elicit": self.on_elicit,
            "elicitation_modes": MODES,
            "ask_person": self.ask_for_server,
        }


def person_at_terminal(
    approve: ApprovalSettings | None, screen: Screen, *, may_ask: bool = True
) -> Person:
    """Who answers for the length of this program's life.

    Where nobody can read a question and answer it (both stdin and stderr must be a terminal) every
    one is declined, and stderr says so.

    Args:
        may_ask: False for output that a program reads.
    """
    keyboard = Keyboard()
    # Rules that an edit of the servers file brings may want to ask, too.
    approver = terminal_approver(approve or ApprovalSettings(), screen, may_ask=may_ask)
    assert approver is not None  # there are rules
    return Person(
        keyboard=keyboard,
        on_elicit=terminal_elicitor(keyboard, screen, may_ask=may_ask),
        ask_person=keyboard.lent(approver, interrupts=False),
        ask_for_server=keyboard.lent(approver, interrupts=True),
    )


def terminal_elicitor(keyboard: Keyboard, screen: Screen, *, may_ask: bool = True) -> OnElicit:
    """What answers servers' questions: a person at the terminal, or a no for want of one."""
    if may_ask and sys.stdin.isatty() and sys.stderr.isatty():
        return Questions(keyboard, screen, typed_line, drop_typed_ahead, open_browser())
    return Unattended(screen)


class Unattended:
    """Declines for want of a person; on the screen once for each server."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._told: set[str] = set()

    async def __call__(self, server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
        """Declines."""
        if server_id not in self._told:
            self._told.add(server_id)
            wanted = shortened(request.message, MAX_REASON_CHARS)
            self._screen.fail(
                f'✗ {one_line(server_id)} asks "{wanted}": declined, since nobody can be asked '
                "here; run it in a terminal to answer"
            )
        return DECLINE


class Questions:
    """Puts servers' questions to the person at the terminal.

    Args:
        before_question: called before each question is shown.
        open_page: opens an address in a browser with a window of its own and returns whether it
            did; None where there is none.
    """

    def __init__(
        self,
        keyboard: Keyboard,
        screen: Screen,
        read_line: ReadLine,
        before_question: Callable[[], None],
        open_page: Callable[[str], bool] | None,
    ) -> None:
        self._keyboard = keyboard
        self._screen = screen
        self._read_line = read_line
        self._before_question = before_question
        self._open_page = open_page

    async def __call__(self, server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
        """The person's answer; Ctrl-C and the end of input cancel."""
        question = partial(self._asked, one_line(server_id), request)
        answer = await self._keyboard.ask(question, interrupts=True)
        if answer is None:
            self._screen.warn(f"✗ the question of {one_line(server_id)} was cancelled")
            return CANCEL
        return answer

    async def _asked(self, server: str, request: ElicitationRequest) -> ElicitationAnswer | None:
        self._before_question()
        try:
            if isinstance(request, FormElicitation):
                return ElicitationAnswer(action="accept", content=await self._form(server, request))
            await self._page(server, request)
        except _DeclinedError:
            return DECLINE
        except EOFError:
            return None
        return ElicitationAnswer(action="accept")

    async def _form(self, server: str, request: FormElicitation) -> dict[str, FormValue]:
        self._screen.warn(f"? server {server} asks you:")
        self._quote(request.message)
        self._screen.notice(f"  {NEVER_SECRETS}")
        if request.fields:
            self._screen.notice(f"  {FORM_KEYS}")
        while True:
            content = await self._filled_in(request.fields)
            for line in answer_lines(request.fields, content):
                self._show(line)
            if await self._key("yen", f"to {server}: {SEND_KEYS}") == "y":
                return content

    async def _filled_in(self, fields: tuple[FormField, ...]) -> dict[str, FormValue]:
        content: dict[str, FormValue] = {}
        for number, field in enumerate(fields, start=1):
            for line in field_lines(field, number, len(fields)):
                self._show(line)
            value = await self._value(field)
            if value is not None:
                content[field.name] = value
        return content

    async def _value(self, field: FormField) -> FormValue | None:
        while True:
            typed = await self._typed()
            if typed.strip() == "/no":
                raise _DeclinedError
            try:
                return typed_value(field, typed)
            except ValueError as error:
                self._show(f"      {error}")

    async def _page(self, server: str, request: UrlElicitation) -> None:
        self._screen.warn(f"? server {server} wants you to open a page in your browser:")
        self._quote(request.message)
        self._screen.warn(f"  whose page  {request.host}")
        self._screen.warn(f"  address     {request.url}")
        open_page = self._open_page
        keys, shown = ("on", SELF_KEYS) if open_page is None else ("yon", OPEN_KEYS)
        pressed = await self._key(keys, shown)
        if pressed == "y" and open_page is not None:
            opened = await to_thread.run_sync(open_page, request.url, abandon_on_cancel=True)
            if not opened:
                self._screen.warn("  no browser could be opened; open the address yourself")
        if request.is_needed:
            await self._key("yn", DONE_KEYS)

    async def _key(self, keys: str, shown: str) -> str:
        """One of the keys; whole words for yes and no will do, too. ``n`` is never returned."""
        while True:
            self._screen.notice(f"  {shown}")
            typed = one_line(await self._typed()).lower()
            pressed = "y" if typed in YES else "n" if typed in NO else typed
            if pressed == "n":
                raise _DeclinedError
            if len(pressed) == 1 and pressed in keys:
                return pressed

    async def _typed(self) -> str:
        typed = await self._read_line()
        if typed is None:
            raise EOFError
        return typed

    def _quote(self, message: str) -> None:
        """Shows a stranger's words so that none of their lines looks like one of ours."""
        for line in message.splitlines():
            self._show(line, "  | ")

    def _show(self, line: str, begin: str = "") -> None:
        """Shows a line that may hold a stranger's words; what goes on below it is set in."""
        width = max(MIN_COLUMNS, shutil.get_terminal_size().columns - 1)
        rest = begin or "        "
        for part in textwrap.wrap(line, width, initial_indent=begin, subsequent_indent=rest):
            self._screen.warn(part)


class _DeclinedError(Exception):
    """The person says no."""


def open_browser() -> Callable[[str], bool] | None:
    """What opens an address in a browser; None where that would take the terminal itself."""
    has_windows = sys.platform in ("win32", "darwin")
    if has_windows or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return webbrowser.open
    return None
