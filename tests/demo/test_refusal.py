from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.demo.refusal import Refused, listed, nearest, shown, unknown

NAMES = ["mile", "metre", "millimetre", "kilometre", "US gallon"]


@pytest.mark.parametrize(
    ("given_name", "near"),
    [
        ("metr", ["metre", "kilometre", "millimetre"]),
        ("MILE", ["mile"]),
        ("killometre", ["kilometre", "millimetre", "metre"]),
        ("gallon", ["US gallon"]),
        ("xyz", []),
        ("", []),
    ],
)
def test_the_nearest_names_are_those_that_hold_the_text_or_look_like_it(
    given_name: str, near: list[str]
) -> None:
    assert nearest(given_name, NAMES) == near


@given(st.sampled_from(NAMES), st.integers(0, 10), st.booleans())
def test_a_name_with_one_letter_missing_is_found_again(name: str, at: int, upper: bool) -> None:
    at %= len(name)
    typed = name[:at] + name[at + 1 :]
    assert name in nearest(typed.upper() if upper else typed, NAMES)


@given(st.text(alphabet="mile tr\nx", max_size=20), st.lists(st.sampled_from(NAMES)))
def test_only_known_names_are_near_and_at_most_three_of_them(name: str, known: list[str]) -> None:
    near = nearest(name, known)
    assert set(near) <= set(known)
    assert len(near) == len(set(near)) <= 3


def test_an_unknown_name_is_refused_with_the_near_ones() -> None:
    refusal = unknown("unit", "metr", ["metre", "mile"], "look with list_units")
    assert isinstance(refusal, Refused)
    assert str(refusal) == 'There is no unit "metr": did you mean metre or mile?'


def test_an_unknown_name_like_no_other_is_refused_with_the_remedy() -> None:
    refusal = unknown("unit", "xyz", [], "look with list_units")
    assert str(refusal) == 'There is no unit "xyz": look with list_units.'


def test_shown_text_stays_on_one_line_and_short() -> None:
    assert shown("a\n b") == '"a b"'
    assert shown("x" * 100) == '"' + "x" * 59 + '…"'


@pytest.mark.parametrize(
    ("words", "sentence"), [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")]
)
def test_words_are_listed_as_in_a_sentence(words: list[str], sentence: str) -> None:
    assert listed(words) == sentence
