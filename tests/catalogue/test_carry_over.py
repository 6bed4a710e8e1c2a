"""Tools carried from one question to the next keep their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.carry_over import MAX_CARRIED, carry_over

NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)


def one_by_one(previous: list[str], used: list[str], cap: int) -> list[str]:
    names = [*previous, *(name for name in used if name not in previous)]
    while len(names) > max(1, cap):
        names.remove(next((name for name in names if name not in used), names[0]))
    return names


@given(NAMES, NAMES, st.integers(-1, 9))
def test_names_leave_one_by_one_unused_ones_first(
    previous: list[str], used: list[str], cap: int
) -> None:
    assert carry_over(previous, used, max_carried=cap) == one_by_one(previous, used, cap)


@pytest.mark.parametrize(
    ("previous", "used", "cap", "carried"),
    [
        (["p", "q", "r"], {"p", "z"}, 3, ["p", "r", "z"]),
        (["p", "q"], ["q"], 0, ["q"]),
        (["p", "q"], [], 5, ["p", "q"]),
        ([], [], 3, []),
        (["p", "p"], ["q", "q"], 3, ["p", "q"]),
        (["a"], ["b", "c", "d"], 2, ["c", "d"]),
    ],
)
def test_known_cases(
    previous: list[str], used: set[str] | list[str], cap: int, carried: list[str]
) -> None:
    assert carry_over(previous, used, max_carried=cap) == carried


def test_sixteen_are_carried_unless_told_otherwise() -> None:
    names = [f"t{number}" for number in range(20)]
    assert MAX_CARRIED == 16
    assert carry_over(names, []) == names[4:]
