"""What a JSON Schema says of an object's properties, branches and references included (ours).

An object that a schema accepts has to satisfy all of ``allOf`` and some branch of a union, at any
depth. A shape says what follows for each property by itself, and never more than follows: where a
branch is silent about a property, or hands it on to another schema, its value may be anything that
branch allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from host.wire.schema_normalising import normalise
from host.wire.schema_positions import Schema
from host.wire.schema_references import NOWHERE

_NO_OBJECTS = frozenset({"string", "number", "integer", "boolean", "null", "array"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What an object looks like.

    Attributes:
        properties: what each property may be, by name.
        required: the names that are always there.
        others: what a property without an entry may be: anything (True), nothing, since there can
            be none (False), or a schema.
        is_possible: whether any object looks like this.
    """

    properties: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    others: Any = True
    is_possible: bool = True


class Shapes:
    """The shapes of the schemas of one document, all of them normalised.

    Args:
        target_of: what a local reference leads to; ``NOWHERE`` for nothing.
    """

    def __init__(self, target_of: Callable[[str], Any]) -> None:
        self._target_of = target_of
        self._known: dict[str, Shape | None] = {}
        self._open: set[str] = set()

    def of(self, schema: Any) -> Shape | None:
        """The shape of a schema; None where it refers to nothing, or in a circle to itself."""
        if isinstance(schema, bool):
            return Shape(is_possible=schema)
        if isinstance(schema.get("$ref"), str):
            return self._of_reference(schema["$ref"])
        return Shape(is_possible=False) if _is_no_object(schema) else self.of_object(schema)

    def of_object(self, schema: Schema) -> Shape:
        """The shape of a schema that objects are held against, whatever type it names."""
        shape = Shape(properties=_named(schema), required=_required(schema), others=_others(schema))
        for branch in _listed(schema, "allOf"):
            part = self.of(branch)
            shape = _both(shape, part) if part is not None and part.is_possible else shape
        for union in ("anyOf", "oneOf"):
            shape = _either(shape, [self.of(branch) for branch in _listed(schema, union)])
        return shape

    def _of_reference(self, pointer: str) -> Shape | None:
        if pointer in self._open:
            return None
        if pointer not in self._known:
            target = self._target_of(pointer)
            self._open.add(pointer)
            self._known[pointer] = None if target is NOWHERE else self.of(target)
            self._open.discard(pointer)
        return self._known[pointer]


def _both(one: Shape, other: Shape) -> Shape:
    """The shape of what has both; of a property that both describe, the second one's word."""
    return Shape(
        properties={**one.properties, **other.properties},
        required=_joined(one.required, other.required),
        others=other.others if one.others is True or other.others is False else one.others,
    )


def _either(shape: Shape, parts: Sequence[Shape | None]) -> Shape:
    """The shape of what has this one and some of the parts.

    A part that is not known leaves nothing required by all of them. Parts that name no property
    change nothing (agent-core §6, step 5).
    """
    possible = [part for part in parts if part is not None and part.is_possible]
    names = dict.fromkeys(name for part in possible for name in part.properties)
    if not names:
        return shape
    always = [
        name
        for name in (parts[0].required if parts[0] else ())
        if all(part is not None and name in part.required for part in parts)
    ]
    are_closed = shape.others is True and all(part.others is False for part in possible)
    return Shape(
        properties={**shape.properties, **{name: _value(name, shape, possible) for name in names}},
        required=_joined(shape.required, always),
        others=False if are_closed else shape.others,
    )


def _value(name: str, shape: Shape, parts: Sequence[Shape]) -> Any:
    """What a property may be that some of the parts describe.

    Where others are silent it is what the shape says without them. For anything at all a model is
    still shown how some describe it: the last branch alone, or none, would hide the others.
    """
    told = [part.properties[name] for part in parts if name in part.properties]
    silent = [part for part in parts if name not in part.properties and part.others is not False]
    if silent and name in shape.properties:
        return shape.properties[name]
    if silent and shape.others is not False:
        told += [
            _as_schema(part.others if shape.others is True else shape.others) for part in silent
        ]
    variants = [*{repr(schema): schema for schema in told}.values()]  # 1 is not True here
    return variants[0] if len(variants) == 1 else normalise({"anyOf": variants})


def _as_schema(others: Any) -> Any:
    return {} if others is True else others


def _is_no_object(schema: Schema) -> bool:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and not any(isinstance(value, dict) for value in values):
        return True
    named = schema.get("type")
    return isinstance(named, str) and named in _NO_OBJECTS


def _others(schema: Schema) -> Any:
    """What unnamed properties may be; a pattern may let in whatever the rest keeps out."""
    others = schema.get("additionalProperties", True)
    if schema.get("patternProperties") or not isinstance(others, dict | bool):
        return True
    return others


def _named(schema: Schema) -> Schema:
    properties = schema.get("properties")
    return dict(properties) if isinstance(properties, dict) else {}


def _required(schema: Schema) -> tuple[str, ...]:
    return tuple(name for name in _listed(schema, "required") if isinstance(name, str))


def _listed(schema: Schema, keyword: str) -> list[Any]:
    listed = schema.get(keyword)
    return listed if isinstance(listed, list) else []


def _joined(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))
