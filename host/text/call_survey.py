"""One pass over a reply that finds what could be a tool call and what only quotes one."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace

from host.text.call_bare import BareReading, read_alone, read_bare
from host.text.call_formats import CALL_FORMATS, CallFormat, Standing
from host.text.call_quoting import ASIDES, QUOTATION, THINKING_CLOSE, THINKING_OPENER
from host.text.call_tokens import END_TOKENS
from host.text.call_values import CallText, ParsedCall
from host.text.markdown_code import CodeRegion, MarkdownCode

_THINK_CLOSE = re.compile(THINKING_CLOSE)
_THINK_TAG = re.compile(rf"^[ \t]*(?P<close>{THINKING_CLOSE})|{THINKING_OPENER}", re.MULTILINE)
_ASIDE_OF = {f"aside{number}": aside for number, aside in enumerate(ASIDES)}
_FORMAT_OF = {f"format{number}": entry for number, entry in enumerate(CALL_FORMATS)}
# Words are passed over at once: of all openers only two begin with one.
_LANDMARK = re.compile(
    r"(?=[^\w\s]|\ ?to=|functools\[)(?:"
    + "|".join(
        [
            rf"(?P<think>{THINKING_OPENER})",
            rf"(?P<answer>{THINKING_CLOSE})",
            r"(?P<code>`+|~{3,})",
            *(rf"(?P<{group}>{aside.opener})" for group, aside in _ASIDE_OF.items()),
            *(rf"(?P<{group}>{entry.opener})" for group, entry in _FORMAT_OF.items()),
        ]
    )
    + ")"
)
_ACTION = re.compile(r"^[ \t]*Action:\s*+\Z", re.MULTILINE)
_ACTION_CHARS = 40
_HIDDEN = "\ufffc"
_FENCE_STANDING: dict[str, Standing] = {"tool_call": "marked", "tool_code": "named"}
_JSON_TAGS = ("", "json", "tool_call")
_RUN = re.compile(r"`{3,}|~{3,}")
_NO_LEAD = BareReading((), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Calls at ``[start, end)`` of a reply, the template's end behind them included."""

    start: int
    end: int
    calls: tuple[ParsedCall, ...]
    standing: Standing = "markup"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSurvey:
    """What stands in a reply after its thinking; nothing of it is quoted.

    Attributes:
        marked: calls behind a marker or in a fence tagged ``tool_call``.
        named: calls that count beside them where they name tools that exist: in a fence tagged
            ``tool_code``, or behind what only seems a marker.
        markup: function markup outside a tag.
        whole: the answer, if it is nothing but calls (JSON, or Python calls).
        fence: the reply's only fence, if it is untagged or ``json`` and holds nothing but calls;
            an ``Action:`` before it (Command-R) is part of the span.
    """

    marked: tuple[Span, ...]
    named: tuple[Span, ...]
    markup: tuple[Span, ...]
    whole: Span | None
    fence: Span | None


def survey_calls(text: str) -> CallSurvey:
    """What could be tool calls in a reply; each is judged where it stands, in linear time.

    Everything up to the last closing think tag is thinking, and everything behind one that is
    not closed. A tag inside code only quotes a tag; but one that begins a line behind an unfinished
    fence ends the thinking that left the fence unfinished.

    Behind a call whose end cannot be told, only calls count behind which nothing else stands:
    those with text behind them may belong to it, as an example that it was about to write down.
    """
    reader = _Reader(text)
    spans = reader.spans()
    return CallSurvey(
        marked=tuple(span for span in spans if span.standing == "marked"),
        named=tuple(span for span in spans if span.standing == "named"),
        markup=tuple(span for span in spans if span.standing == "markup"),
        whole=reader.whole(),
        fence=reader.only_fence(),
    )


@dataclass(slots=True)
class _Answer:
    """What was met since the thinking ended.

    Attributes:
        lead: what opens the answer without a marker, from ``lead_start`` on.
        prose: the text around calls and code, each of those one placeholder.
        doubts: where calls begin whose end cannot be told.
        places: where in the prose a start stands.
        copied: up to where the text is in the prose.
    """

    start: int
    end: int
    lead: BareReading = _NO_LEAD
    lead_start: int = 0
    spans: list[Span] = field(default_factory=list)
    doubts: list[int] = field(default_factory=list)
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
        self._unclosed: set[str] = set()
        at = self._begin(0)
        while landmark := _LANDMARK.search(text, at):
            at = self._after(landmark)
        answer = self.answer
        prose = "".join([*answer.prose, text[answer.copied : self._end_of_quotation(answer.end)]])
        self._quotations = [found.span() for found in QUOTATION.finditer(prose)]
        unquoted = (start for start in answer.doubts if not self._is_quoted(start))
        self._doubt = next(unquoted, len(text))

    def spans(self) -> list[Span]:
        """The spans that nothing quotes and no doubtful call may hold."""
        spans = [span for span in self.answer.spans if not self._is_quoted(span.start)]
        is_last, at = True, self.answer.end
        kept: list[Span] = []
        for span in reversed(spans):
            is_last = is_last and not self._text[span.end : at].strip()
            at = span.start
            if is_last or span.start < self._doubt:
                kept.append(span)
        return kept[::-1]

    def whole(self) -> Span | None:
        """The answer as calls, if it holds nothing else but perhaps one that was cut off."""
        answer = self.answer
        end = self._behind_call(answer.lead.end)
        is_whole = answer.lead.is_cut or not self._text[end : answer.end].strip()
        if not answer.lead.calls or not is_whole:
            return None
        return Span(start=answer.lead_start, end=end, calls=answer.lead.calls)

    def only_fence(self) -> Span | None:
        """The answer's only fence as calls, if it holds nothing else and nothing quotes it."""
        if len(self.answer.fences) != 1:
            return None
        [fence] = self.answer.fences
        if fence.tag not in ("", "json") or self._is_quoted(fence.start):
            return None
        span = self._span_in(fence, "markup")
        if span is None or (span.start > self._doubt and self._text[span.end :].strip()):
            return None
        earliest = max(self.answer.start, fence.start - _ACTION_CHARS)
        action = _ACTION.search(self._text, earliest, fence.start)
        return replace(span, start=action.start()) if action else span

    def _span_in(self, fence: CodeRegion, standing: Standing) -> Span | None:
        """The calls that a fence is; of a fence that was cut off, those that are whole."""
        body = CallText(self._text[fence.body_start : fence.body_end])
        is_marked = standing == "marked"
        calls, end, _ = read_alone(body, may_be_cut=not fence.is_closed, is_marked=is_marked)
        if not calls:
            return None
        end = self._behind_call(fence.end) if fence.is_closed else fence.body_start + end
        return Span(start=fence.start, end=end, calls=calls, standing=standing)

    def _behind_call(self, end: int) -> int:
        """Behind what a template writes at the end of a message, if that was printed too."""
        found = END_TOKENS.match(self._text, end)
        return found.end() if found else end

    def _begin(self, start: int) -> int:
        """Begins the answer there; what opens it as JSON is not searched for markers."""
        answer = self.answer = _Answer(start=start, end=len(self._text), copied=start)
        answer.lead_start = self._source.after_space(start)
        answer.lead = read_bare(self._source, start)
        if answer.lead.end > answer.lead_start:
            self._hide(answer.lead_start, answer.lead.end)
        return max(answer.lead.end, answer.lead_start)

    def _after(self, landmark: re.Match[str]) -> int:
        """Takes in what stands at a landmark; returns where to read on."""
        match landmark.lastgroup:
            case "think":
                close = _THINK_CLOSE.search(self._text, landmark.end())
                return close.start() if close else self._stop(landmark.start())
            case "answer":
                return self._begin(landmark.end())
            case "code":
                region = self._code.region_at(landmark.start())
                return self._take_code(region) if region else landmark.end()
            case group if group in _ASIDE_OF:
                return self._take_aside(landmark, str(group))
            case group:
                return self._take_call(landmark, _FORMAT_OF[str(group)])

    def _take_aside(self, landmark: re.Match[str], group: str) -> int:
        aside = _ASIDE_OF[group]
        is_closed = group not in self._unclosed
        found = aside.close.search(self._text, landmark.end()) if is_closed else None
        if found is not None:
            self._hide(landmark.start(), found.end())
            return found.end()
        self._unclosed.add(group)
        return self._stop(landmark.start()) if aside.is_token else landmark.end()

    def _stop(self, end: int) -> int:
        self.answer.end = end
        return len(self._text)

    def _end_of_quotation(self, at: int) -> int:
        """A quotation may end on the next line, and a tag of thinking may stand in it."""
        end = self._text.find("\n", self._text.find("\n", at) + 1 or len(self._text))
        return len(self._text) if end < 0 else end

    def _take_code(self, region: CodeRegion) -> int:
        if region.tag in _JSON_TAGS and region.is_fence:
            region = self._around_json(region)
        if not region.is_closed:
            tag = _THINK_TAG.search(self._text, region.start)
            if tag and tag["close"]:
                return tag.start("close")
        self._hide(region.start, region.end)
        if region.is_fence:
            self.answer.fences.append(region)
        standing = _FENCE_STANDING.get(region.tag)
        if standing and (span := self._span_in(region, standing)):
            self.answer.spans.append(span)
        return region.end

    def _around_json(self, fence: CodeRegion) -> CodeRegion:
        """The fence up to the run behind its JSON: inside a JSON string nothing closes it."""
        ends = [end for _, end in self._source.values_from(fence.body_start)]
        run = _RUN.match(self._text, fence.start)
        close = _RUN.match(self._text, self._source.after_space(ends[-1])) if ends else None
        if run and close and close[0].startswith(run[0]):
            return replace(fence, body_end=close.start(), end=close.end(), is_closed=True)
        self._source.charge(ends[-1] - fence.start if ends else 0)
        return fence

    def _take_call(self, landmark: re.Match[str], call_format: CallFormat) -> int:
        start = landmark.start()
        reading = call_format.read(self._source, landmark.end())
        end = max(reading.end, landmark.end())
        if not reading.calls:
            if reading.is_unclear:
                self.answer.doubts.append(start)
                self.answer.places[start] = self.answer.prose_chars + start - self.answer.copied
            hidden = end if reading.text_start is None else reading.text_start
            self._hide(landmark.end(), hidden)
            return end
        end = self._behind_call(end)
        self._hide(start, end)
        span = Span(start=start, end=end, calls=reading.calls, standing=call_format.standing)
        self.answer.spans.append(span)
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
