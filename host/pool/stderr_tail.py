"""The last words of a child."""

from __future__ import annotations

from host.text.terminal_text import clean_terminal

MAX_TAIL_CHARS = 4000
_MAX_TAIL_BYTES = 4 * MAX_TAIL_CHARS


class StderrTail:
    """Keeps the end of what a child writes on stderr, however much that is."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, chunk: bytes) -> None:
        """Remember a chunk and forget what is too old."""
        self._kept += chunk
        if len(self._kept) > _MAX_TAIL_BYTES:
            del self._kept[:-_MAX_TAIL_BYTES]

    def text(self) -> str:
        """The last 4000 characters, readable: no escape codes, bad bytes replaced, trimmed."""
        readable = clean_terminal(self._kept.decode("utf-8", "replace")).strip()
        return readable[-MAX_TAIL_CHARS:].lstrip()
