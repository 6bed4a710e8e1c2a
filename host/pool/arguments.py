"""Arguments as models write them: made to fit where that is safe, and judged by the schema.

Fitting reads only the plain part of a schema: ``type``, ``properties``, ``items``, ``required``
and an ``enum`` of simple values. Sources: pool spec §11, design §8 "Coercion" and "Do the
arguments fit?".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from host.pool.argument_paths import ROOT, Path, preview, problem_at
from host.text.json_text import compact_json, parse_json_strict

_TYPE_NAMES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}
_MAX_SCHEMA_DEPTH = 64
_MAX_ENUM_CHARS = 200
_EXACT_FLOAT = 2**53

_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+"
)


class _Nothing:
    """No conversion applies."""


_NOTHING = _Nothing()
_Schema: TypeAlias = Mapping[str, Any]


def coerce_arguments(
    schema: Mapping[str, Any] | None, arguments: object
) -> tuple[dict[str, Any], list[str]]:
    """The arguments as the schema wants them, and what is still wrong with them.

    Strings become numbers, booleans, null, lists or objects where exactly that is asked for, and
    numbers and booleans become strings; an optional property sent as ``""`` or null is left out
    where its type takes neither. The input is not changed. Each problem names its path.

    Args:
        arguments: an object, its JSON text, or None for no arguments.
    """
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        return {}, [problem_at(ROOT, f"must be a JSON object, not {preview(arguments)}")]
    walk = _Walk()
    return walk.properties(arguments, schema or {}, ROOT), walk.problems


def argument_problems(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """What keeps the arguments from fitting the schema, each problem with its path; [] if they fit.

    The schema is read in the draft it names (2020-12 when it names none), its references are
    followed inside the schema only and nothing is ever fetched. ``format`` is not judged. What we
    cannot judge fits: a schema that does not compile, a reference that leads nowhere, a pattern
    whose matching may take long, a validation that takes too many steps.
    """
    from host.pool.bounded_validation import violations

    texts = (problem_at(each.path, each.text) for each in violations(schema, arguments))
    return list(dict.fromkeys(texts))


def unsendable(arguments: Mapping[str, Any]) -> list[str]:
    """What keeps the arguments from being sent as JSON in UTF-8; [] when they can be.

    A model may write half of a surrogate pair (``"\\ud800"``), a caller any Python object; either
    would end the connection instead of the call.
    """
    try:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        return [problem_at(ROOT, f"must hold whole characters, not half of one ({half})")]
    except (TypeError, ValueError, RecursionError) as error:
        return [problem_at(ROOT, f"must be what JSON can say: {error}")]
    return []


def _parsed(text: str) -> object:
    if not text.strip():
        return {}
    try:
        return parse_json_strict(text)
    except ValueError:
        return text


@dataclass(slots=True)
class _Walk:
    """One pass over the arguments; collects what does not fit."""

    problems: list[str] = field(default_factory=list)

    def value(self, value: Any, schema: object, path: Path) -> Any:
        if not isinstance(schema, Mapping) or len(path) > _MAX_SCHEMA_DEPTH:
            return value
        types = declared_types(schema)
        if types is not None:
            converted = _converted(value, types)
            if isinstance(converted, _Nothing):
                expected = " or ".join(_TYPE_NAMES[name] for name in types)
                self._report(path, f"must be {expected}, not {preview(value)}")
                return value
            value = converted
        allowed = _plain_enum(schema.get("enum"))
        if allowed and not any(_is_same(value, each) for each in allowed):
            choices = preview(allowed, _MAX_ENUM_CHARS)
            self._report(path, f"must be one of {choices}, not {preview(value)}")
        if types and "object" in types and isinstance(value, Mapping):
            return self.properties(value, schema, path)
        if types and "array" in types and isinstance(value, list | tuple):
            items = schema.get("items")
            return [self.value(item, items, (*path, at)) for at, item in enumerate(value)]
        return value

    def properties(self, value: Mapping[str, Any], schema: _Schema, path: Path) -> dict[str, Any]:
        declared = schema.get("properties")
        declared = declared if isinstance(declared, Mapping) else {}
        required = _names(schema.get("required"))
        fitted = {}
        for name, inner in value.items():
            wanted = declared.get(name)
            if name not in required and _stands_for_absence(inner, wanted):
                continue
            fitted[name] = self.value(inner, wanted, (*path, name))
        for name in required:
            if name not in value:
                self._report((*path, name), "is required")
        return fitted

    def _report(self, path: Path, text: str) -> None:
        self.problems.append(problem_at(path, text))


def declared_types(schema: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The types a schema names, in its order; None where it names none that we can read.

    A schema with ``properties`` and no ``type`` is for an object.
    """
    named = schema.get("type")
    if named is None:
        return ("object",) if isinstance(schema.get("properties"), Mapping) else None
    types = tuple(named) if isinstance(named, list | tuple) else (named,)
    is_known = all(isinstance(name, str) and name in _TYPE_NAMES for name in types)
    return types if types and is_known else None


def _names(required: object) -> Sequence[str]:
    if not isinstance(required, list | tuple):
        return ()
    return tuple(dict.fromkeys(name for name in required if isinstance(name, str)))


def _stands_for_absence(value: object, schema: object) -> bool:
    """Whether an optional property was sent as "" or null where its types take neither."""
    types = declared_types(schema) if isinstance(schema, Mapping) else None
    if types is None:
        return False
    return (value == "" and "string" not in types) or (value is None and "null" not in types)


def _converted(value: object, types: Sequence[str]) -> object:
    if any(_is_of(value, name) for name in types):
        return _exact(value) if "integer" in types else value
    for name in types:
        converted = _read_as(name, value.strip()) if isinstance(value, str) else _NOTHING
        if name == "string" and isinstance(value, bool | int | float):
            converted = _written(value)
        if not isinstance(converted, _Nothing):
            return converted
    return _NOTHING


def _written(value: float) -> object:
    try:
        return compact_json(value)
    except ValueError:  # no finite number, or longer than Python writes
        return _NOTHING


def _is_of(value: object, name: str) -> bool:
    match name:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list | tuple)
        case "object":
            return isinstance(value, Mapping)
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        return False
    return name == "number" or isinstance(value, int) or value.is_integer()


def _is_finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def _read_as(name: str, text: str) -> object:
    if name == "integer":
        return _integer(text) if _INTEGER.fullmatch(text) else _NOTHING
    if name == "number":
        return _number(text) if _NUMBER.fullmatch(text) else _NOTHING
    if name == "boolean":
        return {"true": True, "false": False}.get(text.lower(), _NOTHING)
    if name == "null":
        return None if text == "null" else _NOTHING
    if name in ("array", "object") and text[:1] in ("[", "{"):
        parsed = _parsed(text)
        return parsed if _is_of(parsed, name) else _NOTHING
    return _NOTHING


def _integer(digits: str) -> object:
    try:
        return int(digits)
    except ValueError:  # longer than Python reads
        return _NOTHING


def _number(literal: str) -> object:
    if literal[:2].lower() in ("0x", "0o", "0b"):
        return int(literal, 0)
    if _INTEGER.fullmatch(literal):
        whole = _integer(literal)
        return whole if math.isfinite(float(literal)) else _NOTHING
    number = float(literal)
    return _exact(number) if math.isfinite(number) else _NOTHING


def _exact(value: Any) -> Any:
    """5.0 as 5: servers that read integers strictly refuse the point."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_FLOAT
    return int(value) if is_whole else value


def _plain_enum(allowed: object) -> list[object]:
    """The values of an enum of simple values; empty for anything else, which is not enforced."""
    if not isinstance(allowed, list | tuple):
        return []
    is_plain = all(each is None or isinstance(each, str | bool | int | float) for each in allowed)
    return list(allowed) if is_plain else []


def _is_same(value: object, other: object) -> bool:
    """Equal as JSON: ``True`` is not 1, and 1.0 is."""
    return isinstance(value, bool) is isinstance(other, bool) and value == other
