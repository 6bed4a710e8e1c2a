"""The limits of a loop as values: when a deadline, a budget or a repetition ends it.

Both loops stand on these. They differ in what they count as a repetition: the bounded loop reads
one flat sequence of calls (tool-loop spec §6), the agent loop counts identical calls of one step
once (design §8).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from host.text.json_text import any_json, canonical_json

STUCK_AFTER = 3
"""How many identical calls in a row are one too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """A moment on the monotonic clock; ``at_seconds`` is infinite for none."""

    at_seconds: float = math.inf

    @classmethod
    def of(
        cls, moment: datetime | float | None, *, now: datetime, clock_seconds: float
    ) -> Deadline:
        """The deadline at a wall-clock moment, fixed on the monotonic clock.

        Args:
            moment: aware time, or epoch seconds; None for no deadline.
            now: the wall clock's time at this moment, aware.
            clock_seconds: the monotonic clock's reading at this moment.

        Raises:
            ValueError: ``moment`` is a time without a zone, or not a number.
        """
        if moment is None:
            return cls()
        if isinstance(moment, datetime):
            if moment.utcoffset() is None:
                raise ValueError("a deadline needs a time zone; use an aware datetime")
            return cls(at_seconds=clock_seconds + (moment - now).total_seconds())
        if math.isnan(moment):
            raise ValueError("a deadline is a datetime or epoch seconds, not NaN")
        return cls(at_seconds=clock_seconds + (moment - now.timestamp()))

    def passed(self, clock_seconds: float) -> bool:
        """Whether the moment has come; being exactly there counts."""
        return clock_seconds >= self.at_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Money spent against a ceiling; ``max_cost`` None for no ceiling.

    Ask ``spent_up`` after a charge, not before the first: a ceiling of 0 stops after one charge.
    """

    max_cost: float | None = None
    spent: float = 0.0

    def charged(self, cost: float) -> Budget:
        """The budget with ``cost`` added to what was spent."""
        return Budget(max_cost=self.max_cost, spent=self.spent + cost)

    @property
    def spent_up(self) -> bool:
        """Whether the ceiling is reached; reaching it exactly counts."""
        return self.max_cost is not None and self.spent >= self.max_cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Streak:
    """How often in a row the last call was made; an exempt call (None) has no streak."""

    signature: str | None = None
    length: int = 0

    def after(self, signature: str | None) -> Streak:
        """The streak once one more call is made (the bounded loop's rule, call by call)."""
        if signature is None:
            return Streak()
        repeated = signature == self.signature
        return Streak(signature=signature, length=self.length + 1 if repeated else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternation:
    """How long two calls have been taking turns: after A, B, A, B it is 4."""

    before: str | None = None
    last: str | None = None
    length: int = 0

    def after(self, signature: str | None) -> Alternation:
        """The alternation once one more call is made; an exempt call (None) ends it."""
        if signature is None:
            return Alternation()
        if self.last is None or signature == self.last:
            return Alternation(last=signature, length=1)
        length = self.length + 1 if signature == self.before else 2
        return Alternation(before=self.last, last=signature, length=length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """The agent loop's view of repeated calls: identical calls of one step count once."""

    streak: Streak = Streak()
    alternation: Alternation = Alternation()

    def after_step(self, signatures: Iterable[str | None]) -> tuple[Repetition, int, int]:
        """The repetition once a step's calls are made; exempt calls are None.

        Returns also the longest streak and the longest alternation on the way.
        """
        streak, alternation = self.streak, self.alternation
        longest_streak = longest_alternation = 0
        for signature in _counted_once(signatures):
            streak, alternation = streak.after(signature), alternation.after(signature)
            longest_streak = max(longest_streak, streak.length)
            longest_alternation = max(longest_alternation, alternation.length)
        repetition = Repetition(streak=streak, alternation=alternation)
        return repetition, longest_streak, longest_alternation


def _counted_once(signatures: Iterable[str | None]) -> Iterator[str | None]:
    """Each signature where it first stands; exempt ones all."""
    seen: set[str] = set()
    for signature in signatures:
        if signature is not None and signature in seen:
            continue
        if signature is not None:
            seen.add(signature)
        yield signature


def flat_signature(name: str, args: Mapping[str, Any]) -> str:
    """What makes two calls identical to the bounded loop.

    Top-level keys are sorted, the order of nested ones matters, and 1 is 1.0 (tool-loop spec §6).
    Arguments come from callers, and may be what JSON has no form for.
    """
    return f"{name}\0{any_json({key: args[key] for key in sorted(args, key=str)})}"


def call_key(name: str, args: Mapping[str, Any]) -> str:
    """What makes two calls identical to the agent loop: the order of keys matters at no depth."""
    return f"{name}\0{canonical_json(args)}"
