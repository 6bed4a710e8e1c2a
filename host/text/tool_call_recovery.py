"""Tool calls that a model wrote into its text, because its template has no place for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from host.records.messages import ToolCall
from host.text.call_survey import CallSurvey, Candidate, Span, survey_calls
from host.text.call_values import ParsedCall, calls_of, is_definition


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredCalls:
    """What was found in a reply.

    Attributes:
        content: the reply without the calls, trimmed; the very reply when there were none.
        tool_calls: in the order written.
    """

    content: str
    tool_calls: tuple[ToolCall, ...] = ()


def recover_tool_calls(
    content: str, *, names: Iterable[str] = (), taken: Collection[str] = ()
) -> RecoveredCalls:
    """The tool calls written in a reply, and what remains of it; never raises, linear time.

    Three kinds count (agent-core §16, design §8):

    * marked: behind a tag or token that only a tool call carries (``call_formats``), or in a
      fence tagged ``tool_call``; whatever the name, since the refusal teaches the model;
    * unmarked, when nothing is marked and every name exists: function markup outside a tag, a
      reply that is JSON as a whole, or the reply's only fence holding nothing else;
    * nothing inside code, quotation marks, block quotes, other JSON, or thinking.

    Args:
        content: the reply's text, thinking included.
        names: the tools that exist.
        taken: ids already in the transcript; the new ones (``call_recovered_0``, …) avoid them.
    """
    survey = survey_calls(content)
    spans = survey.marked or _unmarked(survey, frozenset(names))
    if not spans:
        return RecoveredCalls(content=content)
    ids = _free_ids(frozenset(taken))
    return RecoveredCalls(
        content=_without(content, spans),
        tool_calls=tuple(_tool_call(next(ids), call) for span in spans for call in span.calls),
    )


def _unmarked(survey: CallSurvey, names: frozenset[str]) -> Sequence[Span]:
    if survey.markup:
        calls = [call for span in survey.markup for call in span.calls]
        return survey.markup if all(call.name in names for call in calls) else ()
    candidate = survey.whole or survey.fence
    if candidate is None:
        return ()
    calls = _named_calls(candidate, names)
    return (Span(start=candidate.start, end=candidate.end, calls=tuple(calls)),) if calls else ()


def _named_calls(candidate: Candidate, names: frozenset[str]) -> list[ParsedCall]:
    """The candidate's calls; none at all if one value is no call of a tool that exists."""
    calls: list[ParsedCall] = []
    for value in candidate.values:
        read = calls_of(value)
        entries = value if isinstance(value, list) else [value]
        if not read or any(map(is_definition, entries)):
            return []
        calls.extend(read)
    return calls if all(call.name in names for call in calls) else []


def _free_ids(taken: Collection[str]) -> Iterator[str]:
    return (minted for n in count() if (minted := f"call_recovered_{n}") not in taken)


def _tool_call(call_id: str, call: ParsedCall) -> ToolCall:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _without(content: str, spans: Sequence[Span]) -> str:
    starts = [0, *(span.end for span in spans)]
    ends = [*(span.start for span in spans), len(content)]
    return "".join(content[start:end] for start, end in zip(starts, ends, strict=True)).strip()
