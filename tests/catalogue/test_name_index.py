"""Looking names up, against scanning them all."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.name_index import NameIndex, name_index
from host.catalogue.name_resolution import expand_names
from host.records import CatalogueServer
from tests.catalogue.catalogues import BARE, CATALOGUES, DISK, MAIL, NAMES, server


@given(CATALOGUES, st.one_of(st.sampled_from(["", "_", "__", *BARE]), NAMES))
def test_owners_are_the_names_with_that_end(catalogue: list[CatalogueServer], bare: str) -> None:
    names = dict.fromkeys(tool.name for row in catalogue for tool in row.tools)
    expected = [name for name in names if bare and name.endswith(f"__{bare}")]
    assert list(NameIndex(catalogue).owners(bare)) == expected


@given(CATALOGUES, NAMES)
def test_the_nearest_name_to_a_known_one_is_that_one(
    catalogue: list[CatalogueServer], name: str
) -> None:
    index = NameIndex(catalogue)
    nearest = index.nearest(name)
    assert len(nearest) <= 3
    assert set(nearest) <= set(index.tools)
    if name in index.tools:
        assert nearest


def test_of_tools_with_one_name_the_first_counts() -> None:
    index = NameIndex([server("A", ("x__t", "first")), server("B", ("x__t", "second"))])
    assert index.tools["x__t"].description == "first"
    assert index.owners("t") == ("x__t",)


def test_a_name_is_found_as_it_is_listed_too() -> None:
    assert NameIndex([server("A", "odd\nname")]).hits("odd name") == ("odd\nname",)


def test_a_catalogue_is_indexed_once_and_a_changed_list_again() -> None:
    catalogue = [MAIL]
    first = name_index(catalogue)
    assert name_index((MAIL,)) is first
    catalogue.append(DISK)
    assert name_index(catalogue) is not first
    assert "disk__read" in name_index(catalogue).tools


def test_three_thousand_tools_are_looked_up_in_no_time() -> None:
    rows = [
        server(f"s{row}", *(f"server_{row}__tool_{number}" for number in range(100)))
        for row in range(30)
    ]
    started = time.perf_counter()
    name_index(rows)
    built = time.perf_counter() - started
    asked = [f"server_{row}__tool_{row}" for row in range(12)]
    started = time.perf_counter()
    for _ in range(50):
        assert len(expand_names(asked, rows).matched) == 12
    per_name = (time.perf_counter() - started) / (50 * 12)
    assert built < 1  # some milliseconds on an idle machine
    assert per_name < 0.001  # some microseconds
