"""Which tools an endpoint refuses: what to try next, and what follows, without I/O (ours).

A refused list says that some tool is at fault, not which. Halves of what is in doubt are tried
until one tool is left; it is degraded, and the whole is tried again. Each tool found costs the
logarithm of the list and one probe more, so that two of 128 or three of 25 are found for sure.
What the probes do not suffice for is degraded unproven. Where each tool is taken alone, how many
are taken together is found by halves as well. Whatever the endpoint's rule is, the outcome is one
that a probe has seen accepted.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

MAX_PROBES = 24
"""The most requests one search makes."""

RESERVED_PROBES = 3
"""Kept for the end: to try the rest degraded, wholly and in part."""

Form = Literal["whole", "bare"]
"""A tool as it is, or with an empty object schema; one left out has no form."""

Fault = Literal["tools", "too many", "all tools", "elsewhere"]


@dataclass(frozen=True, slots=True)
class Trial:
    """A list of tools to try.

    Attributes:
        forms: which tools, by index, and how; empty for none.
        is_stranger: in place of them one plain tool that is none of the list.
    """

    forms: Mapping[int, Form] = field(default_factory=dict)
    is_stranger: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is at fault, and what is accepted instead.

    Attributes:
        fault: "tools" for those named here; "too many" where it is their number; "all tools"
            where the endpoint takes none at all; "elsewhere" when the request is refused without
            tools too.
        bare: to be sent with an empty schema; out: to be left out; each by index, ascending.
        unproven: of these, the ones in which no fault was shown.
        most: how many tools are taken together, for "too many"; else None.
        probes: how many requests it took.
    """

    fault: Fault
    bare: tuple[int, ...] = ()
    out: tuple[int, ...] = ()
    unproven: tuple[int, ...] = ()
    most: int | None = None
    probes: int = 0


Search: TypeAlias = Generator[Trial, bool, Finding]
"""Yields what to try, is sent whether that was refused, and returns what was found."""


def culprit_search(
    count: int, *, suspects: Collection[int] = (), max_probes: int = MAX_PROBES
) -> Search:
    """A search among ``count`` tools, which were refused together; at most ``max_probes`` probes.

    Args:
        suspects: the tools that the refusal seems to speak of; they are tried first.
    """
    return _Search(count, frozenset(suspects), max(max_probes, RESERVED_PROBES + 3)).run()


class _Search:
    def __init__(self, count: int, suspects: frozenset[int], max_probes: int) -> None:
        self._count = count
        self._suspects = suspects
        self._left = self._max_probes = max_probes
        self._known: dict[frozenset[tuple[int, Form]], bool] = {}
        self._forms: dict[int, Form] = dict.fromkeys(range(count), "whole")
        self._doubted = list(range(count))
        self._unproven: set[int] = set()
        self._takes_bare = False

    def run(self) -> Search:
        self._known[_key(self._forms)] = True
        self._takes_bare = not (yield from self._refused(self._all_bare()))
        if not self._takes_bare:
            if (yield from self._refused({})):
                return self._found("elsewhere")
            self._left -= 1
            if (yield Trial(is_stranger=True)):
                return self._found("all tools")
        while self._doubted and self._left > RESERVED_PROBES:
            group = yield from self._narrowed()
            if self._may_be_too_many(group) and (yield from self._fits_alone(*group)):
                group = yield from self._first_too_much()
                if (yield from self._fits_alone(*group)):
                    return (yield from self._too_many(*group))
            yield from self._degrade(group)
            if not (yield from self._refused(self._forms)):
                return self._found("tools")
        yield from self._settle()
        return self._found("tools")

    def _narrowed(self) -> Generator[Trial, bool, list[int]]:
        """The smallest group known to hold a culprit, as far as the probes go."""
        group = self._doubted
        while len(group) > 1 and self._left > RESERVED_PROBES:
            half = self._part_of(group)
            if (yield from self._refused(dict.fromkeys(half, "whole"))):
                group = half
            else:
                self._doubted = _without(self._doubted, half)
                group = _without(group, half)
        return group

    def _may_be_too_many(self, group: list[int]) -> bool:
        return len(group) == 1 and not self._takes_bare and self._left > RESERVED_PROBES + 1

    def _fits_alone(self, index: int) -> Generator[Trial, bool, bool]:
        return not (yield from self._refused({index: self._forms[index]}))

    def _first_too_much(self) -> Generator[Trial, bool, list[int]]:
        """The tool with which a beginning of the list is refused that was taken without it."""
        forms = list(self._forms.items())
        taken, refused = 0, len(forms)
        while refused - taken > 1 and self._left > RESERVED_PROBES:
            middle = (taken + refused) // 2
            if (yield from self._refused(dict(forms[:middle]))):
                refused = middle
            else:
                taken = middle
        return [forms[taken][0]]

    def _too_many(self, first: int) -> Generator[Trial, bool, Finding]:
        """Leaves out what comes from ``first`` on, or it alone where that is enough."""
        rest = [index for index in self._forms if index >= first]
        without = {index: form for index, form in self._forms.items() if index != first}
        is_clash = len(rest) > 1 and not (yield from self._refused(without))
        for index in [first] if is_clash else rest:
            self._unproven.add(index)
            del self._forms[index]
        return self._found("tools" if is_clash else "too many")

    def _part_of(self, group: list[int]) -> list[int]:
        named = [index for index in group if index in self._suspects]
        return named if 0 < len(named) < len(group) else group[: len(group) // 2]

    def _degrade(self, group: list[int]) -> Generator[Trial, bool, None]:
        self._doubted = _without(self._doubted, group)
        if len(group) > 1:
            self._unproven.update(group)
        for index in group:
            is_bare = self._takes_bare
            if not is_bare and self._left > RESERVED_PROBES:
                is_bare = not (yield from self._refused({index: "bare"}))
            if is_bare:
                self._forms[index] = "bare"
            else:
                del self._forms[index]

    def _settle(self) -> Generator[Trial, bool, None]:
        """Takes the best outcome there is when the probes end, or when no single tool explains."""
        rest = list(self._doubted)
        self._unproven.update(rest)
        yield from self._degrade(rest)
        if not (yield from self._refused(self._forms)):
            return
        accepted = [dict(key) for key, refused in self._known.items() if not refused]
        best = max(accepted, key=lambda forms: (list(forms.values()).count("whole"), len(forms)))
        mixed = {**self._all_bare(), **best} if self._takes_bare else best
        is_mixed_refused = yield from self._refused(mixed)
        self._forms = self._all_bare() if is_mixed_refused else mixed
        self._unproven = set(range(self._count))

    def _refused(self, forms: Mapping[int, Form]) -> Generator[Trial, bool, bool]:
        key = _key(forms)
        if key not in self._known:
            self._left -= 1
            self._known[key] = yield Trial(dict(sorted(forms.items())))
        return self._known[key]

    def _all_bare(self) -> dict[int, Form]:
        return dict.fromkeys(range(self._count), "bare")

    def _found(self, fault: Fault) -> Finding:
        probes = self._max_probes - self._left
        if fault in ("all tools", "elsewhere"):
            return Finding(fault=fault, probes=probes)
        bare = tuple(index for index, form in sorted(self._forms.items()) if form == "bare")
        out = tuple(index for index in range(self._count) if index not in self._forms)
        unproven = tuple(sorted(self._unproven.intersection((*bare, *out))))
        most = len(self._forms) if fault == "too many" else None
        return Finding(fault=fault, bare=bare, out=out, unproven=unproven, most=most, probes=probes)


def _key(forms: Mapping[int, Form]) -> frozenset[tuple[int, Form]]:
    return frozenset(forms.items())


def _without(indices: Iterable[int], gone: Collection[int]) -> list[int]:
    dropped = frozenset(gone)
    return [index for index in indices if index not in dropped]
