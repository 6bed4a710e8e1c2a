"""A connection's lists of resources and prompts, kept for as long as they are known to be good.

A list is kept only where the server would tell of a change: one that promised to, or that has
taken up our stream of changes (2026-07-28). While that stream is down nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

ListKind = Literal["resources", "templates", "prompts"]

CAPABILITIES: Mapping[ListKind, str] = {
    "resources": "resources",
    "templates": "resources",
    "prompts": "prompts",
}
"""What a server must have declared to have the list."""

_CHANGES = {
    "notifications/resources/list_changed": "resources",
    "notifications/prompts/list_changed": "prompts",
}


class KeptLists:
    """The lists of one connection; a new connection begins with none."""

    def __init__(self) -> None:
        self._watched: frozenset[str] = frozenset()
        self._kept: dict[ListKind, tuple[Any, ...]] = {}
        self._changes = dict.fromkeys(CAPABILITIES.values(), 0)

    def watch(self, capabilities: Iterable[str]) -> None:
        """From now on changes of these lists, and of no others, are heard.

        What was kept goes: a change may have been missed until now.
        """
        self._watched = frozenset(capabilities)
        for capability in self._changes:
            self._forget(capability)

    def hear(self, method: str) -> None:
        """Forget what a notification of the server says has changed."""
        if method in _CHANGES:
            self._forget(_CHANGES[method])

    def mark(self, kind: ListKind) -> int:
        """What ``keep`` is to be told of the moment at which a list was asked for."""
        return self._changes[CAPABILITIES[kind]]

    def keep(self, kind: ListKind, entries: tuple[Any, ...], mark: int) -> None:
        """Keep a list, unless its changes are not heard or it has changed since it was asked."""
        capability = CAPABILITIES[kind]
        if capability in self._watched and mark == self._changes[capability]:
            self._kept[kind] = entries

    def get(self, kind: ListKind) -> tuple[Any, ...] | None:
        """The list as kept; None for none."""
        return self._kept.get(kind)

    def _forget(self, capability: str) -> None:
        self._changes[capability] += 1
        for kind, declared in CAPABILITIES.items():
            if declared == capability:
                self._kept.pop(kind, None)
