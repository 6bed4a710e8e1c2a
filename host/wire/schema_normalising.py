"""One JSON Schema, rewritten so that servers which compile schemas into grammars accept it.

llama.cpp compiles all tools of a request into one grammar, and one hostile shape fails the whole
request. This module does the recursive part of agent-core §6, step 3. What it cannot say exactly,
it says more widely, also where that takes another keyword (`schema_widening`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from host.wire.schema_positions import Schema, map_subschemas
from host.wire.schema_widening import REVERSING, UNEVALUATED, laid_over, without_reversals

_SCALAR_TYPES = frozenset({"string", "number", "integer", "boolean", "null", "array"})
_EXCLUSIVE_BOUNDS = ("exclusiveMinimum", "exclusiveMaximum")
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_MAY_REFUSE_NULL = frozenset({"enum", "const", "not", "allOf", "anyOf", "oneOf", "if", "$ref"})
_SAYS_NOTHING = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "nullable",
        "$comment",
        "$defs",
        "definitions",
    }
)


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
    return normalised(schema)[0]


def normalised(schema: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A whole document as `normalise` makes it, and what does the same to any part of it.

    Where one part of the document has come to accept more, so may whatever refers to it.
    """
    normaliser = _Normaliser()
    plain = normaliser(schema)
    if not normaliser.has_widened:
        return plain, normaliser
    normaliser = _Normaliser(is_wary=True)
    return normaliser(schema), normaliser


def without_null_branch(schema: Schema, union: str) -> Schema:
    """The schema with its union of null and one other branch replaced by that branch, nullable.

    Itself where there is no such union, and where the branch is a reference.
    """
    branches = schema.get(union)
    if not isinstance(branches, list):
        return schema
    real = [branch for branch in branches if not _is_null(branch)]
    if len(real) != 1 or len(branches) == 1 or not isinstance(real[0], dict) or "$ref" in real[0]:
        return schema
    rest = {keyword: value for keyword, value in schema.items() if keyword != union}
    return laid_over({**rest, "nullable": True}, real[0])


class _Normaliser:
    """Normalises schemas of one document.

    Attributes:
        has_widened: whether any of them accepts more than before.
        is_wary: every reference is taken to accept more, and what depends on what else a schema
            evaluates is not relied on.
    """

    def __init__(self, *, is_wary: bool = False) -> None:
        self.is_wary = is_wary
        self.has_widened = False

    def __call__(self, schema: Any) -> Any:
        if isinstance(schema, str):
            return {"type": schema} if schema in _SCALAR_TYPES else empty_object()
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            return empty_object()
        plain, widened = self._with_plain_parts(schema)
        self._spread_types(plain)
        for union in ("anyOf", "oneOf"):
            collapsed = without_null_branch(plain, union)
            self._note(collapsed is not plain and not _is_merely_nullable(plain, union))
            plain = collapsed
        return self._finished(without_reversals(plain, widened) if widened else plain)

    def _with_plain_parts(self, schema: Schema) -> tuple[Schema, list[str]]:
        """A copy with all parts normalised, and the keywords whose parts now accept more."""
        plain: Schema = {}
        widened: list[str] = []
        for keyword, value in schema.items():
            before, self.has_widened = self.has_widened, False
            plain |= map_subschemas({keyword: value}, self)
            if self.has_widened and keyword in REVERSING:
                widened.append(keyword)
            self.has_widened |= before
        return plain, widened

    def _spread_types(self, schema: Schema) -> None:
        listed = schema.get("type")
        if not isinstance(listed, list | tuple):
            return
        types = list(dict.fromkeys(name for name in listed if isinstance(name, str)))
        if "null" in types:
            self._note(bool(_MAY_REFUSE_NULL & schema.keys()))
            schema["nullable"] = True
            types.remove("null")
        if len(types) > 1:
            del schema["type"]
            # A union the schema has already says more than its list of types.
            self._note("anyOf" in schema)
            schema.setdefault("anyOf", [_of_type(name) for name in types])
        else:
            schema["type"] = types[0] if types else "null"

    def _finished(self, schema: Schema) -> Schema:
        if isinstance(schema.get("$ref"), str):
            self._note(self.is_wary or not schema.keys() - {"$ref"} <= _SAYS_NOTHING)
            return {"$ref": schema["$ref"]}
        schema.pop("$ref", None)
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and any(mark in pattern for mark in _LOOK_AROUND):
            del schema["pattern"]
            self._note(True)
        for bound in _EXCLUSIVE_BOUNDS:  # draft 4 has booleans there; no later one takes them
            if isinstance(schema.get(bound), bool):
                self._note(schema.pop(bound))
        for keyword in UNEVALUATED if self.is_wary else ():
            self._note(schema.pop(keyword, None) is not None)
        if schema.get("type") == "object" and not isinstance(schema.get("properties"), dict):
            schema["properties"] = {}
        return schema

    def _note(self, is_wider: bool) -> None:
        self.has_widened |= is_wider


def _of_type(name: str) -> Schema:
    return empty_object() if name == "object" else {"type": name}


def _is_null(branch: Any) -> bool:
    return isinstance(branch, dict) and branch.get("type") == "null"


def _is_merely_nullable(schema: Schema, union: str) -> bool:
    """Whether ``nullable`` says exactly what a union with null did."""
    rest = schema.keys() - {union}
    real = next(branch for branch in schema[union] if not _is_null(branch))
    return rest <= _SAYS_NOTHING and isinstance(real.get("type"), str)
