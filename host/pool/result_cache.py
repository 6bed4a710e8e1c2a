"""Answers kept for a while, so that the same question need not be asked again.

What may be kept, and when it must go, is decided here; when to ask, by the pool. Source: pool
spec §13.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from host.text.json_text import canonical_json


def is_read_only(annotations: Mapping[str, Any] | None, *, trusted: bool) -> bool:
    """True if the call changes nothing, as far as we believe the server."""
    return trusted and (annotations or {}).get("readOnlyHint") is True


def may_cache(annotations: Mapping[str, Any] | None, *, trusted: bool) -> bool:
    """True if an answer of the tool may stand for the next one to the same arguments."""
    repeatable = trusted and (annotations or {}).get("idempotentHint") is True
    return repeatable or is_read_only(annotations, trusted=trusted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A call that may have been answered before, and the state of its server when it was asked.

    Made by ``ResultCache.question``; an answer is kept only while that state lasts.
    """

    server_id: str
    tool: str
    arguments: str
    generation: int


class ResultCache:
    """Keeps whole answers, the least recently used go first.

    An answer to a question asked before ``clear_server`` is not kept after it: a read that was
    under way while something was written cannot bring the old state back (pool spec §13 [H]).
    """

    def __init__(
        self,
        *,
        ttl_seconds: float = 30.0,
        max_entries: int = 256,
        clock: Callable[[], float],
    ) -> None:
        """Starts empty.

        Args:
            ttl_seconds: the age at which an answer expires; 0 for never.
            max_entries: 0 for no limit.
            clock: seconds that only grow.
        """
        self._ttl_seconds = ttl_seconds
        self._max_entries = max_entries
        self._clock = clock
        self._entries: OrderedDict[tuple[str, str, str], tuple[float, str]] = OrderedDict()
        self._generations: defaultdict[str, int] = defaultdict(int)

    def question(self, server_id: str, tool: str, arguments: Mapping[str, Any]) -> Question | None:
        """The call as a question; None when its arguments are no JSON, which is never kept.

        Args:
            tool: the server's own name.
            arguments: after coercion.
        """
        try:
            text = canonical_json(arguments)
        except (ValueError, TypeError):
            return None
        return Question(
            server_id=server_id,
            tool=tool,
            arguments=text,
            generation=self._generations[server_id],
        )

    def answer(self, question: Question) -> str | None:
        """The kept answer, now the most recently used; None for none. Its age goes on."""
        key = _key(question)
        entry = self._entries.get(key)
        if entry is None:
            return None
        kept_at, text = entry
        if self._ttl_seconds > 0 and self._clock() - kept_at >= self._ttl_seconds:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return text

    def keep(self, question: Question, text: str) -> None:
        """Keeps the answer, unless its server was cleared after the question was made."""
        if question.generation != self._generations[question.server_id]:
            return
        self._entries[_key(question)] = (self._clock(), text)
        self._entries.move_to_end(_key(question))
        if 0 < self._max_entries < len(self._entries):
            self._entries.popitem(last=False)

    def clear_server(self, server_id: str) -> None:
        """Forgets the server's answers, those still under way included."""
        self._generations[server_id] += 1
        for key in [key for key in self._entries if key[0] == server_id]:
            del self._entries[key]

    def __len__(self) -> int:
        """How many answers are held, expired ones that nobody asked for included."""
        return len(self._entries)


def _key(question: Question) -> tuple[str, str, str]:
    return question.server_id, question.tool, question.arguments
