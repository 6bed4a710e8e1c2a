"""Copies of JSON values, however deep, for those who are shown one and may change it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def json_copy(value: object) -> Any:
    """An equal JSON value that shares no dict and no list with the given one, at any depth.

    Any Mapping becomes a dict and a tuple a list; what JSON does not know stays the same object.
    A value that holds itself is one that does.
    """
    copies: dict[int, tuple[object, Any]] = {}  # the original is held, so that no other gets its id
    waiting: list[tuple[Any, Any]] = []

    def copied(part: object) -> Any:
        if not isinstance(part, Mapping | list | tuple):
            return part
        if id(part) not in copies:
            empty: dict[Any, Any] | list[Any] = {} if isinstance(part, Mapping) else []
            copies[id(part)] = part, empty
            waiting.append(copies[id(part)])
        return copies[id(part)][1]

    whole = copied(value)
    while waiting:
        part, copy = waiting.pop()
        if isinstance(part, Mapping):
            copy.update((key, copied(inner)) for key, inner in part.items())
        else:
            copy.extend(map(copied, part))
    return whole
