"""A server's own log lines, made fit to be told: clean, without secrets, and not too many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from host.pool.rate_limit import RateLimit
from host.text.json_text import compact_json
from host.text.redaction import Redactor
from host.text.terminal_text import clean_terminal, one_line
from host.text.truncation import preview

MAX_LINES = 100
STRETCH_SECONDS = 10.0
"""A server may write ``MAX_LINES`` in each stretch; the rest is counted."""
MAX_LINE_CHARS = 4000
MAX_LOGGER_CHARS = 100


class TellLine(Protocol):
    """Hears one line."""

    def __call__(self, *, level: str, text: str, logger: str | None) -> None: ...


class ServerLog:
    """The log lines of one connection; of a flood some are told, and how many were not.

    Args:
        tell: hears each line that is let through.
        on_notice: level and text; hears once after each flood how large it was.
        redactor: takes secrets out of what is said.
        clock: seconds.
    """

    def __init__(
        self,
        tell: TellLine,
        on_notice: Callable[[str, str], None],
        redactor: Redactor,
        clock: Callable[[], float],
    ) -> None:
        self._tell = tell
        self._on_notice = on_notice
        self._redactor = redactor
        self._clock = clock
        self._limit = RateLimit(MAX_LINES, STRETCH_SECONDS)

    def hear(self, level: str, said: Any, logger: str | None) -> None:
        """Take one line, or whatever JSON the server sent in its place."""
        if not self._limit.admits(self._clock()):
            return
        self.end()
        redact = self._redactor.redact
        # Secrets go before anything is cut or written as JSON: half of one, or one that is escaped
        # again, would not be found afterwards.
        said = self._redactor.redact_values(said)
        text = said if isinstance(said, str) else _as_json(said)
        text = preview(redact(clean_terminal(text)), MAX_LINE_CHARS)
        part = preview(redact(one_line(logger or "")), MAX_LOGGER_CHARS)
        self._tell(level=level, text=text, logger=part or None)

    def end(self) -> None:
        """Tell how many lines were left out, if any were."""
        if count := self._limit.take_left_out():
            limit = f"more than {MAX_LINES} in {STRETCH_SECONDS:g} s"
            self._on_notice("warning", f"{count:,} of its log lines left out: {limit}")


def _as_json(said: Any) -> str:
    try:
        return compact_json(said)
    except (TypeError, ValueError):  # what JSON cannot say came out of a parser that is laxer
        return str(said)
