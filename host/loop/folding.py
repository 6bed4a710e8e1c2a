"""Keeping a run's transcript within the model's window: old results cleared, then talk folded."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from host.errors import ContextOverflow
from host.loop.agent_options import AgentLoopOptions, Compact
from host.loop.asking import Asking
from host.loop.collaborators import RunWindow
from host.loop.compaction import CompactionHooks, compact_transcript
from host.loop.compaction_plan import CompactionPlan, FoldTerms, NoFold, plan_or_reason
from host.loop.ledger import estimate_from
from host.loop.pruning import prune_tool_results
from host.loop.run_control import Interrupted
from host.loop.run_events import RunEvents
from host.loop.run_record import RunRecord
from host.loop.summary_request import summary_messages, summary_of
from host.loop.tool_batch import error_message
from host.records import Message

UNKNOWN_WINDOW = (
    "the model's window is unknown, so the conversation is not folded before a request fails for "
    "its length; give the context length to have it folded in time"
)
"""Told once in a run that is to fold."""

MAX_BLANK_SUMMARIES = 2
"""How many blank summaries in a row end the folding of a run."""


class _BlankSummary(Exception):
    """The model had nothing to say of what was to be folded."""


@dataclass(slots=True, kw_only=True)
class Folding:
    """Folds the transcript of one run before a request that would come close to the window."""

    options: AgentLoopOptions
    record: RunRecord
    asking: Asking
    events: RunEvents
    _said: set[str] = field(default_factory=set, init=False)
    _window: int | None = field(default=None, init=False)
    _is_refused: bool = field(default=False, init=False)
    _blank_summaries: int = field(default=0, init=False)

    async def window(self, step: int) -> RunWindow:
        """How full the window is before the next request; finds its size out where it can be.

        Raises:
            Interrupted: the run was stopped, or its time is up.
        """
        limit = await self._limit(step)
        ledger = self.record.ledger
        used = round(self._used(self.record.messages)) if ledger else None
        return RunWindow(used=used, limit=limit, ledger=ledger)

    async def folded(self, step: int, messages: list[Message]) -> list[Message]:
        """The transcript to go on with; the same list where there is room enough.

        A summary that fails costs a notice, and nothing is folded from then on; so does a veto,
        and the second blank summary in a row. A transcript of which nothing can be folded costs
        one notice for each reason. While the window is unknown, nothing is cleared or folded.

        Raises:
            Interrupted: the run was stopped, or its time is up.
        """
        how = self.options.compaction
        if how is None or self._is_refused:
            return messages
        if await self._limit(step) <= 0:
            self._say_once(step, UNKNOWN_WINDOW)
            return messages
        if not self._is_due(how, messages):
            return messages
        pruned = prune_tool_results(messages, keep_last=how.keep_results)
        if pruned is not messages:
            self._say(step, "old tool results were cleared: the window fills up")
            if not self._is_due(how, pruned):
                return pruned
        return await self._fold(step, how, pruned, self._terms(how, pruned))

    async def forced(
        self, step: int, messages: list[Message], overflow: ContextOverflow
    ) -> list[Message]:
        """The transcript after a request that did not fit: folded whatever the hooks say.

        The same list where nothing can be folded, or nothing is to be. A window that the overflow
        states counts from here on, unless a smaller one is known.

        Raises:
            Interrupted: the run was stopped, or its time is up.
        """
        how = self.options.compaction
        if how is None:
            return messages
        known, stated = await self._limit(step), overflow.limit_tokens
        if stated > 0:
            self._window = min(known, stated) if known > 0 else stated
        pruned = prune_tool_results(messages, keep_last=1)
        terms = replace(self._terms(how, pruned), compact_at=0, target=how.keep)
        return await self._fold(step, how, pruned, terms, forced=True)

    async def _fold(
        self,
        step: int,
        how: Compact,
        messages: list[Message],
        terms: FoldTerms,
        *,
        forced: bool = False,
    ) -> list[Message]:
        plan = plan_or_reason(messages, terms)
        if isinstance(plan, NoFold) and plan.reason == "question-too-long":
            # What the question under way takes cannot be helped; what stands before it can.
            plan = plan_or_reason(messages, replace(terms, target=how.keep))
        if isinstance(plan, NoFold):
            self._say_once(step, f"the conversation cannot be folded: {plan.text}")
            return messages
        return await self._carried_out(step, how, plan, messages, forced=forced)

    async def _carried_out(
        self,
        step: int,
        how: Compact,
        plan: CompactionPlan,
        messages: list[Message],
        *,
        forced: bool,
    ) -> list[Message]:
        try:
            folded = await self.asking.interruption.cut_short(
                lambda: compact_transcript(
                    messages,
                    plan,
                    partial(self._summary, step),
                    hooks=self._hooks(how),
                    forced=forced,
                    now=self.options.now,
                )
            )
        except Interrupted:
            raise
        except _BlankSummary:
            self._say(step, "nothing was folded: the summary is blank")
            self._blank_summaries += 1
            self._is_refused = self._blank_summaries >= MAX_BLANK_SUMMARIES
            return messages
        except Exception as error:  # noqa: BLE001  # a run goes on without a summary
            self._say(step, f"folding the conversation failed: {error_message(error)}")
            folded = messages
        self._is_refused = folded is messages
        if not self._is_refused:
            self._blank_summaries = 0
            many = len(plan.to_summarise)
            self._say(step, plan.shortfall or f"{many} messages were folded into a summary")
        return folded

    async def _summary(self, step: int, text: str) -> str:
        turn = await self.asking.aside(
            "summary", step, summary_messages(text), model=self.options.summary_model
        )
        summary = summary_of(turn.content)
        if not summary:
            raise _BlankSummary
        return summary

    def _hooks(self, how: Compact) -> CompactionHooks | None:
        hooks = self.options.hooks
        if hooks is None:
            return None
        return CompactionHooks(
            run=hooks.run,
            context=hooks.context,
            on_note=self.events.note,
            honour_veto=how.honour_veto,
        )

    async def _limit(self, step: int) -> int:
        """The window in tokens, found out when it is first needed; 0 for unknown."""
        if self._window is None:
            self._window = await self._find_window(step)
        return self._window

    async def _find_window(self, step: int) -> int:
        known = self.options.context_length
        if isinstance(known, int):
            return known
        try:
            return await self.asking.interruption.cut_short(known)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001  # a run that needs what failed will say so
            self._say(step, f"the model's window cannot be found out: {error_message(error)}")
            return 0

    def _is_due(self, how: Compact, messages: list[Message]) -> bool:
        return self._used(messages) >= (self._window or 0) * how.at

    def _terms(self, how: Compact, messages: list[Message]) -> FoldTerms:
        return FoldTerms(
            limit=self._window or 0,
            used=self._used(messages),
            compact_at=how.at,
            keep_ratio=how.keep,
            estimate=estimate_from(self.record.ledger, self.record.messages),
        )

    def _used(self, messages: list[Message]) -> float:
        """What the next request takes: as counted so far, and the rest by estimate."""
        size_of = estimate_from(self.record.ledger, self.record.messages)
        if not self.record.ledger:
            return self.asking.front_tokens + sum(map(size_of, messages))
        counted = self.record.ledger[-1]
        old, new = self.record.messages, sum(map(size_of, messages))
        return counted.prompt + new - sum(map(size_of, old[: counted.through + 1]))

    def _say(self, step: int, text: str) -> None:
        self.events.tell("notice", step, text=text)

    def _say_once(self, step: int, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._say(step, text)
