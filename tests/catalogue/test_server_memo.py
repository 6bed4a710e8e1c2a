"""Computed once per catalogue, and again for another one."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.server_memo import remembered
from host.records import CatalogueServer
from tests.catalogue.catalogues import server

ROWS = [server("same"), server("same"), server("other")]


@given(st.lists(st.lists(st.sampled_from(range(3)), max_size=3), max_size=7))
def test_the_very_same_servers_are_computed_once(asked: list[list[int]]) -> None:
    computed: list[tuple[int, ...]] = []

    def compute(catalogue: Sequence[CatalogueServer]) -> list[int]:
        computed.append(tuple(map(id, catalogue)))
        return [id(row) for row in catalogue]

    memo = remembered(compute)
    for numbers in asked:
        catalogue = [ROWS[number] for number in numbers]
        assert memo(catalogue) == [id(row) for row in catalogue]
    assert len(computed) == len(set(computed)) == len({tuple(numbers) for numbers in asked})


def test_equal_servers_are_not_the_same() -> None:
    memo = remembered(list)
    assert ROWS[0] == ROWS[1]
    assert memo([ROWS[0]]) is memo([ROWS[0]])
    assert memo([ROWS[0]]) is not memo([ROWS[1]])


def test_only_the_last_few_catalogues_are_remembered() -> None:
    memo = remembered(list)
    rows = [server(str(number)) for number in range(20)]
    first = memo([rows[0]])
    for row in rows:
        memo([row])
    assert memo([rows[0]]) is not first
