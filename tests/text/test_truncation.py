"""Cut text says that it is cut, and by how much."""

from __future__ import annotations

import math
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.truncation import preview, truncate_text

MARKER = re.compile(r"\n\[truncated: kept (\d+) of (\d+) chars\]\n")
MARKED = st.lists(
    st.sampled_from(["a", "e\u0301", "\u0301", "👩\u200d🚀", "👍🏽", "\n", "漢"])
).map("".join)


@given(st.integers(0, 400).map(lambda length: ("abcdefghij" * 40)[:length]), st.integers(-3, 450))
def test_the_cut_follows_the_arithmetic_of_the_specification(text: str, max_chars: int) -> None:
    cut = truncate_text(text, max_chars)
    if max_chars <= 0 or len(text) <= max_chars:
        assert cut == text
        return
    room = max_chars - len(f"\n[truncated: kept {len(text)} of {len(text)} chars]\n")
    if room <= 0:
        assert cut == text[:max_chars]
        return
    head = math.ceil(room * 2 / 3)
    tail = text[len(text) - (room - head) :]
    marker = f"\n[truncated: kept {room} of {len(text)} chars]\n"
    assert cut == text[:head] + marker + tail


@given(MARKED, st.integers(1, 80))
def test_no_cut_parts_a_character_from_its_marks_or_breaks_the_limit(text: str, limit: int) -> None:
    text = "a" * 30 + text + "b" * 30
    cut = truncate_text(text, limit)
    assert len(cut) <= max(limit, 0) or cut == text
    found = MARKER.search(cut)
    if found and cut != text:
        head, tail = cut[: found.start()], cut[found.end() :]
        assert text.startswith(head)
        assert text.endswith(tail)
        assert found.groups() == (str(len(head) + len(tail)), str(len(text)))


@pytest.mark.parametrize("sequence", ["e\u0301", "👩\u200d🚀", "👍🏽", "ก\u0e49", "❤\ufe0f"])
def test_a_sequence_on_the_cut_goes_whole(sequence: str) -> None:
    text = sequence * 100
    for limit in range(45, 70):
        found = MARKER.search(truncate_text(text, limit))
        assert found
        head, tail = text[: found.start()], truncate_text(text, limit)[found.end() :]
        assert head == sequence * (len(head) // len(sequence))
        assert tail == sequence * (len(tail) // len(sequence))


def test_endless_marks_cannot_move_the_cut_far() -> None:
    text = "a" + "\u0301" * 500
    assert unicodedata.combining(text[1])
    assert "kept 64 of 501 chars" in truncate_text(text, 100)


@pytest.mark.parametrize("limit", [None, 0, -5, 10, 11])
def test_text_within_the_limit_or_without_one_is_whole(limit: int | None) -> None:
    assert truncate_text("0123456789", limit) == "0123456789"


def test_a_limit_equal_to_the_marker_is_a_plain_prefix() -> None:
    text = "x" * 100
    marker = len("\n[truncated: kept 100 of 100 chars]\n")
    assert truncate_text(text, marker) == "x" * marker
    assert truncate_text(text, marker + 1) == "x\n[truncated: kept 1 of 100 chars]\n"


@given(st.text(alphabet="ab\n…", max_size=60), st.integers(0, 60))
def test_a_preview_keeps_the_beginning_and_tells_the_whole_length(text: str, limit: int) -> None:
    shown = preview(text, limit)
    if len(text) <= limit:
        assert shown == text
    else:
        assert shown == f"{text[:limit]}… ({len(text)} chars)"


def test_a_preview_holds_two_thousand_characters() -> None:
    assert preview("x" * 2000) == "x" * 2000
    assert preview("x" * 2001) == "x" * 2000 + "… (2001 chars)"
