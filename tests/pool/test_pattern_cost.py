from __future__ import annotations

import math
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.pattern_cost import pattern_steps

AFFORDABLE = 1_000_000

ATOMS = st.sampled_from(["a", "[ab]", ".", r"\w", r"\.", "ab", "(?:ab)", "(a|b)", "(a+)", "(a|a)"])
REPEATS = st.sampled_from(["", "?", "*", "+", "{2}", "{1,3}", "*?", "{2,}", "{,2}"])
PIECES = st.tuples(ATOMS, REPEATS).map("".join)
GROUPS = st.tuples(st.lists(PIECES, min_size=1, max_size=3).map("".join), REPEATS).map(
    lambda parts: f"({parts[0]}){parts[1]}"
)
PATTERNS = st.lists(PIECES | GROUPS | st.sampled_from(["^", "$", "|", "-"]), max_size=5).map(
    "".join
)


@given(PATTERNS)
def test_an_affordable_pattern_is_done_at_once_on_the_worst_text(pattern: str) -> None:
    text = "a" * 30 + "!"
    try:
        re.compile(pattern)
    except re.error:
        assert math.isinf(pattern_steps(pattern, len(text)))
        return
    if pattern_steps(pattern, len(text)) <= AFFORDABLE:
        started = time.process_time()
        re.search(pattern + r"\Z(?!)", text)  # never matches: every way is tried
        assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(?!.*(?:^|,)(a|b),(?:.*,)?\1(?:$|,))(a|b)(,(a|b))*$",  # postman
        r"(a+)+$",
        r"(a|a)*$",
        r"(a?)*b",
        r"((a{1,2}){1,40}){1,40}$",
        r"(?=a)b",
        r"(?<=a)b",
        r"(?<name>a)\k<name>",
        r"(a)\1",
        r"\p{L}+",
        r"[[a]",
        r"[a",
        r"(a",
        r"a)",
        r"*a",
        r"a{99999999999}",
        "(" * 60 + ")" * 60,
        "a" * 3000,
    ],
)
def test_no_bound_is_claimed_for(pattern: str) -> None:
    assert pattern_steps(pattern, 40) > 1e12


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        r"^#[0-9A-Fa-f]{6}$",
        r"^[a-z0-9][a-z0-9_-]*$",
        r"^[a-zA-Z0-9_.-]+\.(png|svg|gif)$",
        r"^([/_.\-A-Za-z0-9=, ()!])+$",
        r"^https?:\/\/",
        r"^(timestamp|duration):(asc|desc)$",
        r"^[]x]{2}$",
        r"^\d{4}-(?:0\d|1[012])(?:Z|[+-]\d{2})?$",
        r"a{b}",
    ],
)
def test_ordinary_patterns_are_affordable(pattern: str) -> None:
    assert pattern_steps(pattern, 40) <= AFFORDABLE


def test_a_longer_text_costs_more_where_the_pattern_repeats() -> None:
    assert pattern_steps("^a+$", 10) == 4 * 11
    assert pattern_steps("a+b+", 10) == 4 * 11 * 11 * 11
    assert pattern_steps("^a?b$", 10) == pattern_steps("^a?b$", 1000) == 5 * 2
    assert pattern_steps("a*a*a*a*a*$", 5_000) > 1e15
