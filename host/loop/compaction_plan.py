"""Where to fold a transcript that fills the model's window, or why not.

A fold ends at a question, never between a call and its result. Two ways to choose the question:
the first one from which the newest messages take at most a share of the window (``keep_ratio``),
or, with a ``target``, the first one that makes the whole request small enough. The first way
gives up when the question under way is too long by itself; the second then folds all before it.

Figures are estimates, and the summary counts with its ceiling: a plan that fits on paper leaves
room where the estimates are right. To fit is to be within ``limit``, whatever ``target`` was met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeAlias

from host.loop.stored_folds import (
    is_summary,
    last_summary,
    leading_system_messages,
    summary_message,
    whole_cuts,
)
from host.records import Message
from host.text.tokens import CHARS_PER_TOKEN, compact_count, message_tokens

COMPACT_AT = 0.75
"""The share of the window from which on a transcript is folded."""

KEEP_RATIO = 0.35
"""The share of the window that the newest messages may take and stay."""

SUMMARY_TOKENS = 1024
"""How long a summary may be."""

MIN_FOLDED = 2
"""How many messages are worth a summary."""

Estimate: TypeAlias = Callable[[Message], float]
"""How many tokens a message takes, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldTerms:
    """When to fold, and how far. Sizes are tokens.

    Attributes:
        limit: the model's window, or what of it a request may take; 0 for unknown.
        used: what the last request took, if it carried this transcript; None to add up the
            messages' estimates, which miss the system prompt and the tools beside them.
        compact_at: the share of ``limit`` from which on to fold; 0 to fold whatever there is.
        keep_ratio: the share of ``limit`` that the kept messages may take.
        target: the share of ``limit`` that the request after the fold may take, in place of
            ``keep_ratio``; None or nothing positive for no target.
        summary_tokens: the summary's ceiling.
        estimate: None for the characters over ``chars_per_token``.
        start: where the fold begins; None for behind the leading system messages, which are
            never folded. Between a call and its result, it moves back before the call.
        previous: notes to go on with, in place of all between the system messages and
            ``start``; None for the last summary before ``start``. A ``StoredFold``'s ``summary``
            and ``through`` are ``previous`` and ``start``.
    """

    limit: float
    used: float | None = None
    compact_at: float = COMPACT_AT
    keep_ratio: float = KEEP_RATIO
    target: float | None = None
    summary_tokens: float = SUMMARY_TOKENS
    estimate: Estimate | None = None
    chars_per_token: float | None = CHARS_PER_TOKEN
    start: int | None = None
    previous: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What to fold. It stays good for a transcript whose tool results are pruned afterwards.

    Attributes:
        start, cut: the messages from ``start`` up to ``cut``, exclusive, are folded; ``cut`` is
            a question.
        to_summarise: those messages.
        previous: the notes of an older summary, to be gone on with; None without one.
        after: tokens of the request once it is done, its summary counted at the ceiling.
        limit: what it had to fit into.
    """

    start: int
    cut: int
    to_summarise: tuple[Message, ...]
    previous: str | None
    after: int
    limit: float

    @property
    def fits(self) -> bool:
        """Whether the request will be within the limit."""
        return self.after <= self.limit

    @property
    def shortfall(self) -> str:
        """Why the fold is not enough, as a line for people; "" when it is."""
        if self.fits:
            return ""
        return (
            f"folding {len(self.to_summarise)} messages leaves up to {_count(self.after)} tokens "
            f"where {_count(self.limit)} fit: what is kept, and what stands around the "
            "conversation, is too much"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFold:
    """Why nothing is folded; ``text`` says it as a line for people.

    Attributes:
        reason: ``no-window`` the limit is unknown; ``not-due`` there is room enough;
            ``one-question`` hardly anything stands before the question under way;
            ``question-too-long`` that question and what followed are more than may be kept;
            ``little-said`` all that was said may be kept.
    """

    reason: Literal["no-window", "not-due", "one-question", "question-too-long", "little-said"]
    text: str


def plan_compaction(
    messages: Sequence[Message],
    *,
    limit: float,
    used: float | None = None,
    compact_at: float = COMPACT_AT,
    keep_ratio: float = KEEP_RATIO,
    target: float | None = None,
    summary_tokens: float = SUMMARY_TOKENS,
    estimate: Estimate | None = None,
    chars_per_token: float | None = CHARS_PER_TOKEN,
    start: int | None = None,
    previous: str | None = None,
) -> CompactionPlan | None:
    """What to fold of the transcript, or None; ``plan_or_reason`` also says why.

    Arguments are those of ``FoldTerms``.
    """
    terms = FoldTerms(
        limit=limit,
        used=used,
        compact_at=compact_at,
        keep_ratio=keep_ratio,
        target=target,
        summary_tokens=summary_tokens,
        estimate=estimate,
        chars_per_token=chars_per_token,
        start=start,
        previous=previous,
    )
    planned = plan_or_reason(messages, terms)
    return planned if isinstance(planned, CompactionPlan) else None


def plan_or_reason(messages: Sequence[Message], terms: FoldTerms) -> CompactionPlan | NoFold:
    """What to fold of the transcript, or why nothing (agent-core §17)."""
    if not (terms.limit > 0 and math.isfinite(terms.limit)):
        return NoFold(reason="no-window", text="the model's window is unknown")
    stretch = _Stretch.of(messages, terms)
    cost = stretch.size if terms.used is None else terms.used
    if cost < terms.limit * terms.compact_at:
        return _not_due(cost, terms)
    if not stretch.cuts:
        return NoFold(
            reason="one-question",
            text=f"fewer than {MIN_FOLDED} messages stand before the question under way",
        )
    fixed = cost - stretch.replaced + terms.summary_tokens
    found = (
        stretch.cut_for(fixed, terms.limit * terms.target)
        if terms.target is not None and terms.target > 0
        else stretch.cut_keeping(terms)
    )
    if isinstance(found, NoFold):
        return found
    return CompactionPlan(
        start=stretch.start,
        cut=stretch.start + found,
        to_summarise=stretch.messages[:found],
        previous=stretch.previous,
        after=max(0, _rounded(fixed - sum(stretch.sizes[:found]))),
        limit=terms.limit,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    """What may be folded, from ``start`` to the end; indexes count from ``start``.

    Attributes:
        sizes: tokens of each message.
        questions: where it may be cut; ``cuts`` are those with enough before them.
        size: tokens of the whole transcript as it is sent.
        replaced: tokens of the older notes that a new summary takes in.
    """

    start: int
    previous: str | None
    messages: tuple[Message, ...]
    sizes: tuple[float, ...]
    questions: tuple[int, ...]
    size: float
    replaced: float

    @classmethod
    def of(cls, messages: Sequence[Message], terms: FoldTerms) -> _Stretch:
        whole = whole_cuts(messages)
        start = _start(messages, terms.start, whole)
        size_of = terms.estimate or _by_chars(terms.chars_per_token)
        before = _sent_before(messages, start, terms.previous)
        sizes = tuple(size_of(message) for message in messages[start:])
        return cls(
            start=start,
            previous=last_summary(before),
            messages=tuple(messages[start:]),
            sizes=sizes,
            questions=tuple(
                index - start
                for index in range(start, len(messages))
                if index in whole and messages[index]["role"] == "user"
            ),
            size=sum(map(size_of, before)) + sum(sizes),
            replaced=sum(size_of(message) for message in before if is_summary(message)),
        )

    @property
    def cuts(self) -> list[int]:
        return [index for index in self.questions if index >= MIN_FOLDED]

    def cut_for(self, fixed: float, room: float) -> int:
        """The first cut that leaves no more than ``room``, else the last there is."""
        folded = [0.0, *accumulate(self.sizes)]
        cuts = self.cuts
        return next((cut for cut in cuts if fixed - folded[cut] <= room), cuts[-1])

    def cut_keeping(self, terms: FoldTerms) -> int | NoFold:
        """The first question from which everything may be kept."""
        kept, first = 0.0, len(self.sizes)
        for index in range(len(self.sizes) - 1, 0, -1):
            kept += self.sizes[index]
            if kept > terms.limit * terms.keep_ratio:
                break
            first = index
        cut = next((index for index in self.questions if index >= first), None)
        share = f"{terms.keep_ratio:.0%} of the window"
        if cut is None:
            return NoFold(
                reason="question-too-long",
                text=f"the question under way and what followed take more than {share}",
            )
        if cut < MIN_FOLDED:
            return NoFold(reason="little-said", text=f"all but one message take under {share}")
        return cut


def _start(messages: Sequence[Message], asked: int | None, whole: frozenset[int]) -> int:
    leading = leading_system_messages(messages)
    start = leading if asked is None else min(max(leading, asked), len(messages))
    while start < len(messages) and start not in whole:
        start -= 1
    return start


def _sent_before(messages: Sequence[Message], start: int, previous: str | None) -> list[Message]:
    """What a request has before ``start``: the transcript's messages, or earlier notes on them."""
    if previous is None or not previous.strip():
        return list(messages[:start])
    kept = messages[: leading_system_messages(messages)]
    return [*(one for one in kept if not is_summary(one)), summary_message(previous)]


def _not_due(cost: float, terms: FoldTerms) -> NoFold:
    return NoFold(
        reason="not-due",
        text=f"about {_count(cost)} of {_count(terms.limit)} tokens are used, under the "
        f"{terms.compact_at:.0%} at which folding begins",
    )


def _by_chars(chars_per_token: float | None) -> Estimate:
    return lambda message: message_tokens(message, chars_per_token=chars_per_token)


def _count(tokens: float) -> str:
    return compact_count(_rounded(tokens))


def _rounded(tokens: float) -> int:
    return math.floor(tokens + 0.5)
