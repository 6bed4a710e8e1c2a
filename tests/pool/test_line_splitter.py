"""Lines come out as they went in, whatever the chunks; the limit holds and names itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.line_splitter import MAX_LINE_BYTES, LineSplitter, LineTooLong

PIECES = st.lists(
    st.sampled_from([b"", b"\n", b"a", b"{}", b"\r\n", b"\n\n", b"long line", b"\xff"])
)


@given(PIECES)
def test_lines_do_not_depend_on_how_they_were_chunked(chunks: list[bytes]) -> None:
    splitter = LineSplitter()
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    assert [*lines, b"".join(splitter.feed(b"\n"))] == (b"".join(chunks) + b"\n").split(b"\n")[:-1]


@given(PIECES, st.integers(1, 12))
def test_a_line_over_the_limit_is_refused_and_none_within_it_is(
    chunks: list[bytes], limit: int
) -> None:
    splitter = LineSplitter(limit)
    longest = max(len(line) for line in b"".join(chunks).split(b"\n"))
    try:
        for chunk in chunks:
            splitter.feed(chunk)
    except LineTooLong:
        assert longest > limit
    else:
        assert longest <= limit


def test_the_limit_leaves_room_for_real_listings() -> None:
    assert MAX_LINE_BYTES >= 16 * 1024 * 1024


@pytest.mark.parametrize(
    ("limit", "words"), [(16 * 1024 * 1024, "16 MiB"), (100, "100 bytes"), (1025, "1025 bytes")]
)
def test_the_error_names_the_limit(limit: int, words: str) -> None:
    with pytest.raises(LineTooLong, match=words):
        LineSplitter(limit).feed(b"x" * (limit + 1))
