"""The identity memo against a plain model of least-recently-used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.identity_memo import IdentityMemo


@given(st.lists(st.integers(0, 7), max_size=60), st.integers(1, 5))
def test_it_computes_exactly_when_a_least_recently_used_list_has_let_the_object_go(
    order: list[int], max_entries: int
) -> None:
    subjects = [[number] for number in range(8)]
    computed: list[int] = []

    def compute(subject: list[int]) -> int:
        computed.append(subject[0])
        return subject[0] * 10

    memo = IdentityMemo(compute, max_entries=max_entries)
    recent: list[int] = []
    expected: list[int] = []
    for number in order:
        if number in recent:
            recent.remove(number)
        else:
            expected.append(number)
        recent = [*recent, number][-max_entries:]
        assert memo(subjects[number]) == number * 10
    assert computed == expected


def test_an_equal_copy_is_computed_anew_and_a_changed_object_is_not() -> None:
    memo = IdentityMemo(len)
    first = [1]
    assert memo(first) == 1
    first.append(2)
    assert memo(first) == 1
    assert memo(list(first)) == 2


def test_an_object_let_go_by_everyone_else_never_lends_its_id_to_another() -> None:
    memo: IdentityMemo[list[int], int] = IdentityMemo(len, max_entries=500)
    sizes = [memo([0] * (number % 7)) for number in range(500)]
    assert sizes == [number % 7 for number in range(500)]


def test_what_the_function_raises_is_not_remembered() -> None:
    asked: list[object] = []

    def compute(subject: list[int]) -> int:
        asked.append(subject)
        return 1 // len(subject)

    memo = IdentityMemo(compute)
    empty: list[int] = []
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            memo(empty)
    assert len(asked) == 2


def test_at_least_one_object_is_held() -> None:
    memo = IdentityMemo(len, max_entries=0)
    kept = [1]
    memo(kept)
    kept.append(2)
    assert memo(kept) == 1
