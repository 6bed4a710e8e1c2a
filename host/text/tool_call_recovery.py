"""Tool calls that a model wrote into its text, because its template has no place for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from operator import attrgetter

from host.records.messages import ToolCall
from host.text.call_survey import CallSurvey, Span, survey_calls
from host.text.call_values import ParsedCall


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

    Four kinds count (agent-core §16, design §8):

    * marked: behind a tag or token that only a tool call carries (``call_formats``), or in a
      fence tagged ``tool_call``; whatever the name, since the refusal teaches the model;
    * named, beside them when every name exists: behind what might be a word of prose, or in a
      fence tagged ``tool_code``;
    * unmarked, when none of those is there and every name exists: function markup outside a tag, a
      reply that is JSON or Python calls as a whole, or the reply's only fence holding nothing
      else;
    * nothing inside code, quotation marks, block quotes, comments, other JSON, or thinking.

    Of several calls the last of which was cut off, the whole ones count and the cut one stays in
    the content: what it would have said is unknown (ours; §16 is silent).

    A tool's name alone is no call, ``name()`` is one: a name answers "which tool…?", and a tool
    that needs no arguments would run though nobody asked for it (ours).

    Args:
        content: the reply's text, thinking included.
        names: the tools that exist.
        taken: ids already in the transcript; the new ones (``call_recovered_0``, …) avoid them.
    """
    survey = survey_calls(content)
    known = frozenset(names)
    named = [span for span in survey.named if _names_known(span, known)]
    marked = sorted([*survey.marked, *named], key=attrgetter("start"))
    spans = marked or _unmarked(survey, known)
    if not spans:
        return RecoveredCalls(content=content)
    ids = _free_ids(frozenset(taken))
    return RecoveredCalls(
        content=_without(content, spans),
        tool_calls=tuple(_tool_call(next(ids), call) for span in spans for call in span.calls),
    )


def _unmarked(survey: CallSurvey, known: Collection[str]) -> Sequence[Span]:
    alone = survey.whole or survey.fence
    spans = survey.markup or ((alone,) if alone else ())
    return spans if all(_names_known(span, known) for span in spans) else ()


def _names_known(span: Span, known: Collection[str]) -> bool:
    return all(call.name in known for call in span.calls)


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
