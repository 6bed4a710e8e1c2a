"""Which tools an endpoint refuses: what to try next, and what follows, without I/O (ours).

A refused list says that some tool is at fault, not which. Halves of what is in doubt are tried
until one tool is left; it is degraded, and the whole is tried again. Each tool found costs the
logarithm of the list and a probe or two more, so that two of 128 or three of 25 are found for sure.
Where no list so long is taken, plain tools that are none of the list show how many are, and the
search goes on among so many. A tool counts as proven only when it was refused alone; what the
probes do not suffice for, and what is refused only in company, is degraded unproven. Whatever the
endpoint's rule is, the outcome is one that a probe has seen accepted.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

MAX_PROBES = 24
"""The most requests one search makes."""

RESERVED_PROBES = 3
"""Kept for the end: to try the rest degraded, wholly and in part."""

LIKELY_LIMIT = 128
"""How many tools OpenAI and those who follow it take: tried first where the list is too long."""

Form = Literal["whole", "bare"]
"""A tool as it is, or with an empty object schema; one left out has no form."""

Fault = Literal["tools", "too many", "all tools", "elsewhere"]


@dataclass(frozen=True, slots=True)
class Trial:
    """A list of tools to try.

    Attributes:
        forms: which tools, by index, and how; empty for none. An index below 0 stands for a plain
            tool that is none of the list and with which nothing can be wrong, each for another.
    """

    forms: Mapping[int, Form] = field(default_factory=dict)

    @property
    def is_stranger(self) -> bool:
        """Whether this is one plain tool alone, which is taken wherever any tool is."""
        return len(self.forms) == 1 and all(index < 0 for index in self.forms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is at fault, and what is accepted instead.

    Attributes:
        fault: "tools" for those named here; "too many" where it is their number, and maybe some of
            them too; "all tools" where the endpoint takes none at all; "elsewhere" when the
            request is refused without tools too.
        bare: to be sent with an empty schema; out: to be left out; each by index, ascending.
        unproven: of these, the ones that were not refused alone. That they are degraded helps
            this list; of another list it says nothing.
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

_Asking: TypeAlias = Generator[Trial, bool, bool]
_Forms: TypeAlias = dict[int, Form]


def culprit_search(
    count: int, *, suspects: Collection[int] = (), max_probes: int = MAX_PROBES
) -> Search:
    """A search among ``count`` tools, which were refused together; at most ``max_probes`` probes.

    Args:
        suspects: the tools that the refusal seems to speak of; they are tried first.
    """
    return _Search(count, frozenset(suspects), max(max_probes, RESERVED_PROBES + 3)).run()


class _Search:
    """One search.

    Attributes:
        _forms: the list as it would be sent by what is known so far; ``_waiting`` are the tools
            that follow when one of it is left out, where only so many are taken (``_most``).
        _doubted: the tools of it that may be at fault.
        _accused: those degraded one by one, in the order in which they were found.
    """

    def __init__(self, count: int, suspects: frozenset[int], max_probes: int) -> None:
        self._count = count
        self._suspects = suspects
        self._left = self._max_probes = max_probes
        self._known: dict[frozenset[tuple[int, Form]], bool] = {}
        self._forms: _Forms = dict.fromkeys(range(count), "whole")
        self._waiting: list[int] = []
        self._doubted = list(range(count))
        self._accused: list[int] = []
        self._all_bare: _Forms = dict.fromkeys(range(count), "bare")
        self._takes_bare = False
        self._most: int | None = None

    def run(self) -> Search:
        self._known[_key(self._forms)] = True
        self._takes_bare = not (yield from self._refused(self._all_bare))
        if not self._takes_bare:
            if (yield from self._refused({})):
                return self._found("elsewhere")
            if (yield from self._refused(_strangers(self._count))):
                if (yield from self._refused(_strangers(1))):
                    return self._found("all tools")
                if (yield from self._fits_when_cut()):
                    return self._found("too many")
        yield from self._settled_one_by_one()
        yield from self._prove()
        return self._found("tools" if self._most is None else "too many")

    def _fits_when_cut(self) -> _Asking:
        """Finds how many tools are taken, and whether so many of the list are."""
        taken, refused = 1, self._count
        while refused - taken > 1 and self._left > RESERVED_PROBES:
            guesses = (LIKELY_LIMIT, LIKELY_LIMIT + 1, (taken + refused) // 2)
            middle = next(guess for guess in guesses if taken < guess < refused)
            if (yield from self._refused(_strangers(middle))):
                refused = middle
            else:
                taken = middle
        self._most = taken
        self._waiting = self._doubted[taken:]
        self._doubted = self._doubted[:taken]
        self._forms = dict.fromkeys(self._doubted, "whole")
        if not (yield from self._refused(self._forms)):
            return True
        self._all_bare = dict.fromkeys(self._doubted, "bare")
        self._takes_bare = not (yield from self._refused(self._all_bare))
        return False

    def _settled_one_by_one(self) -> Generator[Trial, bool, None]:
        while self._doubted and self._left > RESERVED_PROBES:
            group = yield from self._narrowed()
            # A tool that is taken without its schema is degraded on suspicion: that is free.
            is_fine = not self._takes_bare and (yield from self._is_innocent(group))
            if not is_fine:
                yield from self._degrade(group)
                if not (yield from self._refused(self._forms)):
                    return
                is_fine = self._takes_bare and (yield from self._is_innocent(group))
            if is_fine:
                self._forms |= dict.fromkeys(group, "whole")
                group = yield from self._first_too_much()
                if (yield from self._is_innocent(group)):
                    return (yield from self._cut_at(*group))
                yield from self._degrade(group)
                if not (yield from self._refused(self._forms)):
                    return
        yield from self._settle()

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

    def _is_innocent(self, group: list[int]) -> _Asking:
        """Whether one tool alone is taken, so that it is the list that is not.

        Not asked where another search through the rest would then be out of reach.
        """
        if len(group) != 1:
            return False
        whole: _Forms = {group[0]: "whole"}
        needed = 1 + (len(self._doubted).bit_length() if self._takes_bare else 0)
        if _key(whole) not in self._known and self._left <= RESERVED_PROBES + needed:
            return False
        return not (yield from self._refused(whole))

    def _first_too_much(self) -> Generator[Trial, bool, list[int]]:
        """The tool with which a beginning of the list is refused that was taken without it."""
        order = list(self._forms)
        taken, refused = 0, len(order)
        while refused - taken > 1 and self._left > RESERVED_PROBES:
            middle = (taken + refused) // 2
            if (yield from self._refused(self._whole_before(order[middle]))):
                refused = middle
            else:
                taken = middle
        return [order[taken]]

    def _whole_before(self, first: int) -> _Forms:
        """The list with everything from ``first`` on degraded."""
        before: _Forms = {index: form for index, form in self._forms.items() if index < first}
        rest = [index for index in self._forms if index >= first and self._takes_bare]
        return {**before, **dict.fromkeys(rest, "bare")}

    def _cut_at(self, first: int) -> Generator[Trial, bool, None]:
        """Degrades what comes from ``first`` on, or it alone where that is enough."""
        alone = {index: form for index, form in self._forms.items() if index != first}
        if self._takes_bare:
            alone[first] = "bare"
        rest = self._whole_before(first)
        is_clash = alone == rest or not (yield from self._refused(alone))
        self._forms = dict(sorted((alone if is_clash else rest).items()))

    def _part_of(self, group: list[int]) -> list[int]:
        named = [index for index in group if index in self._suspects]
        return named if 0 < len(named) < len(group) else group[: len(group) // 2]

    def _degrade(self, group: list[int]) -> Generator[Trial, bool, None]:
        self._doubted = _without(self._doubted, group)
        self._accused += group if len(group) == 1 else []
        for index in group:
            is_bare = self._takes_bare
            if not is_bare and self._left > RESERVED_PROBES:
                is_bare = not (yield from self._refused({index: "bare"}))
            if is_bare:
                self._forms[index] = "bare"
                continue
            del self._forms[index]
            if self._waiting:
                following = self._waiting.pop(0)
                self._forms[following] = "whole"
                self._doubted.append(following)

    def _settle(self) -> Generator[Trial, bool, None]:
        """Takes the best outcome there is when the probes end, or when no single tool explains."""
        self._waiting.clear()
        yield from self._degrade(list(self._doubted))
        if not (yield from self._refused(self._forms)):
            return
        accepted = [dict(key) for key, refused in self._known.items() if not refused]
        of_the_list = [forms for forms in accepted if all(index >= 0 for index in forms)]
        best = max(of_the_list, key=lambda forms: (list(forms.values()).count("whole"), len(forms)))
        mixed = {**self._all_bare, **best} if self._takes_bare else best
        is_mixed_refused = yield from self._refused(mixed)
        self._forms = self._all_bare if is_mixed_refused else mixed

    def _prove(self) -> Generator[Trial, bool, None]:
        """Tries those alone who were found by what is left when the others are taken."""
        for index in self._accused:
            if self._forms.get(index) != "whole" and self._left > 0:
                yield from self._refused({index: "whole"})

    def _refused(self, forms: _Forms) -> _Asking:
        key = _key(forms)
        if key not in self._known:
            self._left -= 1
            self._known[key] = yield Trial(dict(sorted(forms.items())))
        return self._known[key]

    def _found(self, fault: Fault) -> Finding:
        probes = self._max_probes - self._left
        if fault in ("all tools", "elsewhere"):
            return Finding(fault=fault, probes=probes)
        bare = tuple(index for index, form in sorted(self._forms.items()) if form == "bare")
        out = tuple(index for index in range(self._count) if index not in self._forms)
        unproven = [index for index in bare if not self._is_refused_alone(index, "whole")]
        unproven += [index for index in out if not self._is_refused_alone(index, "whole", "bare")]
        return Finding(
            fault=fault,
            bare=bare,
            out=out,
            unproven=tuple(sorted(unproven)),
            most=self._most,
            probes=probes,
        )

    def _is_refused_alone(self, index: int, *forms: Form) -> bool:
        return all(self._known.get(_key({index: form}), False) for form in forms)


def _strangers(count: int) -> _Forms:
    return {-number: "bare" for number in range(1, count + 1)}


def _key(forms: Mapping[int, Form]) -> frozenset[tuple[int, Form]]:
    return frozenset(forms.items())


def _without(indices: Iterable[int], gone: Collection[int]) -> list[int]:
    dropped = frozenset(gone)
    return [index for index in indices if index not in dropped]
