"""What a schema says of an object's properties, branches and references included."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.schema_normalising import normalised
from host.wire.schema_references import NOWHERE, target_of
from host.wire.schema_shapes import Shape, Shapes
from tests.wire.instances import judge
from tests.wire.tool_roots import ToolRoots

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
NOTHING = Shape(is_possible=False)
DEFS = {"A": {"properties": {"a": TEXT}, "required": ["a"]}, "Loop": {"$ref": "#/$defs/Loop"}}


def shape_of(schema: Any) -> Shape | None:
    return Shapes(lambda pointer: target_of({"$defs": DEFS}, pointer)).of(schema)


def object_of(others: Any = True, **properties: Any) -> dict[str, Any]:
    return {"properties": properties, "additionalProperties": others}


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        (True, Shape()),
        (False, NOTHING),
        ({}, Shape()),
        ({"type": "string"}, NOTHING),
        ({"type": "whatever"}, Shape()),
        ({"const": None}, NOTHING),
        ({"enum": [1, "x"]}, NOTHING),
        ({"enum": [1, {}]}, Shape()),
        ({"properties": [], "required": "a", "allOf": {}}, Shape()),
        ({"required": ["a", 3]}, Shape(required=("a",))),
        (object_of(False), Shape(others=False)),
        (object_of(TEXT, a=NUMBER), Shape(properties={"a": NUMBER}, others=TEXT)),
        ({**object_of(False), "patternProperties": {"x": {}}}, Shape()),
        ({"$ref": "#/$defs/A"}, Shape(properties={"a": TEXT}, required=("a",))),
        ({"$ref": "#/$defs/Missing"}, None),
        ({"$ref": "#/$defs/Loop"}, None),
        ({"allOf": [object_of(TEXT), object_of(False)]}, Shape(others=False)),
        ({"allOf": [object_of(False), object_of(TEXT)]}, Shape(others=False)),
        ({"allOf": [{}, object_of(TEXT)]}, Shape(others=TEXT)),
        ({"allOf": [{"$ref": "#/$defs/Loop"}, False]}, Shape()),
        (
            {"anyOf": [object_of(False, a=TEXT), object_of(False, b=TEXT)]},
            Shape(properties={"a": TEXT, "b": TEXT}, others=False),
        ),
        (
            {"anyOf": [object_of(False, a=TEXT), object_of(NUMBER)]},
            Shape(properties={"a": {"anyOf": [TEXT, NUMBER]}}),
        ),
        (
            {**object_of(NUMBER), "anyOf": [{"properties": {"a": TEXT}}, {}]},
            Shape(properties={"a": {"anyOf": [TEXT, NUMBER]}}, others=NUMBER),
        ),
    ],
)
def test_every_known_schema_has_its_shape(schema: Any, shape: Shape | None) -> None:
    assert shape_of(schema) == shape


def test_a_reference_is_followed_once() -> None:
    followed: list[str] = []

    def target(pointer: str) -> Any:
        followed.append(pointer)
        return {"properties": {"a": TEXT}} if pointer == "#/a" else NOWHERE

    shapes = Shapes(target)
    twice = {"allOf": [{"$ref": "#/a"}, {"$ref": "#/a"}, {"$ref": "#/b"}, {"$ref": "#/b"}]}
    assert shapes.of(twice) == Shape(properties={"a": TEXT})
    assert followed == ["#/a", "#/b"]


@given(st.integers(0, 2**64))
def test_every_object_that_a_schema_accepts_has_its_shape(seed: int) -> None:
    made = ToolRoots(Random(seed))
    for _ in range(20):
        schema, _ = normalised(made.draw_without_references())
        shape = shape_of(schema)
        assert shape is not None
        values = [made.arguments() for _ in range(8)]
        for value in (one for one in values if judge(schema, as_sent=True).is_valid(one)):
            assert shape.is_possible
            assert set(shape.required) <= value.keys()
            for name, held in value.items():
                said = shape.properties.get(name, shape.others)
                assert judge(said, as_sent=True).is_valid(held), (schema, value, name)
