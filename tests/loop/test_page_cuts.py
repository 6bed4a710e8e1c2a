"""Pages are all of a text, none too long, and end where a reader would end them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.page_cuts import LINE_SHARE, page_end, page_starts, tail_start_at
from host.text.truncation import cut_after

MARK = "\u0301"
TEXTS = st.lists(
    st.sampled_from(["a", "\n", "e" + MARK, "word " * 3, "x" * 20]), min_size=1, max_size=60
).map("".join)


@given(TEXTS, st.integers(1, 60), st.integers(1, 60))
def test_pages_follow_each_other_through_the_whole_text(
    text: str, first_end: int, page_chars: int
) -> None:
    starts = page_starts(text, first_end, page_chars)
    ends = [*starts[1:], len(text)]
    assert starts[0] == 0
    assert ends[0] == min(first_end, len(text))
    for start, end in list(zip(starts, ends, strict=True))[1:]:
        assert start < end <= start + page_chars


@given(TEXTS, st.integers(0, 200), st.integers(1, 60))
def test_a_page_gives_up_at_most_its_share_to_end_with_a_line(
    text: str, start: int, length: int
) -> None:
    start = min(start, len(text) - 1)
    end = page_end(text, start, start + length)
    assert start < end <= max(start + length, start + 1)
    if end == len(text) or text[end - 1] == "\n":
        return
    share = length // LINE_SHARE
    assert "\n" not in text[start + length - share : start + length]
    assert text[end] != MARK or length <= 2


@given(TEXTS, st.integers(1, 200))
def test_a_tail_begins_with_a_line_where_one_begins_near(text: str, at: int) -> None:
    at = min(at, len(text))
    begin = tail_start_at(text, at)
    assert at <= begin <= len(text)
    if begin < len(text) and text[begin - 1] != "\n":
        assert begin == cut_after(text, at)
        assert "\n" not in text[at - 1 : at + (len(text) - at) // LINE_SHARE]


@pytest.mark.parametrize(
    ("text", "at", "end"),
    [("ab\ncdefghij", 10, 10), ("abcdefgh\nijk", 10, 9), ("abc" + MARK + "d", 3, 2)],
)
def test_pages_by_example(text: str, at: int, end: int) -> None:
    assert page_end(text, 0, at) == end
