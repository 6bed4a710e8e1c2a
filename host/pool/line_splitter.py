"""Lines out of chunks, in time linear in their length."""

from __future__ import annotations

MAX_LINE_BYTES = 64 * 1024 * 1024
"""The longest line a server may send; real listings reach 2 MB (fleet: ms-365)."""


class LineTooLong(Exception):
    """A line passed its limit before it ended.

    Attributes:
        max_line_bytes: the limit.
    """

    def __init__(self, max_line_bytes: int) -> None:
        self.max_line_bytes = max_line_bytes
        super().__init__(f"a line is longer than the limit of {_size(max_line_bytes)}")


class LineSplitter:
    """Collects chunks and hands out the lines they complete.

    The unfinished line is kept in pieces and joined once, so that a line of n bytes costs n steps
    however many chunks it arrives in.
    """

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines this chunk completes, without their newlines, blank ones included.

        Raises:
            LineTooLong: a line, complete or not, is longer than the limit.
        """
        *ended, rest = chunk.split(b"\n")
        lines: list[bytes] = []
        for piece in ended:
            self._check(len(piece))
            lines.append(b"".join([*self._pieces, piece]) if self._pieces else piece)
            self._pieces, self._size = [], 0
        if rest:
            self._check(len(rest))
            self._pieces.append(rest)
            self._size += len(rest)
        return lines

    def _check(self, more: int) -> None:
        if self._size + more > self._max_line_bytes:
            raise LineTooLong(self._max_line_bytes)


def _size(count: int) -> str:
    mebibytes, odd = divmod(count, 1024 * 1024)
    return f"{count} bytes" if odd or not mebibytes else f"{mebibytes} MiB"
