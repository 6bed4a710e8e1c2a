"""A copy of a JSON value is equal to it, and nothing done to it reaches the original."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from host.catalogue import freeze
from host.text.json_copy import json_copy

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text())
JSON = st.recursive(
    SCALARS, lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=3), part)
)


def containers(value: Any) -> Iterator[Any]:
    """Every dict and list of a value."""
    if isinstance(value, dict | list):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from containers(part)


@given(JSON)
def test_a_copy_is_equal_and_all_its_own(value: Any) -> None:
    kept = copy.deepcopy(value)
    copied = json_copy(value)
    assert copied == kept
    assert not {id(one) for one in containers(copied)} & {id(one) for one in containers(value)}
    for container in containers(copied):
        container.clear()
    assert value == kept


@given(JSON)
def test_the_copy_of_what_cannot_be_changed_can_be(value: Any) -> None:
    def wrapped(part: Any) -> Any:
        if isinstance(part, dict):
            return MappingProxyType({key: wrapped(inner) for key, inner in part.items()})
        return tuple(map(wrapped, part)) if isinstance(part, list) else part

    for given_value in (freeze(value), wrapped(value)):
        copied = json_copy(given_value)
        assert copied == value
        assert all(type(one) in (dict, list) for one in containers(copied))


def test_depth_and_rings_and_other_objects_do_no_harm() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    copied = json_copy(deep)
    depth = 0
    while copied:
        (copied,), depth = copied, depth + 1
    assert depth == 100_000
    ring: dict[str, Any] = {"other": (thing := object())}
    ring["self"] = ring
    round_trip = json_copy(ring)
    assert round_trip is not ring
    assert round_trip["self"] is round_trip
    assert round_trip["other"] is thing


class Fleeting(Mapping[str, Any]):
    """Makes its values when they are asked for."""

    def __getitem__(self, key: str) -> Any:
        return [key]

    def __iter__(self) -> Iterator[str]:
        return iter("abcdefgh")

    def __len__(self) -> int:
        return 8


def test_values_that_exist_only_while_they_are_read_are_not_mixed_up() -> None:
    assert json_copy(Fleeting()) == {key: [key] for key in "abcdefgh"}
