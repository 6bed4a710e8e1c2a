"""Roots of tool schemas with branches, references and negations, and objects to hold against them.

Unlike `tests.wire.schemas` these are schemas that a validator can read.
"""

from __future__ import annotations

from random import Random
from typing import Any

NAMES = ("a", "b", "kind")
POINTERS = [
    "#",
    "#/$defs/A",
    "#/$defs/B",
    "#anchored",
    "#/allOf/0",
    "#/anyOf/0",
    "#/oneOf/1/properties/a",
    "#/allOf/0/properties/b",
    "#/properties/a",
    "#/properties/a/anyOf/0",
    "#/$defs/A/properties/a",
    "#/$defs/A/allOf/0",
]
_LEAVES: list[Any] = [
    True,
    False,
    {},
    {"type": "string"},
    {"type": "integer"},
    {"type": "object"},
    {"type": "null"},
    {"const": "x"},
    {"const": 1},
    {"enum": ["x", 1, None]},
    {"type": ["string", "null"]},
    {"type": ["string", "null"], "enum": ["x"]},
    {"type": ["string", "integer"]},
    {"type": "string", "pattern": "^x"},
    {"type": "string", "pattern": "^(?=x)"},
    {"type": "string", "format": "date"},
    {"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]},
    {"oneOf": [{"const": "x"}, {"type": "null"}]},
    {"oneOf": [{"type": "string", "pattern": "^(?=x)"}, {"type": "string", "maxLength": 1}]},
    {"type": ["string", "integer"], "anyOf": [{"minLength": 2}, {"minimum": 1}]},
    {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
    {"type": "array", "contains": {"pattern": "^(?=x)"}, "maxContains": 1},
]


_BRANCHING = ["allOf", "anyOf", "oneOf", "anyOf", "oneOf", "not", "if"]
_TYPES = ["object", "object", ["object", "null"], ["object", "string"]]
_DATA: list[Any] = [None, True, "x", "y", "xx", 1, 2.5, [], ["x"], ["x", "y"], {}, {"a": "x"}]
_DATA += [{"a": 1, "b": "x"}, {"kind": "x", "b": {}}]


class ToolRoots:
    """Draws roots by chance; the same ones for the same chance."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def draw(self) -> dict[str, Any]:
        """A tool's parameters with branches, whose references all lead somewhere."""
        while True:
            root = {**self._object(2), **self._branches(2)}
            if self._is(0.6):
                root["$defs"] = {"A": self._object(2), "B": self._object(1)}
                if self._is(0.5):
                    root["$defs"]["B"]["$anchor"] = "anchored"
            if has_meaning(root):
                return root

    def draw_without_references(self) -> dict[str, Any]:
        """A schema with branches that stands by itself."""
        while True:
            root = {**self._object(2), **self._branches(2)}
            if all("$ref" not in part for part in _dicts(root)):
                return root

    def arguments(self) -> dict[str, Any]:
        """The arguments of a call, whatever tool they are for."""
        names = self._names("a", "b", "kind", "x-1")
        return {name: self._random.choice(_DATA) for name in names}

    def _object(self, depth: int) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        if self._is(0.5):
            schema["type"] = self._random.choice(_TYPES)
        if self._is(0.7):
            schema["properties"] = {name: self._value(depth - 1) for name in self._names(*NAMES)}
        if self._is(0.4):
            schema["required"] = self._names(*NAMES)[:2]
        if self._is(0.4):
            closing = self._random.choice(["additionalProperties", "unevaluatedProperties"])
            schema[closing] = False if self._is(0.6) else self._value(0)
        if self._is(0.2):
            schema["patternProperties"] = {self._random.choice(["^x-", "^a"]): self._value(0)}
        if self._is(0.2):
            schema["dependentSchemas"] = {self._random.choice(NAMES): self._value(0)}
        if depth > 0 and self._is(0.6):
            schema |= self._branches(depth - 1)
        return schema

    def _branches(self, depth: int) -> dict[str, Any]:
        keyword = self._random.choice(_BRANCHING)
        if keyword == "not":
            return {"not": self._value(depth, of_objects=0.7)}
        if keyword == "if":
            return {one: self._value(depth, of_objects=0.7) for one in ("if", "then", "else")}
        branches = [self._value(depth, of_objects=0.7) for _ in range(self._random.randint(1, 3))]
        if keyword != "allOf" and self._is(0.25):
            branches = [branches[0], {"type": "null"}]
        return {keyword: branches}

    def _value(self, depth: int, *, of_objects: float = 0.2) -> Any:
        if depth > 0 and self._is(of_objects):
            return self._object(depth)
        if self._is(0.3):
            siblings = {"properties": {"a": {"type": "string"}}} if self._is(0.2) else {}
            return {"$ref": self._random.choice(POINTERS), **siblings}
        return self._random.choice(_LEAVES)

    def _names(self, *names: str) -> list[str]:
        return self._random.sample(names, self._random.randint(0, len(names)))

    def _is(self, likely: float) -> bool:
        return self._random.random() < likely


_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")


def has_meaning(root: dict[str, Any]) -> bool:
    """Whether every reference leads to a schema, and none around in a circle for ever."""
    parts = _dicts(root)
    if any("$ref" in part and _target(root, part["$ref"]) is None for part in parts):
        return False
    return not any(_circles(part, root, ()) for part in parts)


def _dicts(value: Any) -> list[dict[str, Any]]:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    inner = [one for part in below for one in _dicts(part)]
    return [value, *inner] if isinstance(value, dict) else inner


def _circles(schema: Any, root: dict[str, Any], above: tuple[int, ...]) -> bool:
    if not isinstance(schema, dict):
        return False
    if id(schema) in above:
        return True
    parts = [_target(root, schema["$ref"])] if "$ref" in schema else []
    parts += schema.get("dependentSchemas", {}).values()
    for keyword in _IN_PLACE:
        part = schema.get(keyword)
        parts += part if isinstance(part, list) else [part]
    return any(_circles(part, root, (*above, id(schema))) for part in parts)


def _target(root: dict[str, Any], pointer: str) -> Any:
    if pointer == "#anchored":
        return next((one for one in _dicts(root) if one.get("$anchor") == "anchored"), None)
    target: Any = root
    for segment in pointer.split("/")[1:]:
        if isinstance(target, list):
            target = target[int(segment)] if int(segment) < len(target) else None
        else:
            target = target.get(segment) if isinstance(target, dict) else None
    return target if isinstance(target, dict | bool) else None
