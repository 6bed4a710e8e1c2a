"""Validation by a stranger's schema: in its own draft, without fetching, in bounded time.

This is the only module that loads ``jsonschema``; import it when it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators
from jsonschema.protocols import Validator
from referencing import Registry

from host.pool.argument_paths import Path
from host.pool.pattern_cost import pattern_steps
from host.pool.violation_text import violation_text
from host.text.identity_memo import IdentityMemo

MAX_STEPS = 2_000_000
"""Steps of pattern matching one validation may take in all; a followed reference is 500."""

_REFERENCE_STEPS = 500
_MAX_REFERENCE_DEPTH = 64
"""References followed inside each other: well before the interpreter's own limit is met."""
_MAX_VIOLATIONS = 20

_UNKNOWN: type[Validator] = Draft202012Validator  # what a schema without a known draft is read as

_Keyword = Callable[[Validator, Any, Any, Mapping[str, Any]], Iterator[ValidationError] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One way in which a value does not fit: where, and what is wanted there."""

    path: Path
    text: str


class _OutOfSteps(Exception):
    """The validation took longer than it may; it gives no verdict."""


class _Allowance(FormatChecker):
    """The steps that one validation has left.

    It is a format checker that checks nothing, because that is the one object that jsonschema
    hands down to every subschema.

    Attributes:
        name_patterns: every pattern for property names that stands anywhere in the schema.
    """

    def __init__(self, name_patterns: tuple[str, ...]) -> None:
        super().__init__(formats=())
        self.name_patterns = name_patterns
        self._steps = float(MAX_STEPS)
        self._depth = 0

    def affords(self, steps: float) -> bool:
        """Takes the steps off, if there are as many; False leaves things as they are."""
        if not steps <= self._steps:
            return False
        self._steps -= steps
        return True

    @contextmanager
    def reference(self) -> Iterator[None]:
        """Count a reference while it is followed.

        Raises:
            _OutOfSteps: it is one too many, in all or inside each other.
        """
        if self._depth >= _MAX_REFERENCE_DEPTH or not self.affords(_REFERENCE_STEPS):
            raise _OutOfSteps
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1


def violations(schema: Mapping[str, Any], value: object) -> list[Violation]:
    """Where the value does not fit the schema, in the value's order; [] too where no verdict is.

    No verdict: the schema does not compile, a reference leads out of it or nowhere, or the work
    has no small bound (``MAX_STEPS``). A pattern without a bound is passed over. At most 20.
    """
    compiled = _compiled(schema)
    if compiled is None:
        return []
    validator_class, name_patterns = compiled
    validator = validator_class(
        dict(schema), registry=Registry(), format_checker=_Allowance(name_patterns)
    )
    return _verdict(validator, value)


def _verdict(validator: Validator, value: Any) -> list[Violation]:
    """Contains whatever jsonschema raises on a schema that its own meta-schema let pass."""
    try:
        errors = sorted(validator.iter_errors(value), key=lambda each: len(each.absolute_path))
        return [
            Violation(path=tuple(path), text=text)
            for path, text in map(violation_text, errors[:_MAX_VIOLATIONS])
        ]
    except Exception:  # noqa: BLE001 - references that lead nowhere or in circles, _OutOfSteps, …
        return []
    except BaseException as error:
        if _is_panic(error):
            return []
        raise


def _is_panic(error: BaseException) -> bool:
    """Whether it comes from ``rpds``, in Rust, under ``referencing``.

    It compares keys by Python, and where that meets the recursion limit it panics: no
    ``Exception``, and of a class that nobody can import.
    """
    kind = type(error)
    return (kind.__module__, kind.__name__) == ("pyo3_runtime", "PanicException")


def _compile(schema: Mapping[str, Any]) -> tuple[type[Validator], tuple[str, ...]] | None:
    """The validator's class and the patterns for names; None for a schema that does not compile.

    Contains whatever jsonschema raises on a schema that is none.
    """
    named = schema.get("$schema")
    base: Any = _draft(named) if isinstance(named, str) else _UNKNOWN
    try:
        base.check_schema(schema, format_checker=FormatChecker(formats=()))
        name_patterns = tuple(dict.fromkeys(_name_patterns(schema)))
    except Exception:  # noqa: BLE001 - SchemaError, and errors of any kind on nonsense
        return None
    except BaseException as error:
        if _is_panic(error):
            return None
        raise
    return _bounded(base), name_patterns


_compiled = IdentityMemo(_compile, max_entries=256)


def _draft(named: str) -> type[Validator]:
    """The draft of a ``$schema``, however its address is spelled; 2020-12 for an unknown one."""
    place = re.sub("^https?:", "", named).rstrip("#")
    for scheme, end in (("http", "#"), ("https", "")):
        found = validators.validator_for({"$schema": f"{scheme}:{place}{end}"}, default=_UNKNOWN)
        if found is not _UNKNOWN:
            return found
    return _UNKNOWN


def _name_patterns(node: object) -> Iterator[str]:
    """Every key of every ``patternProperties``, also where that is a property of the name."""
    if isinstance(node, Mapping):
        if isinstance(keyed := node.get("patternProperties"), Mapping):
            yield from map(str, keyed)
        node = list(node.values())
    if isinstance(node, list | tuple):
        for inner in node:
            yield from _name_patterns(inner)


@lru_cache(maxsize=8)
def _bounded(base: type[Validator]) -> type[Validator]:
    """The draft's validator with its costly keywords on an allowance."""
    original: Mapping[str, _Keyword] = base.VALIDATORS
    changed: dict[str, _Keyword] = {"pattern": _pattern}
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        if keyword in original:
            changed[keyword] = _counted(original[keyword])
    for keyword in ("patternProperties", "additionalProperties", "unevaluatedProperties"):
        if keyword in original:
            changed[keyword] = _naming(original[keyword])
    extend: Callable[..., type[Validator]] = validators.extend
    return extend(base, changed)


def _allowance(validator: Any) -> _Allowance:
    allowance = validator.format_checker
    assert isinstance(allowance, _Allowance)  # violations() made it
    return allowance


def _pattern(
    validator: Validator, pattern: str, value: Any, _schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(value, str):
        return
    is_affordable = _allowance(validator).affords(pattern_steps(pattern, len(value)))
    if is_affordable and not re.search(pattern, value):
        yield ValidationError("does not match")


def _counted(original: _Keyword) -> _Keyword:
    def reference(
        validator: Validator, target: Any, value: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        with _allowance(validator).reference():
            yield from original(validator, target, value, schema) or ()

    return reference


def _naming(original: _Keyword) -> _Keyword:
    """The keyword, unless property names would meet patterns that are not affordable."""

    def keyword(
        validator: Validator, wanted: Any, value: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if not isinstance(value, dict) or not value:
            return
        allowance = _allowance(validator)
        longest = max(map(len, value))
        steps = sum(pattern_steps(each, longest) for each in allowance.name_patterns)
        if allowance.affords(steps * len(value)):
            yield from original(validator, wanted, value, schema) or ()

    return keyword
