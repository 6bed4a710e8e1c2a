"""What the names that a model asked for stand for, and why some stand for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from host.catalogue.name_index import NameIndex, name_index
from host.records import CatalogueServer
from host.text.terminal_text import one_line

MAX_PER_LOAD = 12
"""How many tools one call may load."""

_MAX_SHOWN_HITS = 60
_MAX_SHOWN_GROUPS = 5
_MAX_SHOWN_NAMES = 60
_MAX_SHOWN_OWNERS = 10
_MAX_ADVISED = 5
_MAX_ECHO_CHARS = 100
_LIST_MARKS = re.compile(r"""[\[\],\n"'`]+""")


@dataclass(frozen=True, slots=True, kw_only=True)
class OverBroad:
    """A group that holds more tools than one call may load; ``hits`` is all of it."""

    name: str
    hits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameResolution:
    """What became of the asked names.

    Attributes:
        matched: tools to load, in the order they were asked for; never more than the limit.
        unknown: asked names that stand for no tool, or for one in each of several servers.
        over_broad: asked groups that are too large.
        deferred: asked names and groups for which this call had no room left.
        max_per_load: the limit it was held to.
    """

    matched: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    over_broad: tuple[OverBroad, ...] = ()
    deferred: tuple[str, ...] = ()
    max_per_load: int = MAX_PER_LOAD


def expand_names(
    requested: Iterable[str],
    catalogue: Sequence[CatalogueServer],
    *,
    max_per_load: int = MAX_PER_LOAD,
) -> NameResolution:
    """The tools that the asked names stand for (agent core §7).

    A name is a whole one, the bare name of a tool that a single server has, or a group: a
    beginning with ``*`` behind it. Names are trimmed; blanks and repeats cost nothing. ``*``
    alone is always too broad. An entry that is no name but a list of names written as one text
    is read as that list when any of it is known (ours; seen from small models).

    Args:
        max_per_load: the limit for the whole call; below 1 counts as 1.
    """
    index = name_index(catalogue)
    limit = max(1, max_per_load)
    matched: dict[str, None] = {}
    unknown: list[str] = []
    over_broad: list[OverBroad] = []
    deferred: list[str] = []
    for name in _asked_names(requested, index):
        hits = index.hits(name)
        fresh = [hit for hit in hits if hit not in matched]
        if name == "*" or len(fresh) > limit:
            over_broad.append(OverBroad(name=name, hits=hits))
        elif not hits:
            unknown.append(name)
        elif len(matched) + len(fresh) > limit:
            deferred.append(name)
        else:
            matched.update(dict.fromkeys(fresh))
    return NameResolution(
        matched=tuple(matched),
        unknown=tuple(unknown),
        over_broad=tuple(over_broad),
        deferred=tuple(deferred),
        max_per_load=limit,
    )


def refusals(resolution: NameResolution, catalogue: Sequence[CatalogueServer]) -> list[str]:
    """One block of text for each way in which asked names were not loaded; [] when all were.

    However many names were asked for and however long they are, the blocks stay short: names are
    cut, and of many only the first are told, with the number of the others.
    """
    index = name_index(catalogue)
    limit = resolution.max_per_load
    groups = resolution.over_broad
    blocks = [_over_broad_block(group, limit) for group in groups[:_MAX_SHOWN_GROUPS]]
    if others := [group.name for group in groups[_MAX_SHOWN_GROUPS:]]:
        blocks.append(f"Too broad as well: {_listed(others)}")
    if resolution.deferred:
        blocks.append(
            f"This call is full at {_tools(limit)}. Ask for these in your next step: "
            f"{_listed(resolution.deferred)}"
        )
    if resolution.unknown:
        blocks.append("\n".join(_unknown_lines(resolution.unknown, index)))
    return blocks


def advice(name: str, catalogue: Sequence[CatalogueServer]) -> str:
    """What an unknown name may have meant, as a sentence; "" when nothing is like it."""
    return _advice_on(name, name_index(catalogue))


def _asked_names(requested: Iterable[str], index: NameIndex) -> list[str]:
    asked: dict[str, None] = {}
    for entry in requested:
        name = entry.strip()
        parts = [part for part in map(str.strip, _LIST_MARKS.split(name)) if part]
        if parts not in ([], [name]) and not index.hits(name) and any(map(index.hits, parts)):
            asked.update(dict.fromkeys(parts))
        elif name:
            asked[name] = None
    return list(asked)


def _over_broad_block(group: OverBroad, limit: int) -> str:
    shown = [f"  {one_line(hit)}" for hit in group.hits[:_MAX_SHOWN_HITS]]
    if len(group.hits) > len(shown):
        shown.append(f"  … and {len(group.hits) - len(shown)} more")
    lead = (
        f"{_echo(group.name)} stands for {_tools(len(group.hits))}; one call loads at most "
        f"{limit}. Choose from these and ask for them by name:"
    )
    return "\n".join((lead, *shown))


def _unknown_lines(unknown: Sequence[str], index: NameIndex) -> Iterator[str]:
    yield f"No tool has this name: {_listed(unknown)}. Use names exactly as they are listed."
    for name in unknown[:_MAX_ADVISED]:
        if advised := _advice_on(name, index):
            yield advised


def _advice_on(name: str, index: NameIndex) -> str:
    owners = index.owners(name)
    if len(owners) > 1:
        surplus = len(owners) - _MAX_SHOWN_OWNERS
        more = f" and {surplus} more" if surplus > 0 else ""
        return f"{_echo(name)} is in several servers: {_listed(owners[:_MAX_SHOWN_OWNERS])}{more}"
    nearest = index.nearest(name)
    return f"Instead of {_echo(name)}, did you mean: {_listed(nearest)}" if nearest else ""


def _listed(names: Sequence[str]) -> str:
    surplus = len(names) - _MAX_SHOWN_NAMES
    more = f" … and {surplus} more" if surplus > 0 else ""
    return ", ".join(map(_echo, names[:_MAX_SHOWN_NAMES])) + more


def _echo(name: str) -> str:
    shown = one_line(name)
    return shown if len(shown) <= _MAX_ECHO_CHARS else f"{shown[:_MAX_ECHO_CHARS]}…"


def _tools(count: int) -> str:
    return "1 tool" if count == 1 else f"{count} tools"
