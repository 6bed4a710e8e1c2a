"""A call that was written for a schema which its tool has no more. Source: design §8, issue 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from host.pool.argument_paths import problem_at
from host.pool.arguments import argument_problems
from host.text.json_text import compact_json
from host.text.truncation import truncate_text

MAX_PROBLEM_CHARS = 1_000
"""How much of what is wrong is told; values may be quoted in it."""


def changed_schema_refusal(
    name: str,
    *,
    known: Mapping[str, Any],
    current: Mapping[str, Any],
    arguments: Mapping[str, Any],
    problems: Sequence[str] = (),
) -> str:
    """What a caller reads whose arguments do not fit the schema of today; "" when they do.

    They fit when the schema says so and every argument that the old one named is still named:
    an open schema would take the others, and the tool pass over them.

    Args:
        name: qualified.
        known: the schema the arguments were written for.
        problems: what is known to be wrong already.
    """
    wrong = [*problems] or [*_gone(known, current, arguments)]
    wrong = wrong or argument_problems(current, arguments)
    if not wrong:
        return ""
    return (
        f"{name} has another schema since it was listed, and the arguments do not fit it, so the "
        f"call was not made: {truncate_text('; '.join(wrong), MAX_PROBLEM_CHARS)}. "
        f"Call it again with arguments for this schema: {compact_json(current)}"
    )


def _gone(
    known: Mapping[str, Any], current: Mapping[str, Any], arguments: Mapping[str, Any]
) -> list[str]:
    before, now = known.get("properties"), current.get("properties")
    if not isinstance(before, Mapping) or not isinstance(now, Mapping) or _takes_more(current):
        return []
    return [
        problem_at((argument,), "is not known any more")
        for argument in arguments
        if argument in before and argument not in now
    ]


def _takes_more(schema: Mapping[str, Any]) -> bool:
    """Whether arguments may be named elsewhere than among the properties."""
    places = ("patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")
    return any(place in schema for place in places)
