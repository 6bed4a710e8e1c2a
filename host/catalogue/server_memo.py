"""Remembering what was computed from a catalogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

from host.records import CatalogueServer

_Computed = TypeVar("_Computed")
_MAX_CATALOGUES = 8


class _SameServers:
    """A key that is equal for the very same servers in the same order.

    It holds them, so that none of their ids can pass to another object while it is a key.
    """

    __slots__ = ("_hash", "servers")

    def __init__(self, catalogue: Sequence[CatalogueServer]) -> None:
        self.servers = tuple(catalogue)
        self._hash = hash(tuple(map(id, self.servers)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _SameServers)
            and len(self.servers) == len(other.servers)
            and all(map(lambda mine, its: mine is its, self.servers, other.servers))
        )


def remembered(
    compute: Callable[[Sequence[CatalogueServer]], _Computed],
) -> Callable[[Sequence[CatalogueServer]], _Computed]:
    """The function, computing once for each of the last few catalogues.

    Servers are compared by identity (they are frozen), not the sequence that holds them: a list
    that was changed in place is another catalogue. A hit costs a look at each server.
    """

    @lru_cache(maxsize=_MAX_CATALOGUES)
    def computed(key: _SameServers) -> _Computed:
        return compute(key.servers)

    return lambda catalogue: computed(_SameServers(catalogue))
