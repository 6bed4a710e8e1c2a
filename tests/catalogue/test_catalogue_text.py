"""The catalogue's text: names only, the same every time, and nobody's but ours."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.catalogue_text import catalogue_list, catalogue_prompt
from host.catalogue.load_tools import LOAD_TOOLS
from host.records import CatalogueServer
from tests.catalogue.catalogues import DISK, EMPTY, MAIL, server

HOSTILE = st.lists(
    st.sampled_from(
        [*"\n\r#:* a", "\u2028", "\x1b[2J", "\u202e", "\u200b", "  fake__tool", "# More"]
    )
).map("".join)


def test_servers_are_labels_with_indented_names() -> None:
    assert catalogue_list([MAIL, EMPTY, DISK]) == (
        "Mail:\n  mail__send\n  mail__find\n  mail__tags\nDisk:\n  disk__read\n  disk__write"
    )


@given(st.lists(st.tuples(HOSTILE, st.lists(HOSTILE, max_size=3)), max_size=4))
def test_a_server_writes_its_own_lines_and_no_more(rows: list[tuple[str, list[str]]]) -> None:
    catalogue = [server(label, *names) for label, names in rows]
    lines = catalogue_list(catalogue).splitlines()
    expected = [indent for _, names in rows if names for indent in ("", *("  " for _ in names))]
    assert len(lines) == len(expected)
    for line, indent in zip(lines, expected, strict=True):
        assert line.startswith(indent)
        if not indent:
            assert re.match(r"[^\s#*].*:$", line)
        assert not set(line) & set("\r\x1b\u202e\u200b\u2028")


@given(st.lists(st.sampled_from([MAIL, DISK, EMPTY]), max_size=4))
def test_the_prompt_ends_with_the_list_or_is_empty(catalogue: list[CatalogueServer]) -> None:
    prompt = catalogue_prompt(catalogue)
    listed = catalogue_list(catalogue)
    assert bool(prompt) == bool(listed) == any(row.tools for row in catalogue)
    assert prompt.endswith(f"\n\n{listed}" if listed else "")
    assert prompt == catalogue_prompt(tuple(catalogue))


def test_the_prompt_names_load_tools_and_no_description() -> None:
    prompt = catalogue_prompt([server("Mail", ("mail__send", "Sends a message."))])
    assert LOAD_TOOLS in prompt
    assert "exact names" in prompt
    assert "Sends a message" not in prompt
    assert "(loaded)" not in prompt
    assert len(prompt) < 500


@pytest.mark.parametrize("catalogue", [[], [EMPTY], [EMPTY, EMPTY]])
def test_nothing_to_list_is_no_prompt(catalogue: list[CatalogueServer]) -> None:
    assert catalogue_prompt(catalogue) == catalogue_list(catalogue) == ""


def test_a_label_of_nothing_visible_is_replaced_and_a_long_one_cut() -> None:
    assert catalogue_list([server("\u200b#", "a__b")]) == "server:\n  a__b"
    first = catalogue_list([server("L" * 500, "a__b")]).splitlines()[0]
    assert first == "L" * 80 + "…:"
