"""What hooks answered, as ``<context>`` blocks for the question; for the pool and the loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from host.records.hooks import INJECT_EVENTS, HookNote, HookOutcome
from host.text.fences import escape_attribute, neutralise
from host.text.tokens import CHARS_PER_TOKEN, estimate_tokens

HOOK_CONTEXT_TOKENS = 2000
"""The budget that all hooks of one question share, unless another is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedBlock:
    """One hook's block.

    Attributes:
        tokens: what it took of the shared budget (estimate; the tags are free).
        text: exactly what stands between the tags.
    """

    server_id: str
    hook_id: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBlocks:
    """The blocks of one question.

    Attributes:
        text: all blocks, a blank line between them; "" for none.
        injected: the same, one by one.
        notes: one per block and one per failed hook, in the order of the outcomes.
    """

    text: str = ""
    injected: tuple[InjectedBlock, ...] = ()
    notes: tuple[HookNote, ...] = ()


def context_blocks(
    outcomes: Iterable[HookOutcome], *, max_tokens: float = HOOK_CONTEXT_TOKENS
) -> ContextBlocks:
    """The context blocks of some hook outcomes, in their order.

    An outcome gives a block when its hook succeeded, may inject, ran for an event that takes
    context, and said something. Its text is trimmed, a closing ``context`` tag in it is made
    harmless, then it is cut to its own cap or to what is left of the budget, whichever is less;
    it never changes after that. A cap or a rest of nothing drops the text without a note;
    failures are noted even then (agent core §12 and pool spec §14, joined by design §8, which
    overrules the pool's stop at the first cap of nothing).

    Args:
        max_tokens: the shared budget; infinity for none, and no blocks for 0 or less.
    """
    remaining = max_tokens if max_tokens > 0 else 0  # NaN is not
    blocks: list[str] = []
    injected: list[InjectedBlock] = []
    notes: list[HookNote] = []
    for outcome in outcomes:
        if not outcome.ok:
            notes.append(_failure_note(outcome))
            continue
        text = _offered_text(outcome)
        cap = min(outcome.max_tokens, remaining)
        if not text or cap < 1:
            continue
        text = _cut(text, int(cap))
        tokens = estimate_tokens(text)
        remaining -= tokens
        blocks.append(f'<context source="{escape_attribute(outcome.label)}">\n{text}\n</context>')
        injected.append(
            InjectedBlock(
                server_id=outcome.server_id, hook_id=outcome.hook_id, tokens=tokens, text=text
            )
        )
        notes.append(_context_note(outcome, tokens, text))
    return ContextBlocks(text="\n\n".join(blocks), injected=tuple(injected), notes=tuple(notes))


def _offered_text(outcome: HookOutcome) -> str:
    if not outcome.inject or outcome.event not in INJECT_EVENTS:
        return ""
    return neutralise((outcome.text or "").strip(), "context", closing_only=True)


def _cut(text: str, max_tokens: int) -> str:
    if estimate_tokens(text) <= max_tokens:
        return text
    return text[: max_tokens * CHARS_PER_TOKEN - 1].rstrip() + "…"


def _failure_note(outcome: HookOutcome) -> HookNote:
    return HookNote(
        event=outcome.event,
        source=outcome.label,
        hook_id=outcome.hook_id,
        error=outcome.error or "failed",
    )


def _context_note(outcome: HookOutcome, tokens: int, text: str) -> HookNote:
    return HookNote(
        event=outcome.event,
        source=outcome.label,
        hook_id=outcome.hook_id,
        tokens=tokens,
        text=text,
    )
