"""Telling whoever watches a run what happens in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any

from host.loop.collaborators import CallSink, EventSink, ResultSink, ToolCallResult
from host.records import HookNote, RunEventKind, ToolCallRequest, Turn, TurnUsage
from host.records.events import camel_key
from host.text.json_copy import json_copy
from host.text.truncation import preview


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvents:
    """Emits the events of a run, numbered by step; ``sink`` None when nobody watches.

    Attributes:
        on_call, on_result: hear of calls whole, where events hold previews.
    """

    sink: EventSink | None
    on_call: CallSink | None = None
    on_result: ResultSink | None = None

    def tell(
        self,
        kind: RunEventKind,
        step: int | None = None,
        *,
        text: str = "",
        name: str = "",
        ok: bool | None = None,
        usage: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002  # the event record's own field name
    ) -> None:
        """Emits one event; ``step`` None outside steps."""
        if self.sink is None:
            return
        label = "" if step is None else str(step)
        with _Contained():
            self.sink(kind=kind, text=text, name=name, step=label, ok=ok, usage=usage, id=id)

    def call(self, step: int, call: ToolCallRequest) -> None:
        """Announces a call; who hears of it whole gets arguments of their own."""
        self.tell("tool-call", step, text=preview(call.raw), name=call.name, id=call.id)
        if self.on_call is not None:
            with _Contained():
                self.on_call(replace(call, args=json_copy(call.args)), step)

    def result(self, step: int, result: ToolCallResult) -> None:
        """Tells what a call was answered."""
        shown = preview(result.text)
        self.tell("tool-result", step, text=shown, name=result.name, ok=result.ok, id=result.id)
        if self.on_result is not None:
            with _Contained():
                self.on_result(result, step)

    def usage(self, step: int, total: TurnUsage, turn: Turn, extra: Mapping[str, Any] = {}) -> None:
        """Tells the run's totals so far, and under ``turn`` what this turn took.

        Args:
            extra: further figures of the turn, such as what became of the endpoint's cache.
        """
        self.tell("usage", step, usage=usage_report(total, turn, extra))

    def note(self, note: HookNote) -> None:
        """Tells what a hook did."""
        self.tell("notice", text=note_text(note))


class _Contained:
    """A block that is left quietly, whatever is raised in it: a watcher never ends what it watches.

    A cancellation is contained, too: a plain call is cancelled by nobody, and who raises one has
    asked a task of their own. What ends the program passes.
    """

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        return not isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)


def usage_report(
    total: TurnUsage, turn: Turn, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A usage event's payload: running totals, and the turn's own figures under ``turn``.

    Keys are camelCase; figures that were not reported are absent (agent-core §13).
    """
    report: dict[str, Any] = {
        "promptTokens": total.prompt_tokens,
        "completionTokens": total.completion_tokens,
        "totalTokens": total.total_tokens,
    }
    if total.cached_tokens is not None:
        report["cachedTokens"] = total.cached_tokens
    own = {camel_key(key): value for key, value in asdict(turn.usage).items() if value is not None}
    return {**report, "turn": {**own, **(extra or {}), "finishReason": turn.finish_reason}}


def note_text(note: HookNote) -> str:
    """A hook's note as one line for people."""
    who = f"hook {note.hook_id} of {note.source}" if note.source else f"the {note.event} hooks"
    if note.error is not None:
        return f"{who} failed ({note.event}): {note.error}"
    if note.veto:
        return f"{who} vetoed {note.event}" + (f": {note.text}" if note.text else "")
    return f"{who} added about {note.tokens or 0} tokens of context ({note.event})"
