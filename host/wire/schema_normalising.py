"""One JSON Schema, rewritten so that servers which compile schemas into grammars accept it.

llama.cpp compiles all tools of a request into one grammar, and one hostile shape fails the whole
request. This module does the recursive part of agent-core §6, step 3.
"""

from __future__ import annotations

from typing import Any

from host.wire.schema_positions import Schema, map_subschemas

_SCALAR_TYPES = frozenset({"string", "number", "integer", "boolean", "null", "array"})
_EXCLUSIVE_BOUNDS = ("exclusiveMinimum", "exclusiveMaximum")
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")


def empty_object() -> Schema:
    """A schema of an object about which nothing is said; new each time."""
    return {"type": "object", "properties": {}}


def normalise(schema: Any) -> Any:
    """What stands at a schema position, in a form that grammar builders read.

    Type lists become one type, ``nullable`` or a union; a union with null becomes ``nullable``;
    patterns with look-around and boolean bounds go; objects get ``properties``; a reference stands
    alone. A string in place of a schema is taken for a type's name, a boolean stays, anything else
    is an empty object.

    A union of a reference and null stays one: the reference alone, as in agent-core §6, would take
    null from those who send it for "none" (issue 3, acceptance 4; aws-cloudwatch).
    """
    if isinstance(schema, str):
        return {"type": schema} if schema in _SCALAR_TYPES else empty_object()
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        return empty_object()
    plain = map_subschemas(schema, normalise)
    _spread_types(plain)
    for union in ("anyOf", "oneOf"):
        collapsed = without_null_branch(plain, union)
        plain = plain if isinstance(collapsed.get("$ref"), str) else collapsed
    return _finished(plain)


def _spread_types(schema: Schema) -> None:
    listed = schema.get("type")
    if not isinstance(listed, list | tuple):
        return
    types = list(dict.fromkeys(name for name in listed if isinstance(name, str)))
    if "null" in types:
        schema["nullable"] = True
        types.remove("null")
    if len(types) > 1:
        del schema["type"]
        # A union the schema has already says more than its list of types.
        schema.setdefault("anyOf", [_of_type(name) for name in types])
    else:
        schema["type"] = types[0] if types else "null"


def _of_type(name: str) -> Schema:
    return empty_object() if name == "object" else {"type": name}


def without_null_branch(schema: Schema, union: str) -> Schema:
    """The schema with its union of null and one other branch replaced by that branch, nullable.

    Itself where there is no such union.
    """
    branches = schema.get(union)
    if not isinstance(branches, list):
        return schema
    real = [branch for branch in branches if not _is_null(branch)]
    if len(real) != 1 or len(branches) == 1 or not isinstance(real[0], dict):
        return schema
    rest = {keyword: value for keyword, value in schema.items() if keyword != union}
    return {**rest, "nullable": True, **real[0]}


def _is_null(branch: Any) -> bool:
    return isinstance(branch, dict) and branch.get("type") == "null"


def _finished(schema: Schema) -> Schema:
    if isinstance(schema.get("$ref"), str):
        return {"$ref": schema["$ref"]}
    schema.pop("$ref", None)
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and any(mark in pattern for mark in _LOOK_AROUND):
        del schema["pattern"]
    for bound in _EXCLUSIVE_BOUNDS:  # draft 4 has booleans there; no later one takes them
        if isinstance(schema.get(bound), bool):
            del schema[bound]
    if schema.get("type") == "object" and not isinstance(schema.get("properties"), dict):
        schema["properties"] = {}
    return schema
