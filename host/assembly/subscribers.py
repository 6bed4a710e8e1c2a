"""Whoever listens to everything that happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from host.records import PoolEvent, RunEvent

Subscriber: TypeAlias = Callable[[RunEvent | PoolEvent], None]


def tell(subscribers: Sequence[Subscriber], event: RunEvent | PoolEvent) -> None:
    """Hands an event to every subscriber; one that raises is passed over.

    A watcher must never end what it watches, so whatever it raises is dropped here.
    """
    for subscriber in subscribers:
        try:
            subscriber(event)
        except Exception:  # noqa: BLE001  # see the docstring
            continue
