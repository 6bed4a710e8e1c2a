"""Questions of a server that wait for an answer, and the calls whose clocks they hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from host.pool.bounded import Patience

MAX_OPEN = 4
"""How many questions of one server may wait at once; a server that asks in answering stops here."""


class OpenQuestions:
    """The questions and the calls of one connection.

    Which call a question belongs to is not said in the era of sessions. So an open question holds
    the clock of every call that lets progress renew it (``progressExtendsTimeout``), as progress
    itself would; ``maxCallTimeoutMs`` runs on. Other calls' clocks run on, too (pool spec §15).
    """

    def __init__(self) -> None:
        self._open = 0
        self._calls: set[Patience] = set()

    @property
    def is_full(self) -> bool:
        """Whether no further question can be asked now."""
        return self._open >= MAX_OPEN

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Count as a question for this block."""
        self._open += 1
        for patience in self._calls:
            patience.hold()
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                for patience in self._calls:
                    patience.release()

    @contextmanager
    def holding(self, patience: Patience | None) -> Iterator[None]:
        """Let questions hold this clock for a block; None is for a call whose clock runs on."""
        if patience is None:
            yield
            return
        self._calls.add(patience)
        if self._open:
            patience.hold()
        try:
            yield
        finally:
            self._calls.discard(patience)
