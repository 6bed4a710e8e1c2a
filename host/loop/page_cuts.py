"""Where a long text is cut: between lines where one ends near, and never within a character."""

from __future__ import annotations

from host.text.truncation import cut_after, cut_before

LINE_SHARE = 5
"""One part in how many of a stretch may go to end it with its line."""


def page_starts(text: str, first_end: int, page_chars: int) -> tuple[int, ...]:
    """Where each page of the text begins; the first ends at ``first_end``."""
    starts, end = [0], first_end
    while end < len(text):
        starts.append(end)
        end = page_end(text, end, end + page_chars)
    return tuple(starts)


def page_end(text: str, start: int, at: int) -> int:
    """``at``, or less where a line or a character with its marks would be parted."""
    if at >= len(text):
        return len(text)
    line_end = text.rfind("\n", at - (at - start) // LINE_SHARE, at) + 1
    cut = line_end or cut_before(text, at)
    return cut if cut > start else at


def tail_start_at(text: str, at: int) -> int:
    """``at``, or more where a line or a character with its marks would be parted."""
    line_start = text.find("\n", at - 1, at + (len(text) - at) // LINE_SHARE) + 1
    return line_start or cut_after(text, at)
