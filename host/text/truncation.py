"""Cutting text that is too long, and saying so. Lengths are code points."""

from __future__ import annotations

import unicodedata

_ZERO_WIDTH_JOINER = "\u200d"
_SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
_MAX_SEQUENCE_CHARS = 16
"""How far a cut moves to keep a base character and its marks together."""


def truncate_text(text: str, max_chars: int | None) -> str:
    """The text, or its head and tail around a line that says how much is left.

    Two thirds of what is kept stand before the marker, the rest behind it; the marker counts
    towards the limit. A limit with no room beside the marker gives a plain prefix. The two cuts
    do not part a character from its combining marks (pool spec §10, design §8).

    Args:
        max_chars: the limit; None or anything below 1 for none.
    """
    if max_chars is None or max_chars <= 0 or len(text) <= max_chars:
        return text
    kept = max_chars - len(_marker(len(text), len(text)))
    if kept <= 0:
        return text[:max_chars]
    tail_chars = kept // 3
    head = text[: cut_before(text, kept - tail_chars)]
    tail = text[cut_after(text, len(text) - tail_chars) :]
    return f"{head}{_marker(len(head) + len(tail), len(text))}{tail}"


def preview(text: str, limit: int = 2000) -> str:
    """The text, or its first ``limit`` characters, an ellipsis and its full length.

    For events only; what the model reads is cut by ``truncate_text`` (agent core §18).
    """
    if len(text) <= limit:
        return text
    return f"{text[: max(0, limit)]}… ({len(text)} chars)"


def _marker(kept_chars: int, all_chars: int) -> str:
    return f"\n[truncated: kept {kept_chars} of {all_chars} chars]\n"


def cut_before(text: str, at: int) -> int:
    """``at``, or a little less where it would part a character from its marks."""
    for cut in range(at, max(0, at - _MAX_SEQUENCE_CHARS), -1):
        if not _continues(text, cut):
            return cut
    return at


def cut_after(text: str, at: int) -> int:
    """``at``, or a little more where it would part a character from its marks."""
    for cut in range(at, min(len(text), at + _MAX_SEQUENCE_CHARS)):
        if not _continues(text, cut):
            return cut
    return at


def _continues(text: str, at: int) -> bool:
    """Whether the character at ``at`` belongs to the one before it."""
    if not 0 < at < len(text):
        return False
    char = text[at]
    return (
        unicodedata.category(char).startswith("M")
        or char in _SKIN_TONES
        or _ZERO_WIDTH_JOINER in (char, text[at - 1])
    )
