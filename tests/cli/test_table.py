"""A table keeps every cell under its heading, and every note under its row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from host.cli.table import INDENT, table_lines

RED = "\x1b[31m"
words = st.lists(
    st.sampled_from(["a", "b", " ", "é", "漢", "🙂", "\n", "\t", RED]), max_size=8
).map("".join)
rows = st.integers(1, 5).flatmap(
    lambda width: st.tuples(
        st.lists(st.text("xyz", min_size=1, max_size=5), min_size=width, max_size=width),
        st.lists(st.tuples(st.lists(words, min_size=width, max_size=width), words), max_size=4),
    )
)


def at_cell(line: str, offset: int) -> str:
    """What stands in a line from a cell on."""
    while offset > 0:
        offset -= cell_len(line[0]) if line else 1
        line = line[1:]
    return line


@given(rows)
def test_every_cell_stands_under_its_heading(
    table: tuple[list[str], list[tuple[list[str], str]]],
) -> None:
    headings, body = table
    lines = table_lines(headings, body)
    assert all(line.isprintable() or "\t" in line for line in lines)
    offsets, place = [], 0
    for number, heading in enumerate(headings):
        offsets.append(place)
        cells = [" ".join(_plain(row[number]).split()) for row, _ in body]
        place += max(map(cell_len, [heading, *cells])) + 2
    position = 1
    for row, note in body:
        for cell, offset in zip(row, offsets, strict=True):
            assert at_cell(lines[position], offset).startswith(" ".join(_plain(cell).split()))
        position += 1
        for said in _plain(note).splitlines():
            assert lines[position] == INDENT + said
            position += 1
    assert position == len(lines)


def _plain(text: str) -> str:
    return text.replace(RED, "")


def test_no_line_ends_in_blanks() -> None:
    lines = table_lines(("a", "b"), [(("1", ""), ""), (("", ""), "why")])
    assert lines == ["a  b", "1", "", "    why"]
