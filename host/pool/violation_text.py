"""What a model is told about a value that does not fit its schema, in our words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from host.pool.argument_paths import Path, preview

if TYPE_CHECKING:
    from jsonschema import ValidationError

_MAX_WANTED_CHARS = 200

_WANTED: Mapping[str, Callable[[Any], str]] = {
    "minimum": lambda limit: f"must be at least {limit}",
    "maximum": lambda limit: f"must be at most {limit}",
    "exclusiveMinimum": lambda limit: f"must be greater than {limit}",
    "exclusiveMaximum": lambda limit: f"must be less than {limit}",
    "multipleOf": lambda step: f"must be a multiple of {step}",
    "minLength": lambda limit: f"must have at least {limit} characters",
    "maxLength": lambda limit: f"must have at most {limit} characters",
    "pattern": lambda pattern: f"must match the pattern {preview(pattern, _MAX_WANTED_CHARS)}",
    "minItems": lambda limit: f"must have at least {limit} items",
    "maxItems": lambda limit: f"must have at most {limit} items",
    "uniqueItems": lambda _: "must not have the same item twice",
    "minProperties": lambda limit: f"must have at least {limit} properties",
    "maxProperties": lambda limit: f"must have at most {limit} properties",
    "enum": lambda choices: f"must be one of {preview(choices, _MAX_WANTED_CHARS)}",
    "const": lambda value: f"must be {preview(value, _MAX_WANTED_CHARS)}",
    "type": lambda types: f"must be of type {_either(types)}",
    "not": lambda _: "has a value or form that is ruled out",
}


def violation_text(error: ValidationError) -> tuple[Path, str]:
    """Where the value does not fit and what is wanted there.

    Of alternatives the one is told that the value came closest to, judged by how deep it fits.
    """
    path: Path = tuple(error.absolute_path)
    keyword = str(error.validator)
    wanted: Any = error.validator_value
    value: Any = error.instance
    if keyword in ("anyOf", "oneOf"):
        return _alternatives(error, path)
    if keyword == "required" and isinstance(value, Mapping):
        return path, f"lacks {_quoted([name for name in wanted if name not in value])}"
    if keyword == "additionalProperties" and wanted is False:
        return path, _extra_properties(error.schema, value)
    if keyword in _WANTED:
        return path, f"{_WANTED[keyword](wanted)}, not {preview(value)}"
    return path, f"does not meet the schema's {keyword}: {preview(wanted, _MAX_WANTED_CHARS)}"


def _extra_properties(schema: Any, value: Mapping[str, Any]) -> str:
    known = schema.get("properties", {})
    if "patternProperties" in schema:
        return "has properties of names that are not allowed"
    extra = _quoted([name for name in value if name not in known])
    return f"does not take {extra}" + (f"; there are {_quoted(known)}" if known else "")


def _alternatives(error: ValidationError, path: Path) -> tuple[Path, str]:
    branches = error.context or []
    if not branches:
        return path, f"fits more than one form where it must fit exactly one: {_shown(error)}"
    types = [each.validator_value for each in branches if each.validator == "type"]
    if len(types) == len(branches) and all(tuple(b.absolute_path) == path for b in branches):
        return path, f"must be of type {_either(types)}, not {_shown(error)}"
    closest = max(branches, key=lambda each: len(each.absolute_path))
    if len(closest.absolute_path) > len(path):
        return violation_text(closest)
    texts = dict.fromkeys(violation_text(each)[1] for each in branches)
    return path, f"fits none of the allowed forms: {' / '.join(texts)}"[:_MAX_WANTED_CHARS]


def _shown(error: ValidationError) -> str:
    return preview(error.instance)


def _either(types: object) -> str:
    names: dict[str, None] = {}
    for each in types if isinstance(types, list) else [types]:
        names.update(dict.fromkeys(map(str, each if isinstance(each, list) else [each])))
    return " or ".join(names)


def _quoted(names: object) -> str:
    listed = [f'"{name}"' for name in names] if isinstance(names, list | Mapping) else []
    text = ", ".join(listed)
    return text if len(text) <= _MAX_WANTED_CHARS else text[: _MAX_WANTED_CHARS - 1] + "…"
