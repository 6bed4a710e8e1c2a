"""Where schemas stand in a schema, and where references lead."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.schema_positions import (
    map_subschemas,
    pool_entry,
    pools_of,
    resolve,
    thawed,
    whole_entry,
)
from tests.wire.schemas import KEYWORD_NAMES, LISTS, MAPS, NAMES, SINGLE

DATA_KEYWORDS = ["default", "enum", "const", "examples", "required", "x-own", "dependentRequired"]


def containers(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(parts, max_size=3) | st.dictionaries(NAMES, parts, max_size=3)


@st.composite
def marked(draw: st.DrawFn) -> dict[str, Any]:
    """A schema with "S" wherever a schema stands and "D" wherever data stands."""
    schema: dict[str, Any] = {}
    for keyword in draw(st.lists(st.sampled_from([*SINGLE, *LISTS]), unique=True)):
        schema[keyword] = draw(st.sampled_from(["S", ["S"], ["S", "S"], []]))
    for keyword in draw(st.lists(st.sampled_from(MAPS), unique=True)):
        schema[keyword] = dict.fromkeys(draw(st.lists(NAMES)), "S")
    for keyword in draw(st.lists(st.sampled_from(DATA_KEYWORDS), unique=True)):
        schema[keyword] = draw(st.sampled_from(["D", ["D"], {"items": "D", "properties": "D"}]))
    return schema


@given(marked())
def test_exactly_what_stands_at_schema_positions_is_changed(schema: dict[str, Any]) -> None:
    before = repr(schema)
    changed = map_subschemas(schema, lambda part: "T" if part == "S" else f"touched {part}")
    assert repr(changed) == before.replace("'S'", "'T'")
    assert repr(schema) == before


@pytest.mark.parametrize("name", KEYWORD_NAMES)
def test_a_property_named_like_a_keyword_is_a_property(name: str) -> None:
    changed = map_subschemas({"properties": {name: {"a": 1}}}, lambda part: {"seen": part})
    assert changed == {"properties": {name: {"seen": {"a": 1}}}}


def test_a_map_that_is_no_map_is_left_alone() -> None:
    assert map_subschemas({"properties": ["x"]}, lambda part: "T") == {"properties": ["x"]}


def test_references_are_looked_for_under_more_keywords() -> None:
    schema = {"dependentSchemas": {"a": "S"}, "unevaluatedProperties": "S", "default": "D"}
    assert map_subschemas(schema, lambda part: "T") == schema
    assert map_subschemas(schema, lambda part: "T", everywhere=True) == {
        "dependentSchemas": {"a": "T"},
        "unevaluatedProperties": "T",
        "default": "D",
    }


@given(st.recursive(st.sampled_from([None, True, 1, 2.5, "text", b"raw"]), containers))
def test_a_frozen_value_is_thawed_to_dicts_and_lists(value: Any) -> None:
    melted = thawed(frozen(value))
    assert melted == value
    assert json_types(melted) <= {dict, list, type(None), bool, int, float, str, bytes}
    assert melted is not value or not isinstance(value, dict | list)


def frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: frozen(inner) for key, inner in value.items()})
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def json_types(value: Any) -> set[type]:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {type(value)}.union(*map(json_types, below))


POOLS = {
    "$defs": {"A": {"type": "string"}, "x/y": {}, "with space": {}, "t~ilde": {}, "a~1b": {}},
    "definitions": {"B": {"type": "object"}},
}


@pytest.mark.parametrize(
    ("pointer", "entry"),
    [
        ("#/$defs/A", ("$defs", "A")),
        ("#/definitions/B", ("definitions", "B")),
        ("#/$defs/A/properties/q", ("$defs", "A")),
        ("#/$defs/x~1y", ("$defs", "x/y")),
        ("#/$defs/x/y", ("$defs", "x/y")),
        ("#/$defs/with%20space", ("$defs", "with space")),
        ("#/$defs/t~0ilde", ("$defs", "t~ilde")),
        ("#/$defs/a~01b", ("$defs", "a~1b")),
        ("#/$defs/B", None),
        ("#/properties/A", None),
        ("#", None),
        ("https://example.org/#/$defs/A", None),
    ],
)
def test_a_local_reference_names_its_definition(
    pointer: str, entry: tuple[str, str] | None
) -> None:
    assert pool_entry(POOLS, pointer) == entry
    is_inside = pointer == "#/$defs/A/properties/q"
    assert whole_entry(POOLS, pointer) == (None if is_inside else entry)


def test_pools_that_are_no_maps_do_not_count() -> None:
    assert pools_of({"$defs": [], "definitions": {"A": {}}}) == {"definitions": {"A": {}}}


@pytest.mark.parametrize("pointer", ["#/$defs/A/properties/q", "#/$defs/A/items"])
def test_the_inside_of_a_definition_resolves_to_nothing(pointer: str) -> None:
    assert resolve({"$ref": pointer}, POOLS) is None


@pytest.mark.parametrize("schema", [True, None, "string", [], {"$ref": 5}, {"$ref": {"a": 1}}])
def test_what_is_no_schema_object_resolves_to_nothing(schema: Any) -> None:
    assert resolve(schema, POOLS) is None


ENDS = [{"type": "object"}, True, "string", None]


@given(
    st.lists(st.integers(0, 7) | st.sampled_from(["end", "away"]), min_size=1, max_size=6),
    st.sampled_from(ENDS),
    st.sampled_from(["$defs", "definitions"]),
)
def test_a_chain_of_references_is_followed_to_its_end(
    links: list[int | str], end: Any, pool: str
) -> None:
    def linked(link: int | str) -> Any:
        if link == "end":
            return end
        return {"$ref": "other.json" if link == "away" else f"#/{pool}/{link}"}

    pools = {pool: {str(at): linked(link) for at, link in enumerate(links)}}
    at: int | str = 0
    for _ in range(len(links) + 1):
        at = links[at] if isinstance(at, int) and at < len(links) else at
    expected = end if at == "end" and isinstance(end, dict) else None
    assert resolve({"$ref": f"#/{pool}/0"}, pools) == expected
