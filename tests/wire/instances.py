"""Values that a JSON Schema may accept, and what tells whether it does.

The candidates cover the keywords of real tool schemas; what a schema says beyond them is left to
the validator, which has the last word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

import jsonschema
from jsonschema.validators import extend, validator_for

from host.wire.schema_positions import pools_of, resolve

PLAIN: list[Any] = [None, True, False, 0, 1, -3, 2.5, 10**6, "", "x", "2024", [], ["x"], {}]
PLAIN += [{"a": 1}, [None], {"kind": "a"}]
TEXTS = [
    "",
    "a",
    "abc",
    "ABC",
    "A1",
    "0",
    "7",
    "2024",
    "1:2",
    "I1:2",
    "main",
    "x" * 40,
    "é \n",
    "1h",
]
TEXTS += ["#ff0000", "/tmp/x", "https://example.org/x", "a@example.org", "2026-01-31", "AS13335"]
TEXTS += ["2026-01-31T10:00:00Z", "10:00:00Z", "3f2c8f0e-5a53-4c57-9d3f-2c8f0e5a534c", "ABC-123"]
TEXTS += ["a=b,c", "user/repo", "0x" + "ab" * 20, "image.png", "abcdef12"]
TEXTS += ["12-3f2c8f0e-5a53-4c57-9d3f-2c8f0e5a534c"]

_OBJECT = frozenset({"properties", "required", "additionalProperties", "propertyNames"})
_ARRAY = frozenset({"items", "prefixItems", "minItems", "maxItems"})
_MAX_DEPTH = 6
_OTHERWISE = 0.05
"""How often a value is drawn without regard to its schema."""


class Candidates:
    """Draws values that a root schema may accept."""

    def __init__(self, root: Any, random: Random) -> None:
        self._root = root
        self._pools = pools_of(root) if isinstance(root, dict) else {}
        self._random = random

    def draw(self) -> Any:
        """One candidate, JSON all through."""
        return json.loads(json.dumps(self._value(self._root, _MAX_DEPTH)))

    def _value(self, schema: Any, depth: int) -> Any:
        if isinstance(schema, dict) and "$ref" in schema:
            schema = resolve(schema, self._pools)
        if not isinstance(schema, dict) or self._random.random() < _OTHERWISE:
            return self._random.choice(PLAIN)
        schema = self._with_branches(schema)
        told = self._told(schema)
        if told:
            return self._random.choice(told)
        return self._of_type(self._type(schema), schema, depth)

    def _with_branches(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema joined with one branch of each union and with all that always hold."""
        branches = [*_listed(schema.get("allOf"))]
        for union in ("anyOf", "oneOf"):
            if choices := _listed(schema.get(union)):
                branches.append(self._random.choice(choices))
        joined = {key: schema[key] for key in schema if key not in ("anyOf", "oneOf", "allOf")}
        for branch in branches:
            target = resolve(branch, self._pools) if isinstance(branch, dict) else None
            if target is not None:
                joined = _joined(joined, target)
        return self._with_branches(joined) if branches else joined

    def _told(self, schema: Mapping[str, Any]) -> list[Any]:
        """Values the schema itself names; often only those it insists on."""
        if "const" in schema:
            return [schema["const"]]
        if isinstance(schema.get("enum"), list):
            return list(schema["enum"])
        hints = [schema["default"]] if "default" in schema else []
        hints += _listed(schema.get("examples"))
        return hints if self._random.random() < 0.3 else []

    def _type(self, schema: Mapping[str, Any]) -> str:
        types = schema.get("type")
        if isinstance(types, str):
            return types
        if named := [name for name in _listed(types) if isinstance(name, str)]:
            return self._random.choice(named)
        if _OBJECT & schema.keys():
            return "object"
        return "array" if _ARRAY & schema.keys() else "any"

    def _of_type(self, name: str, schema: Mapping[str, Any], depth: int) -> Any:
        makers: dict[str, Callable[[Mapping[str, Any], int], Any]] = {
            "object": self._object,
            "array": self._array,
            "string": lambda schema, _: self._text(schema),
            "integer": lambda schema, _: int(self._number(schema)),
            "number": lambda schema, _: self._number(schema),
            "boolean": lambda *_: self._random.choice([True, False]),
            "null": lambda *_: None,
        }
        return makers[name](schema, depth) if name in makers else self._random.choice(PLAIN)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        named: dict[str, Any] = properties if isinstance(properties, dict) else {}
        required = {name for name in _listed(schema.get("required")) if isinstance(name, str)}
        share = self._random.choice([0.0, 0.5, 1.0]) if depth > 0 else 0.0
        value = {
            name: self._value(named.get(name, True), depth - 1)
            for name in dict.fromkeys([*named, *sorted(required)])
            if name in required or self._random.random() < share
        }
        others = schema.get("additionalProperties", True)
        if depth > 0 and others is not False and self._random.random() < 0.3:
            value.setdefault("extra", self._value(others, depth - 1))
        return value

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        least = _bound(schema.get("minItems"))
        size = least + (self._random.randrange(3) if depth > 0 else 0)
        heads = _listed(schema.get("prefixItems"))
        rest = schema.get("items", True)
        return [
            self._value(heads[at] if at < len(heads) else rest, depth - 1)
            for at in range(min(size, 8))
        ]

    def _text(self, schema: Mapping[str, Any]) -> str:
        text = self._random.choice(_fitting(str(schema.get("pattern", ""))))
        return text.ljust(_bound(schema.get("minLength")), "x")

    def _number(self, schema: Mapping[str, Any]) -> float:
        bounds = [
            schema[key] + step
            for key, step in (
                ("minimum", 0),
                ("maximum", 0),
                ("exclusiveMinimum", 1),
                ("exclusiveMaximum", -1),
            )
            if isinstance(schema.get(key), int | float) and not isinstance(schema.get(key), bool)
        ]
        number = self._random.choice([*bounds, 0, 1, 7, 2.5])
        return int(number) if number == int(number) else number


@cache
def _fitting(pattern: str) -> list[str]:
    with suppress(re.error):
        return [text for text in TEXTS if re.search(pattern, text)] or TEXTS
    return TEXTS


def judge(schema: Any, *, as_sent: bool = False) -> Any:
    """A validator of the schema's own dialect, 2020-12 where it names none.

    Args:
        as_sent: ``nullable`` counts as in OpenAPI, since that is what a sanitised schema says in
            place of a union with null; null is then accepted whatever else is asked.
    """
    dialect = validator_for(schema, default=jsonschema.Draft202012Validator)
    return (_reading_nullable(dialect) if as_sent else dialect)(schema)


@cache
def _reading_nullable(dialect: Any) -> Any:
    def but_for_null(check: Callable[..., Any]) -> Callable[..., Any]:
        def checked(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            if instance is None and schema.get("nullable") is True:
                return
            yield from check(validator, value, instance, schema) or ()

        return checked

    checks = {name: but_for_null(each) for name, each in dialect.VALIDATORS.items()}
    return extend(dialect, checks)  # type: ignore[no-untyped-call]


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    joined = {**one, **other}
    if isinstance(one.get("properties"), dict) and isinstance(other.get("properties"), dict):
        joined["properties"] = {**one["properties"], **other["properties"]}
    if required := [*_listed(one.get("required")), *_listed(other.get("required"))]:
        joined["required"] = required
    return joined


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _bound(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
