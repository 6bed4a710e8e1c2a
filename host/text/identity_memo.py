"""A memo keyed by which object it is, for values that cannot be hashed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class IdentityMemo(Generic[K, V]):
    """Remembers what a pure function gave for the objects asked about last.

    An object is recognised by identity: an equal copy is computed anew, and an object changed
    after it was asked about still gets its first answer. Each remembered object is held, so that
    its id cannot pass to another one; the least recently asked is let go first.
    """

    def __init__(self, compute: Callable[[K], V], *, max_entries: int = 64) -> None:
        """Starts empty; at most ``max_entries`` objects are held, and at least one."""
        self._compute = compute
        self._max_entries = max(1, max_entries)
        self._entries: OrderedDict[int, tuple[K, V]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, subject: K) -> V:
        """What the function gives, or gave, for this very object; what it raises passes through."""
        key = id(subject)
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                return entry[1]
        value = self._compute(subject)
        with self._lock:
            self._entries[key] = (subject, value)
            self._entries.move_to_end(key)
            if len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
        return value
