"""One pass over a reply that finds what could be a tool call and what only quotes one."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from host.text.call_formats import CALL_FORMATS, CallFormat
from host.text.call_values import CallText, ParsedCall
from host.text.markdown_code import CodeRegion, MarkdownCode
from host.text.thinking import THINK_CLOSE, THINK_OPEN

_THINK_TAG = re.compile(
    rf"^[ \t]*(?P<close>{THINK_CLOSE.pattern})|{THINK_OPEN.pattern}", re.MULTILINE
)
_FORMAT_OF = {f"format{number}": entry for number, entry in enumerate(CALL_FORMATS)}
_LANDMARK = re.compile(
    "|".join(
        [
            rf"(?P<think>{THINK_OPEN.pattern})",
            rf"(?P<answer>{THINK_CLOSE.pattern})",
            r"(?P<code>`+|~{3,})",
            *(rf"(?P<{group}>{entry.opener})" for group, entry in _FORMAT_OF.items()),
        ]
    )
)
_QUOTATION = re.compile(
    r"""
      ^[ \t]*>.*
    | "[^"\n]*"
    | “[^“”\n]*”
    | „[^„“”\n]*[“”]
    | «[^«»\n]*»
    | ‘[^‘’\n]*’
    | (?<!\w)'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w))*+'(?!\w)
    """,
    re.VERBOSE | re.MULTILINE,
)
_HIDDEN = "\ufffc"
_CALL_TAG = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Calls at ``[start, end)`` of a reply."""

    start: int
    end: int
    calls: tuple[ParsedCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """JSON values at ``[start, end)`` that are calls if they name tools that exist."""

    start: int
    end: int
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSurvey:
    """What stands in a reply after its thinking; nothing of it is quoted.

    Attributes:
        marked: calls behind a marker or in a fence tagged ``tool_call``.
        markup: function markup outside a tag.
        whole: the reply, if it is JSON from end to end.
        fence: the reply's only fence, if it is untagged or ``json`` and JSON from end to end.
    """

    marked: tuple[Span, ...]
    markup: tuple[Span, ...]
    whole: Candidate | None
    fence: Candidate | None


def survey_calls(text: str) -> CallSurvey:
    """What could be tool calls in a reply; each is judged where it stands, in linear time.

    Everything up to the last closing think tag is thinking, and everything behind one that is
    not closed. A tag inside code only quotes a tag; but one that begins a line behind an unfinished
    fence ends the thinking that left the fence unfinished.
    """
    reader = _Reader(text)
    return CallSurvey(
        marked=reader.unquoted(reader.answer.marked),
        markup=reader.unquoted(reader.answer.markup),
        whole=reader.whole(),
        fence=reader.only_fence(),
    )


@dataclass(slots=True)
class _Answer:
    """What was met since the thinking ended.

    Attributes:
        lead: values that open the answer, ``lead_start`` to ``lead_end``.
        prose: the text around calls and code, each of those one placeholder.
        places: where in the prose the placeholder of a start stands.
        copied: up to where the text is in the prose.
    """

    start: int
    end: int
    lead: list[Any] = field(default_factory=list)
    lead_start: int = 0
    lead_end: int = 0
    marked: list[Span] = field(default_factory=list)
    markup: list[Span] = field(default_factory=list)
    fences: list[CodeRegion] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    prose_chars: int = 0
    places: dict[int, int] = field(default_factory=dict)
    copied: int = 0


class _Reader:
    """Reads from landmark to landmark; each closing think tag begins the answer anew."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._source = CallText(text)
        self._code = MarkdownCode(text)
        at = self._begin(0)
        while landmark := _LANDMARK.search(text, at):
            at = self._after(landmark)
        answer = self.answer
        prose = "".join([*answer.prose, text[answer.copied : answer.end]])
        self._quotations = [found.span() for found in _QUOTATION.finditer(prose)]

    def unquoted(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Those spans that no quotation encloses."""
        return tuple(span for span in spans if not self._is_quoted(span.start))

    def whole(self) -> Candidate | None:
        """The answer as values, if it holds nothing else."""
        answer = self.answer
        if not answer.lead or self._text[answer.lead_end : answer.end].strip():
            return None
        return Candidate(start=answer.lead_start, end=answer.lead_end, values=tuple(answer.lead))

    def only_fence(self) -> Candidate | None:
        """The answer's only fence as values, if it holds nothing else and nothing quotes it."""
        if len(self.answer.fences) != 1:
            return None
        [fence] = self.answer.fences
        if fence.tag not in ("", "json") or self._is_quoted(fence.start):
            return None
        body = CallText(self._text[fence.body_start : fence.body_end])
        found = list(body.values_from(0))
        if not found or body.after_space(found[-1][1]) < len(body.text):
            return None
        return Candidate(
            start=fence.start, end=fence.end, values=tuple(value for value, _ in found)
        )

    def _begin(self, start: int) -> int:
        """Begins the answer there; JSON that opens it is not searched for markers."""
        answer = self.answer = _Answer(start=start, end=len(self._text), copied=start)
        answer.lead_start = answer.lead_end = self._source.after_space(start)
        if self._text.startswith(("{", "["), answer.lead_start):
            for value, end in self._source.values_from(answer.lead_start):
                answer.lead.append(value)
                answer.lead_end = end
            self._hide(answer.lead_start, answer.lead_end)
        return answer.lead_end

    def _after(self, landmark: re.Match[str]) -> int:
        """Takes in what stands at a landmark; returns where to read on."""
        match landmark.lastgroup:
            case "think":
                close = THINK_CLOSE.search(self._text, landmark.end())
                return close.start() if close else self._stop(landmark.start())
            case "answer":
                return self._begin(landmark.end())
            case "code":
                region = self._code.region_at(landmark.start())
                return self._take_code(region) if region else landmark.end()
            case group:
                return self._take_call(landmark, _FORMAT_OF[str(group)])

    def _stop(self, end: int) -> int:
        self.answer.end = end
        return len(self._text)

    def _take_code(self, region: CodeRegion) -> int:
        if not region.is_closed:
            tag = _THINK_TAG.search(self._text, region.start)
            if tag and tag["close"]:
                return tag.start("close")
        self._hide(region.start, region.end)
        if region.is_fence:
            self.answer.fences.append(region)
        if region.tag == _CALL_TAG:
            body = CallText(self._text[region.body_start : region.body_end])
            calls, end = body.calls_from(0)
            if calls and body.after_space(end) == len(body.text):
                self.answer.marked.append(Span(start=region.start, end=region.end, calls=calls))
        return region.end

    def _take_call(self, landmark: re.Match[str], call_format: CallFormat) -> int:
        calls, end = call_format.read(self._source, landmark.end())
        end = max(end, landmark.end())
        if not calls:
            self._hide(landmark.end(), end)
            return end
        self._hide(landmark.start(), end)
        spans = self.answer.marked if call_format.is_marked else self.answer.markup
        spans.append(Span(start=landmark.start(), end=end, calls=calls))
        return end

    def _hide(self, start: int, end: int) -> None:
        """Puts one placeholder for ``[start, end)`` into the prose."""
        answer = self.answer
        before = self._text[answer.copied : start]
        answer.places[start] = answer.prose_chars + len(before)
        answer.prose += [before, _HIDDEN]
        answer.prose_chars += len(before) + len(_HIDDEN)
        answer.copied = end

    def _is_quoted(self, start: int) -> bool:
        place = self.answer.places[start]
        index = bisect_right(self._quotations, (place, len(self._text) + 1)) - 1
        return index >= 0 and place < self._quotations[index][1]
