"""What an endpoint counted of a transcript, and what that says of single messages.

Of two counted requests where the later one goes on from the earlier, the difference of their
prompts is what the messages between them took (agent-core §21). Messages are compared by identity
first and by value only where that fails; none may change once it was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from math import floor
from typing import Literal, TypeAlias

from host.records import LedgerEntry, Message, ToolDefinition, TurnUsage
from host.text.tokens import CHARS_PER_TOKEN, message_tokens

Ledger: TypeAlias = tuple[LedgerEntry, ...]
"""Oldest first; epochs never fall."""

Estimate: TypeAlias = Callable[[Message], float]
"""How many tokens a message takes, about."""

BreakReason: TypeAlias = Literal[
    "tools-changed", "system-changed", "history-rewritten", "none-known"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """A request that was answered.

    Attributes:
        messages: as sent, the system prompt included.
        tools: names of the declared tools, in order.
        prompt: its prompt tokens as the endpoint counted them; 0 for unknown.
        through: index of the last message of the transcript that it carried; -1 for none.
    """

    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    prompt: int
    through: int

    @classmethod
    def of(
        cls,
        messages: Iterable[Message],
        tools: Iterable[ToolDefinition],
        usage: TurnUsage,
        *,
        through: int = -1,
    ) -> SentRequest:
        """The request with its count, where that can be trusted.

        More cached than prompt tokens means that the prompt leaves out the cached ones, and with
        continuations the usage is the sum of several prompts: both are unknown.
        """
        unclear = usage.continuations or (usage.cached_tokens or 0) > usage.prompt_tokens
        return cls(
            messages=tuple(messages),
            tools=tuple(tool["function"]["name"] for tool in tools),
            prompt=0 if unclear else usage.prompt_tokens,
            through=through,
        )


def record_request(ledger: Ledger, previous: SentRequest | None, request: SentRequest) -> Ledger:
    """The ledger with one more request; the same ledger where there is nothing to note.

    A request that does not go on from ``previous`` opens an epoch.

    Args:
        previous: what the last entry was recorded from, not a later request that left none; None
            where that is not known: for a ledger of an earlier run, or one that was rebased.
    """
    if request.prompt <= 0:
        return ledger
    epoch = ledger[-1].epoch + 1 if ledger else 0
    if ledger and previous is not None and _goes_on(previous, request):
        if request.through <= ledger[-1].through:
            return ledger
        epoch = ledger[-1].epoch
    entry = LedgerEntry(through=request.through, prompt=request.prompt, epoch=epoch)
    return (*ledger, entry)


def rebase_ledger(ledger: Ledger, before: Sequence[Message], after: Sequence[Message]) -> Ledger:
    """The ledger of ``before`` as far as it holds for ``after``, a transcript made from it.

    What was measured in their common beginning stays, what was measured in their common end moves
    along into the next epoch. The same ledger if that is all of it and nothing moves.
    """
    head = _alike(before, after)
    if head == len(before):
        return ledger
    room = min(len(before), len(after)) - head
    tail = min(room, _alike(reversed(before), reversed(after)))
    moved = len(after) - len(before)
    kept = [
        entry
        if entry.through < head
        else replace(entry, through=entry.through + moved, epoch=entry.epoch + 1)
        for entry in ledger
        if entry.through < head or (tail and entry.through >= len(before) - tail - 1)
    ]
    return ledger if kept == list(ledger) else tuple(kept)


def tokens_between(
    ledger: Ledger,
    start: int,
    end: int,
    messages: Sequence[Message],
    *,
    estimate: Estimate | None = None,
    chars_per_token: float | None = CHARS_PER_TOKEN,
) -> int:
    """How many tokens ``messages[start:end]`` take, as far as possible from what was counted.

    Messages that were counted together share their tokens by their characters; where two counts
    overlap, the later one is believed. The others are estimated. The sum is rounded once.

    Args:
        start, end: outside of the transcript they mean its ends, negative ones its beginning.
        estimate: for what was not counted; None for ``message_tokens``.
        chars_per_token: of that default.
    """
    asked = range(max(start, 0), min(end, len(messages)))
    measured = dict(_measured(ledger, messages, asked))
    guess = estimate or _estimated(chars_per_token)
    total = sum(measured[index] if index in measured else guess(messages[index]) for index in asked)
    return floor(total + 0.5)


def estimate_from(
    ledger: Ledger,
    messages: Sequence[Message],
    *,
    estimate: Estimate | None = None,
    chars_per_token: float | None = CHARS_PER_TOKEN,
) -> Estimate:
    """What single messages take, not rounded: from what was counted, else estimated.

    A message is known by identity, its copy is estimated; one that stands in several places takes
    what the last of them does. The options are those of ``tokens_between``.
    """
    measured = dict(_measured(ledger, messages, range(len(messages))))
    guess = estimate or _estimated(chars_per_token)
    known = {
        id(messages[index]): (messages[index], tokens)  # held, so that no other gets its id
        for index, tokens in sorted(measured.items())
    }

    def tokens_of(message: Message) -> float:
        held = known.get(id(message))
        return held[1] if held else guess(message)

    return tokens_of


def break_reason(previous: SentRequest, request: SentRequest) -> BreakReason:
    """Why an endpoint could not go on from the previous request's prompt, the gravest first."""
    if request.tools != previous.tools:
        return "tools-changed"
    if _leading_system(request) != _leading_system(previous):
        return "system-changed"
    return "none-known" if _goes_on(previous, request) else "history-rewritten"


def _goes_on(previous: SentRequest, request: SentRequest) -> bool:
    return request.tools == previous.tools and (
        _alike(previous.messages, request.messages) == len(previous.messages)
    )


def _alike(these: Iterable[Message], those: Iterable[Message]) -> int:
    """How many messages both begin with."""
    pairs = zip(these, those, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))


def _leading_system(request: SentRequest) -> list[Message]:
    return list(takewhile(lambda m: m["role"] in ("system", "developer"), request.messages))


def _measured(
    ledger: Ledger, messages: Sequence[Message], asked: range
) -> Iterator[tuple[int, float]]:
    """The share of each counted message, by index, of all groups that reach into ``asked``."""
    for earlier, later in pairwise(ledger):
        group = range(earlier.through + 1, later.through + 1)
        tokens = later.prompt - earlier.prompt
        if earlier.epoch != later.epoch or tokens <= 0 or not group:
            continue
        if group.start < 0 or group.stop > len(messages):
            continue
        if group.start >= asked.stop or group.stop <= asked.start:
            continue
        chars = [message_tokens(messages[index], chars_per_token=1) for index in group]
        whole = sum(chars)
        yield from ((index, tokens * own / whole) for index, own in zip(group, chars, strict=True))


def _estimated(chars_per_token: float | None) -> Estimate:
    return lambda message: message_tokens(message, chars_per_token=chars_per_token)
