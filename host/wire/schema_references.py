"""Local references of a JSON Schema: where they lead, and how they keep leading there (ours).

What a root is folded from goes, and with it what references may point at: a branch, a place inside
one, an anchor in a definition that nobody names. Such a target gets a definition of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from host.wire.schema_positions import (
    Schema,
    decoded,
    map_subschemas,
    pools_of,
    whole_entry,
)

NOWHERE = object()
"""What a reference leads to that leads to no schema."""

_HOME = "$defs"
_NO_NAME = re.compile(r"[^\w.-]+", re.ASCII)


def references_in(schema: Any) -> list[str]:
    """Every reference at a schema position, in order."""
    found: list[str] = []

    def look(part: Any) -> Any:
        if isinstance(part, dict):
            if isinstance(part.get("$ref"), str):
                found.append(part["$ref"])
            map_subschemas(part, look, everywhere=True)
        return part

    look(schema)
    return found


def target_of(document: Schema, pointer: str) -> Any:
    """The schema or boolean that a local reference leads to; ``NOWHERE`` for any other.

    A definition by its name, any place by its path, and an anchor by the name it gives itself.
    """
    if entry := whole_entry(pools_of(document), pointer):
        target = document[entry[0]][entry[1]]
    elif pointer == "#":
        target = document
    elif pointer.startswith("#/"):
        target = _at_path(document, pointer.removeprefix("#/").split("/"))
    elif pointer.startswith("#"):
        target = _anchored(document, unquote(pointer.removeprefix("#")))
    else:
        return NOWHERE
    return target if isinstance(target, dict | bool) else NOWHERE


def with_targets(folded: Schema, original: Schema, normalise: Callable[[Any], Any]) -> Schema:
    """A folded root whose references lead to what they led to before it was folded.

    Those that do already are left alone, and so are those that never led anywhere.

    Args:
        original: the root as it was given, and ``normalise`` what was done to all its parts.
    """
    moved: dict[str, str] = {}
    housed: Schema = {}
    waiting, seen = references_in(folded), set[str]()
    while waiting:
        pointer = waiting.pop(0)
        target = NOWHERE if pointer in seen else target_of(original, pointer)
        seen.add(pointer)
        if target is NOWHERE:
            continue
        wanted = normalise(target)
        if _is_path(pointer) and wanted == target_of(folded, pointer):
            continue
        moved[pointer] = "" if _is_path(pointer) else _name_of(target, original)
        if not moved[pointer]:
            name = _free_name(pointer, (*pools_of(folded).get(_HOME, ()), *housed))
            moved[pointer] = f"#/{_HOME}/{name}"
            housed[name] = wanted
            waiting += references_in(wanted)
    if not moved:
        return folded
    homes = {**pools_of(folded).get(_HOME, {}), **housed}
    moved_in: Schema = _redirected({**folded, _HOME: homes} if homes else folded, moved)
    return moved_in


def _is_path(pointer: str) -> bool:
    return pointer == "#" or pointer.startswith("#/")


def _name_of(target: Any, document: Schema) -> str:
    """The pointer to a definition by its name; "" for what is none itself."""
    for pool, schemas in pools_of(document).items():
        for name, schema in schemas.items():
            if schema is target:
                return f"#/{pool}/{name.replace('~', '~0').replace('/', '~1')}"
    return ""


def _redirected(schema: Any, moved: Mapping[str, str]) -> Any:
    if not isinstance(schema, dict):
        return schema
    copy = map_subschemas(schema, lambda part: _redirected(part, moved), everywhere=True)
    if isinstance(copy.get("$ref"), str):
        copy["$ref"] = moved.get(copy["$ref"], copy["$ref"])
    return copy


def _at_path(document: Any, segments: Iterable[str]) -> Any:
    target = document
    for segment in segments:
        name = decoded(segment)
        if isinstance(target, dict) and name in target:
            target = target[name]
        elif isinstance(target, list) and name.isascii() and name.isdigit() and len(name) < 6:
            target = target[int(name)] if int(name) < len(target) else NOWHERE
        else:
            return NOWHERE
    return target


def _anchored(document: Schema, name: str) -> Any:
    found: list[Any] = []

    def look(part: Any) -> Any:
        if isinstance(part, dict):
            names = (part.get("$anchor"), part.get("$dynamicAnchor"))
            ids = (part.get("$id"), part.get("id"))
            if name in names or f"#{name}" in ids:
                found.append(part)
            map_subschemas(part, look, everywhere=True)
        return part

    look(document)
    return found[0] if found else NOWHERE


def _free_name(pointer: str, taken: Iterable[str]) -> str:
    """A name for a definition, after the last part of a pointer that is none of those taken."""
    said = _NO_NAME.sub("_", decoded(pointer.rpartition("/")[2].lstrip("#"))) or "root"
    names, number = set(taken), 1
    name = said
    while name in names:
        number += 1
        name = f"{said}_{number}"
    return name
