"""What a person sees: the answer on stdout, everything about it dimmed on stderr."""

from __future__ import annotations

import json
import sys
from typing import TextIO

from rich.console import Console
from rich.text import Text

from host.text.terminal_text import clean_terminal, printable_json


class _Console(Console):
    """Leaves it to the command what happens when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console(stream: TextIO) -> _Console:
    return _Console(file=stream, highlight=False, markup=False, emoji=False)


class Screen:
    """Two consoles that never interpret markup, and text that never carries escape sequences.

    With ``all_to_stdout`` (the demo) everything is one story on stdout.
    """

    def __init__(self, *, quiet: bool = False, all_to_stdout: bool = False) -> None:
        self._quiet = quiet
        self._out = _console(sys.stdout)
        self._err = self._out if all_to_stdout else _console(sys.stderr)
        self._mid_line = False

    def stream(self, text: str) -> None:
        """Writes a piece of an answer as it comes."""
        text = clean_terminal(text)
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
            self._mid_line = not text.endswith("\n")

    def end_line(self) -> None:
        """Ends a streamed line, if one is open."""
        if self._mid_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._mid_line = False

    def write(self, text: str, *, style: str = "") -> None:
        """Writes whole lines to stdout."""
        self.end_line()
        self._out.print(Text(clean_terminal(text), style=style), soft_wrap=True)

    def notice(self, text: str, *, style: str = "dim") -> None:
        """Writes a line about the work, unless only the answer was asked for."""
        if not self._quiet:
            self.end_line()
            self._err.print(Text(clean_terminal(text), style=style), soft_wrap=True)

    def warn(self, text: str) -> None:
        """Writes a line that matters to the answer."""
        self.notice(text, style="yellow")

    def fail(self, text: str) -> None:
        """Writes a line that says why there is no answer, whatever was asked for."""
        self.end_line()
        self._err.print(Text(clean_terminal(text), style="red"), soft_wrap=True)

    def clear(self) -> None:
        """Empties the screen, where it is one."""
        if self._out.is_terminal:
            self._out.clear()


def json_text(value: object, *, indent: int | None = None) -> str:
    """JSON as it is printed: what a terminal would act on stands in it as an escape."""
    return printable_json(json.dumps(value, ensure_ascii=False, indent=indent))


def duration(seconds: float) -> str:
    """A duration as a person would say it: ``12 ms``, ``3.4 s``, ``2 min 5 s``, ``1 h 2 min``.

    Rounded to what is shown; a clock that was set back counts as no time.
    """
    milliseconds = round(max(0.0, seconds) * 1000)
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    tenths = round(milliseconds / 100)
    if tenths < 600:
        return f"{tenths / 10} s"
    minutes, rest = divmod(round(milliseconds / 1000), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def counted(number: int, noun: str) -> str:
    """``1 tool``, ``12 tools``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
