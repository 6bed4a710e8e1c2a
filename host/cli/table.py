"""A table in plain text: aligned cells, and under a row what does not fit into a cell."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from host.text.terminal_text import clean_terminal, one_line

GAP = "  "
INDENT = "    "


def table_lines(columns: Sequence[str], rows: Sequence[tuple[Sequence[str], str]]) -> list[str]:
    """The lines of a table: headings, then each row with its note, indented, below it.

    Args:
        columns: the headings.
        rows: a cell for each column, and a note of any number of lines ("" for none).
    """
    cells = [list(columns)] + [[one_line(cell) for cell in row] for row, _ in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    heading, *bodies = [_aligned(row, widths) for row in cells]
    lines = [heading]
    for body, (_, note) in zip(bodies, rows, strict=True):
        lines.append(body)
        lines += [f"{INDENT}{line}" for line in clean_terminal(note).splitlines()]
    return lines


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)
    ]
    return GAP.join(padded).rstrip()
