"""How much work a regular expression of a stranger may cause, before it is run.

Schemas come from servers, and one ``pattern`` in a schema could keep a backtracking matcher busy
for years. So a pattern runs only where its work has a bound, and the bound is small. The bound is
coarse on purpose: it knows characters, classes, groups, alternatives and repetitions; it gives up
on look-around, back-references and a repeated group that can match in more than one way. Ours,
for oddity E15 of the fleet of real servers.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple

_MAX_PATTERN_CHARS = 2000
_MAX_NESTING = 50

_CLASS = re.compile(r"\[\^?\]?((?:\\.|[^\]\\])*)\]", re.DOTALL)
_FUTURE_SET = re.compile(r"\[|--|&&|~~|\|\|")  # Python warns about these inside a class
_REPEAT = re.compile(r"(?:[*+?]|\{(\d+)\}|\{(\d*),(\d*)\})[?+]?")
_BACK_REFERENCE = re.compile(r"\\[1-9kg]")


class _Ways(NamedTuple):
    """In how many ways a piece can match: at most ``factor * (chars + 1) ** degree``."""

    factor: float
    degree: float

    def then(self, other: _Ways) -> _Ways:
        return _Ways(self.factor * other.factor, self.degree + other.degree)

    def or_else(self, other: _Ways) -> _Ways:
        return _Ways(self.factor + other.factor, max(self.degree, other.degree))

    def times(self, least: int, most: int) -> _Ways:
        ways = _ONE if most == 0 else _Ways(_power(self.factor, most), self.degree * most)
        return _Ways(ways.factor * (most - least + 1), ways.degree)


_ONE = _Ways(1, 0)
_ENDLESS = _Ways(1, 1)


class _Unbounded(Exception):
    """The work of the pattern has no bound that we know of."""


def pattern_steps(pattern: str, chars: int) -> float:
    """An upper estimate of a search's steps in a text of so many characters.

    Infinite where no bound is known, and where Python cannot read the pattern at all.
    """
    ways = _ways(pattern)
    if ways is None:
        return math.inf
    starts = 1 if pattern.startswith("^") and "|" not in pattern else chars + 1
    return len(pattern) * starts * ways.factor * _power(chars + 1, ways.degree)


@lru_cache(maxsize=512)
def _ways(pattern: str) -> _Ways | None:
    if len(pattern) > _MAX_PATTERN_CHARS:
        return None
    try:
        ways = _Reader(pattern).whole()
        re.compile(pattern)
    except (_Unbounded, re.error, OverflowError, RecursionError):
        return None
    return ways


def _power(base: float, exponent: float) -> float:
    return math.inf if exponent * math.log(max(base, 1)) > 700 else float(base) ** exponent


class _Reader:
    """Reads a pattern from left to right, counting ways instead of matching."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def whole(self) -> _Ways:
        ways = self._alternatives()
        if self._at < len(self._pattern):
            raise _Unbounded  # a closing bracket too many
        return ways

    def _alternatives(self) -> _Ways:
        ways = self._sequence()
        while self._pattern.startswith("|", self._at):
            self._at += 1
            ways = ways.or_else(self._sequence())
        return ways

    def _sequence(self) -> _Ways:
        ways = _ONE
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            ways = ways.then(self._repeated(self._piece()))
        return ways

    def _piece(self) -> _Ways:
        if self._pattern[self._at] == "(":
            return self._group()
        if self._pattern[self._at] == "[":
            if not (found := _CLASS.match(self._pattern, self._at)) or _FUTURE_SET.search(found[1]):
                raise _Unbounded
            self._at = found.end()
        elif _BACK_REFERENCE.match(self._pattern, self._at):
            raise _Unbounded
        else:
            self._at += 2 if self._pattern[self._at] == "\\" else 1
        return _ONE

    def _group(self) -> _Ways:
        self._at += 1
        if self._pattern.startswith("?", self._at):
            if not self._pattern.startswith("?:", self._at):
                raise _Unbounded  # look-around, flags, names, conditions
            self._at += 2
        self._depth += 1
        if self._depth > _MAX_NESTING:
            raise _Unbounded
        ways = self._alternatives()
        self._depth -= 1
        if not self._pattern.startswith(")", self._at):
            raise _Unbounded
        self._at += 1
        return ways

    def _repeated(self, ways: _Ways) -> _Ways:
        repeat = _REPEAT.match(self._pattern, self._at)
        if not repeat:
            return ways
        self._at = repeat.end()
        exactly, least, most = repeat.groups()
        if repeat[0][0] == "?":
            return ways.times(0, 1)
        if exactly:
            return ways.times(int(exactly), int(exactly))
        if most:
            return ways.times(int(least or 0), int(most))
        if ways != _ONE:
            raise _Unbounded  # every round doubles the ways, or worse
        return _ENDLESS
