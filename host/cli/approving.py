"""Asking a person at the terminal whether a call may be made.

The answer is awaited on the event loop, not in a thread: whatever cancels the question leaves no
reader behind that would take the next line from ``chat``, or keep the program from ending.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import Thread
from typing import TypeAlias

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

from host.cli.run_view import MAX_ARGUMENTS_CHARS, shortened
from host.cli.screen import Screen
from host.config.approval_settings import ApprovalSettings
from host.loop.approval import NOBODY_ASKED_TEXT, ApprovalPolicy, declined_text, first_match
from host.loop.collaborators import Decision, PersonAsker
from host.records import ToolCallRequest
from host.text.json_text import compact_json
from host.text.terminal_text import one_line

MAX_SHOWN_CHARS = 4 * MAX_ARGUMENTS_CHARS
"""How much of a call's arguments is shown at first: what is agreed to should be seen."""

CHOICES = "y: yes · n: no · n REASON: no, and the model reads why · a: always, this tool"
SHOW_ALL = " · s: show all of it"

ReadLine: TypeAlias = Callable[[], Awaitable[str | None]]
"""Waits for a line and returns it without its end; None at the end of input."""


def terminal_approver(
    approve: ApprovalSettings | None, screen: Screen, *, may_ask: bool = True
) -> PersonAsker | None:
    """What decides for this program's life about calls that a person is to decide about.

    It asks where somebody can read the question and answer it: both stdin and stderr are a
    terminal. Elsewhere it says no, and says on stderr how to allow the tool.

    Args:
        approve: the rules that send calls here; None, and nobody is ever asked.
        may_ask: False for output that a program reads.
    """
    if approve is None:
        return None
    if may_ask and sys.stdin.isatty() and sys.stderr.isatty():
        return Person(screen, typed_line, drop_typed_ahead)
    return Nobody(approve.policy(), screen)


class Person:
    """Asks about one call after the other. "Always" holds for later calls of the same tool.

    The end of input says no, as nobody does.

    Args:
        before_question: called before each call is shown.
    """

    def __init__(
        self, screen: Screen, read_line: ReadLine, before_question: Callable[[], None]
    ) -> None:
        self._screen = screen
        self._read_line = read_line
        self._before_question = before_question
        self._always: set[str] = set()
        self._turn = anyio.Lock()

    async def __call__(self, call: ToolCallRequest) -> Decision:
        """Shows the call and returns the person's word on it."""
        async with self._turn:
            if call.name in self._always:
                return "allow"
            return await self._ask(call)

    async def _ask(self, call: ToolCallRequest) -> Decision:
        whole = one_line(compact_json(call.args))
        shown = shortened(whole, MAX_SHOWN_CHARS)
        choices = CHOICES if shown == whole else CHOICES + SHOW_ALL
        self._before_question()
        self._screen.warn(f"? {one_line(call.name)} {shown}")
        while True:
            self._screen.notice(f"  {choices}")
            typed = await self._read_line()
            if typed is None:
                return "deny", NOBODY_ASKED_TEXT
            word, _, reason = one_line(typed).partition(" ")
            match word.lower():
                case "a" | "always":
                    self._always.add(call.name)
                    return "allow"
                case "y" | "yes":
                    return "allow"
                case "n" | "no":
                    return "deny", declined_text(reason)
                case "s":
                    self._screen.warn(f"? {one_line(call.name)} {whole}")


class Nobody:
    """Says no for want of a person; on the screen once for each tool."""

    def __init__(self, policy: ApprovalPolicy, screen: Screen) -> None:
        self._policy = policy
        self._screen = screen
        self._told: set[str] = set()

    async def __call__(self, call: ToolCallRequest) -> Decision:
        """Refuses the call."""
        if call.name not in self._told:
            self._told.add(call.name)
            self._screen.fail(refusal_line(self._policy, call.name))
        return "deny", NOBODY_ASKED_TEXT


def refusal_line(policy: ApprovalPolicy, name: str) -> str:
    """Why a call was refused without a person, and how to allow the tool: one line."""
    shown = one_line(name)
    asked_by = [f'"{one}"' for one in policy.ask if first_match([one], name)]
    moved = f"take {' and '.join(asked_by)} out of agent.approve.ask and " if asked_by else ""
    return (
        f"✗ {shown}: not called, since it needs a yes and nobody can be asked here; "
        f'to allow it always, {moved}put "{shown}" into agent.approve.allow'
    )


def drop_typed_ahead() -> None:
    """Forgets what was typed on stdin's terminal and not read yet.

    It was meant for something else, and must not agree to a call.
    """
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        import termios

        with suppress(termios.error):  # a terminal that has gone
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def typed_line() -> str | None:
    """Waits for a line typed on stdin's terminal; None for the end of input."""
    if sys.platform == "win32":
        return await line_from_thread(sys.stdin.readline)
    keyboard, typed = sys.stdin.fileno(), b""
    with suppress(OSError):  # a terminal that has gone types nothing more
        while not typed.endswith((b"\n", b"\r")):
            await anyio.wait_readable(keyboard)
            piece = os.read(keyboard, 4096)
            if not piece:
                return None
            typed += piece
        return typed.decode(sys.stdin.encoding, "replace").splitlines()[0]
    return None


async def line_from_thread(read: Callable[[], str]) -> str | None:
    """As above where the loop cannot wait for a terminal: on Windows.

    Cancelled, it leaves its thread waiting for one more line, unless Ctrl-C ended that too; the
    program ends all the same.
    """
    token, done = current_token(), anyio.Event()
    lines: list[str] = []

    def wait() -> None:
        with suppress(OSError, ValueError, RuntimeError):  # stdin or the loop has been closed
            lines.append(read())
        with suppress(RuntimeError):
            from_thread.run_sync(done.set, token=token)

    Thread(target=wait, daemon=True).start()
    await done.wait()
    line = "".join(lines)
    return line.rstrip("\r\n") if line else None
