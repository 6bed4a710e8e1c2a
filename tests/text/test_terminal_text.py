"""Nothing that a terminal would act on is left, and nothing else goes."""

from __future__ import annotations

import json
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.terminal_text import clean_terminal, one_line, printable_json

PLAIN = st.sampled_from([*"am \n\té", "[31m", "]0;", "漢字", "👩\u200d🚀", "سلام"])
STRINGS = ["\x1b]0;t\x07", "\x1b]8;;https://a.example/\x1b\\", "\x1bPq#0~~\x1b\\", "\x9dtitle\x9c"]
SHORT = ["\x1b[31m", "\x1b[0;1;38:5:2m", "\x1b[2J", "\x1b[?25l", "\x9b1A", "\x1b(B", "\x1bc"]
CONTROLS = [*"\r\b\x00\x7f\x85\x07\x0b\x0c"]
UNSEEN = [*"\u202e\u2066\u200b\ufeff\u200e\u00ad\U000e0041"]
GONE = st.sampled_from([*STRINGS, *SHORT, *CONTROLS, *UNSEEN])
OPENINGS = st.sampled_from(["\x1b", "\x1b[", "\x1b]", "\x9b", "\x9d", "\u200d", "\\"])
RAW = st.lists(st.one_of(PLAIN, GONE, OPENINGS)).map("".join)


@given(st.lists(st.one_of(PLAIN.map(lambda text: (text, text)), GONE.map(lambda text: (text, "")))))
def test_sequences_go_and_everything_else_stays(pieces: list[tuple[str, str]]) -> None:
    raw = "".join(raw for raw, _ in pieces)
    assert clean_terminal(raw) == "".join(kept for _, kept in pieces)


@given(RAW)
def test_nothing_active_is_left_and_cleaning_twice_changes_nothing(text: str) -> None:
    clean = clean_terminal(text)
    assert clean_terminal(clean) == clean
    assert not [char for char in clean if unicodedata.category(char) == "Cc" and char not in "\n\t"]
    assert not set(clean) & set(UNSEEN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[1;31merror\x1b[0m: no\n", "error: no\n"),
        ("\x1b]8;;https://a.example\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;unfinished and what follows", "0;unfinished and what follows"),
        ("\x1b]0;one line\nnext\x07", "0;one line\nnext"),
        ("\x1b[12", ""),
        ("\x1b\x1b[31mx", "x"),
        ("\x1b\u200b[31m", "[31m"),
        ("one\r\ntwo", "one\ntwo"),
        ("pay\u200dpal \u200cx", "paypal x"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("é\u200d\u200d\x07a", "éa"),
        ("é\u200d\u200c\u200dé", "é\u200dé"),
        ("\ud800x", "\ufffdx"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_known_cases(text: str, expected: str) -> None:
    assert clean_terminal(text) == expected


@pytest.mark.parametrize(
    "piece", ["\x1b]", "\x9d", "\x1b[1;", "\u200d", "\x1b ", "\x1b]a", "é\u200d"]
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = "é" + piece * (60_000 // len(piece)) + "é"
    started = time.perf_counter()
    clean_terminal(text)
    assert time.perf_counter() - started < 5  # a fraction of a second when linear


@given(RAW)
def test_one_line_is_one_line_of_single_spaces(text: str) -> None:
    line = one_line(text)
    assert line.splitlines() in ([], [line])
    assert line == " ".join(line.split())
    assert one_line(line) == line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n  Reads\r\n\ta\u2028file.\n", "Reads a file."),
        ("a  b ", "a b"),
        ("a \x1b[31m b", "a b"),
        ("\u200b", ""),
        ("Mail:\n  fake__tool", "Mail: fake__tool"),
    ],
)
def test_white_space_of_any_kind_becomes_one_space(text: str, expected: str) -> None:
    assert one_line(text) == expected


@given(
    st.recursive(
        st.lists(st.one_of(RAW, st.sampled_from([*'\u2028\u2029\ud800"\x9f']))).map("".join),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("k\u202e"), inner),
        max_leaves=5,
    ),
    st.sampled_from([None, 1]),
)
def test_printable_json_reads_back_as_it_was_and_steers_nothing(
    value: object, indent: int | None
) -> None:
    printed = printable_json(json.dumps(value, ensure_ascii=False, indent=indent))
    assert json.loads(printed) == value
    assert clean_terminal(printed) == printed
    assert not set("\u2028\u2029\u200c\u200d") & set(printed)
