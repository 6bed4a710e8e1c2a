"""The last words of a child."""

from __future__ import annotations

from host.text.redaction import Redactor
from host.text.terminal_text import clean_terminal

MAX_TAIL_CHARS = 4000
MAX_SECRET_CHARS = 8000
"""A secret up to this long is never shown in part, wherever the tail begins."""
_MAX_TAIL_BYTES = 4 * (MAX_TAIL_CHARS + MAX_SECRET_CHARS)


class StderrTail:
    """Keeps the end of what a child writes on stderr, however much that is.

    Args:
        redactor: takes out the secrets that the child was given.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._kept = bytearray()
        self._is_cut = False

    def add(self, chunk: bytes) -> None:
        """Remember a chunk and forget what is too old."""
        self._kept += chunk
        if len(self._kept) > _MAX_TAIL_BYTES:
            self._is_cut = True
            del self._kept[:-_MAX_TAIL_BYTES]

    def text(self) -> str:
        """The last 4000 characters, readable: no escape codes, secrets or bad bytes, trimmed."""
        readable = clean_terminal(self._kept.decode("utf-8", "replace")).strip()
        shown = self._redactor.redact(readable)
        if self._is_cut:  # it may begin inside a secret; redacting never makes a text longer
            shown = shown[MAX_SECRET_CHARS:]
        return shown[-MAX_TAIL_CHARS:].lstrip()
