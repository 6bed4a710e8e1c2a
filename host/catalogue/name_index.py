"""Looking up tool names: whole, by their end, by their beginning, or nearly right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from host.catalogue.server_memo import remembered
from host.catalogue.words import words
from host.records import CatalogueServer, CatalogueTool
from host.text.terminal_text import one_line

_SEPARATOR = "__"
_NEAR_ENOUGH = 0.45
_MAX_WANTED_CHARS = 200


class NameIndex:
    """The names of one catalogue. Of tools with the same name the first one counts.

    Attributes:
        tools: by name, in catalogue order.
    """

    def __init__(self, catalogue: Sequence[CatalogueServer]) -> None:
        self.tools: dict[str, CatalogueTool] = {}
        self._as_shown: dict[str, str] = {}
        self._by_end: dict[str, list[str]] = {}
        for server in catalogue:
            for tool in server.tools:
                if tool.name not in self.tools:
                    self._add(tool)

    def _add(self, tool: CatalogueTool) -> None:
        self.tools[tool.name] = tool
        self._as_shown.setdefault(one_line(tool.name), tool.name)
        at = tool.name.find(_SEPARATOR)
        while at >= 0:
            self._by_end.setdefault(tool.name[at + len(_SEPARATOR) :], []).append(tool.name)
            at = tool.name.find(_SEPARATOR, at + 1)

    def hits(self, name: str) -> tuple[str, ...]:
        """The tools that a name or a ``beginning*`` stands for, in catalogue order.

        ``*`` is every tool; a beginning that no whole name has may be that of a tool's own name;
        a bare name counts only if a single server has it (agent core §7).
        """
        if name.endswith("*"):
            return self._beginning_with(name[:-1])
        if name in self.tools:
            return (name,)
        if name in self._as_shown:
            return (self._as_shown[name],)
        owners = self.owners(name)
        return owners if len(owners) == 1 else ()

    def owners(self, bare_name: str) -> tuple[str, ...]:
        """The whole names that end in ``__`` and this bare name."""
        return tuple(self._by_end.get(bare_name, ())) if bare_name else ()

    def nearest(self, name: str, limit: int = 3) -> tuple[str, ...]:
        """The names most like an unknown one, best first: the same words, or nearly."""
        wanted = _trigrams(name[:_MAX_WANTED_CHARS])
        scored = [
            (2 * len(wanted & theirs) / (len(wanted) + len(theirs)), known)
            for known, theirs in self._trigrams.items()
            if theirs
        ]
        near = [pair for pair in scored if pair[0] >= _NEAR_ENOUGH]
        near.sort(key=lambda pair: -pair[0])
        return tuple(known for _, known in near[:limit])

    def _beginning_with(self, stem: str) -> tuple[str, ...]:
        hits = tuple(name for name in self.tools if name.startswith(stem))
        inner = _SEPARATOR + stem
        return hits or tuple(name for name in self.tools if inner in name)

    @cached_property
    def _trigrams(self) -> dict[str, frozenset[str]]:
        return {name: _trigrams(name) for name in self.tools}


name_index = remembered(NameIndex)
"""The index of a catalogue, built once (see ``remembered``)."""


def _trigrams(name: str) -> frozenset[str]:
    padded = (f" {word} " for word in words(name))
    return frozenset(word[at : at + 3] for word in padded for at in range(len(word) - 2))
