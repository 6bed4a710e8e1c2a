"""Tool results too long for the model: cut for it, kept whole for the host, read piece by piece.

The model sees a beginning and an end, and between them how to read the rest through
``read_result``. Lengths are code points.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import count, filterfalse
from typing import Any

from host.catalogue import freeze
from host.loop.page_cuts import page_end, page_starts, tail_start_at
from host.records import ToolDefinition
from host.text.terminal_text import one_line
from host.text.truncation import cut_after, cut_before

READ_RESULT = "read_result"
"""The meta-tool's name."""

MAX_KEPT_CHARS = 20_000_000
"""How much a run keeps of its cut results, unless told otherwise."""

MAX_SHOWN_HITS = 20
"""How many hits of one search are shown; all are counted."""

MAX_SEARCH_CHARS = 200
"""The longest text to search for: it bounds what one search can take."""

_CONTEXT_CHARS = 120
_MAX_LISTED = 10
_MAX_ECHO_CHARS = 60

_MARKED_ID = re.compile(rf'{READ_RESULT}(?:", "arguments")?: \{{"id": "r([0-9]{{1,9}})"')
_RESULT_ID = re.compile(r"r?([0-9]{1,9})")
_PAGE_NUMBER = re.compile(r"\s*([0-9]{1,9})(?:\.0*)?\s*")

_DEFINITION: ToolDefinition = {
    "type": "function",
    "function": {
        "name": READ_RESULT,
        "description": (
            "Read more of a tool result that was too long to be shown whole. Where it was cut, "
            "its id is given. Read one page of it, or search it for a text to see the places "
            "that contain it and their pages."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The result's id, for example r1."},
                "page": {
                    "type": "integer",
                    "description": "The page to read. Page 2 goes on where the result was cut.",
                },
                "search": {
                    "type": "string",
                    "description": "A text to find, capitals or not. Leave it out to read a page.",
                },
            },
            "required": ["id"],
            "additionalProperties": False,
        },
    },
}

READ_RESULT_DEFINITION: ToolDefinition = freeze(_DEFINITION)
"""What a request declares once a result was cut; shared, and unchangeable at any depth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passage:
    """A stretch of a text with hits in it: the first and the last one begin at these offsets."""

    start: int
    end: int
    first_hit: int
    last_hit: int
    hits: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """One cut result.

    Attributes:
        shown: what the model read in its place.
        starts: where each page begins. The first page is the beginning that was shown.
        headed: whether there is room for a line above each page.
        max_chars: the most that any answer about it may take.
    """

    id: str
    name: str
    text: str
    shown: str
    starts: tuple[int, ...]
    headed: bool
    max_chars: int

    def page_at(self, offset: int) -> int:
        """The number of the page on which the character at ``offset`` is."""
        return bisect_right(self.starts, offset)

    def page(self, number: int) -> str:
        """The page of that number, from 1, as the model reads it."""
        start, end = (*self.starts, len(self.text))[number - 1 : number + 1]
        header = _header(self.id, number, len(self.starts), start, end, len(self.text))
        return (header if self.headed else "") + self.text[start:end]

    def passage(self, found: _Passage) -> str:
        """The passage as the model reads it, its pages before it."""
        label = _label(self, found.first_hit, found.last_hit, found.start, found.end)
        return label + self.text[found.start : found.end]


class ResultShelf:
    """The results of one run that were too long for the model.

    Args:
        max_chars: the most the model reads of one result, and of one answer of ``read_result``;
            None or anything below 1 for no limit.
        max_kept_chars: the most that is kept of all of them; the oldest go first, the newest
            stays even if it alone is longer.
        taken: the numbers that results have in the transcript already; see ``marked_numbers``.
        through: the tool that ``read_result`` is called through; "" where it is called itself.
    """

    def __init__(
        self,
        max_chars: int | None,
        *,
        max_kept_chars: int = MAX_KEPT_CHARS,
        taken: Collection[int] = (),
        through: str = "",
    ) -> None:
        self._max_chars = max_chars if max_chars is not None and max_chars > 0 else None
        self._max_kept_chars = max_kept_chars
        self._kept_chars = 0
        self._known = set(taken)
        self._numbers = filterfalse(self._known.__contains__, count(1))
        self._through = through
        self._kept: dict[str, _Kept] = {}
        self._ids: dict[str, str] = {}

    @property
    def is_offered(self) -> bool:
        """Whether ``read_result`` has anything to read: True once something was cut."""
        return bool(self._kept)

    def shown(self, call_id: str, name: str, text: str) -> str:
        """What the model reads for this result: all of it, or its beginning and its end.

        Two thirds of what is shown stand before the marker. Either cut falls between two lines if
        that costs at most a fifth of its part, and parts no character from its marks. A limit
        with no room beside the marker gives a plain prefix.

        Equal texts are kept once, under one id.

        Args:
            call_id: the call that was answered.
            name: the tool that answered it.
        """
        if self._max_chars is None or len(text) <= self._max_chars:
            return text
        kept = next((each for each in self._kept.values() if each.text == text), None)
        if kept is None:
            number = next(self._numbers)
            self._known.add(number)
            kept = _cut_result(f"r{number}", name, text, self._max_chars, self._through)
        self._keep(kept)
        self._ids[call_id] = kept.id
        return kept.shown

    def share(self, call_id: str, shown: str) -> None:
        """Lets a call that was answered with the same cut text have its whole, too."""
        kept = next((each for each in self._kept.values() if each.shown == shown), None)
        if kept is not None:
            self._ids.setdefault(call_id, kept.id)

    def id_of(self, call_id: str) -> str | None:
        """The id to read on in a call's result by; None if it was not cut or is no longer kept."""
        result_id = self._ids.get(call_id, "")
        return result_id if result_id in self._kept else None

    def whole(self, call_id: str) -> str | None:
        """The whole result of a call; None if it was not cut or is no longer kept."""
        kept = self._kept.get(self._ids.get(call_id, ""))
        return None if kept is None else kept.text

    def answer(self, args: Mapping[str, Any]) -> tuple[str, bool]:
        """What the model reads for a ``read_result`` call, and whether it got what it asked for.

        Never longer than the limit, and not to be cut again. A search goes before a page, but a
        blank one beside a page is none; with neither, the page behind the first cut is read. No
        id means the only result there is.
        """
        text, ok = self._answer(args)
        return text[: self._max_chars], ok

    def _answer(self, args: Mapping[str, Any]) -> tuple[str, bool]:
        kept = self._asked(args.get("id"))
        if isinstance(kept, str):
            return f"{kept} {self._listing()}", False
        page, search = args.get("page"), args.get("search")
        if page is not None and isinstance(search, str) and not search.strip():
            search = None
        if search is not None:
            return self._found(kept, search)
        number = 2 if page is None else _page_number(page)
        if number is None or not 1 <= number <= len(kept.starts):
            pages = len(kept.starts)
            return f"There is no such page of {kept.id}: page must be from 1 to {pages}.", False
        return kept.page(number), True

    def _asked(self, given: object) -> _Kept | str:
        """The result that is meant, or why there is none."""
        if given is None:
            given = ""
        if not isinstance(given, str):
            return "The id must be a text, like r1."
        if not given.strip():
            return next(iter(self._kept.values())) if len(self._kept) == 1 else "No id was given."
        asked = _RESULT_ID.fullmatch(given.strip().lower())
        number = int(asked[1]) if asked else 0
        if number not in self._known:
            return f"No result has the id {one_line(given)[:_MAX_ECHO_CHARS]}."
        gone = f"r{number} is no longer kept; if you need it, call its tool again."
        return self._kept.get(f"r{number}", gone)

    def _listing(self) -> str:
        if not self._kept:
            return "There is no cut result to read."
        newest = list(reversed(self._kept.values()))
        listed = ", ".join(
            f"{each.id} ({one_line(each.name)[:_MAX_ECHO_CHARS]}, pages 1 to {len(each.starts)})"
            for each in newest[:_MAX_LISTED]
        )
        surplus = len(newest) - _MAX_LISTED
        return f"Results to read: {listed}" + (f" and {surplus} older" if surplus > 0 else "")

    def _found(self, kept: _Kept, search: object) -> tuple[str, bool]:
        if not isinstance(search, str) or not search.strip():
            return f"To search {kept.id}, give search as a text that is not blank.", False
        if len(search) > MAX_SEARCH_CHARS:
            return f"Search for a text of at most {MAX_SEARCH_CHARS} characters.", False
        return _search_answer(kept, search), True

    def _keep(self, kept: _Kept) -> None:
        """Puts the result, known or new, behind all others, and drops the oldest of too many."""
        if self._kept.pop(kept.id, None) is None:
            self._kept_chars += len(kept.text)
        self._kept[kept.id] = kept
        while self._kept_chars > self._max_kept_chars and len(self._kept) > 1:
            oldest = self._kept.pop(next(iter(self._kept)))
            self._kept_chars -= len(oldest.text)


def marked_numbers(texts: Iterable[str]) -> frozenset[int]:
    """The numbers that earlier runs gave to cut results.

    Ids that stand in the transcript's texts must not come to mean another result. A text that
    only looks like a cut one takes the numbers it names, and no others.
    """
    return frozenset(int(found[1]) for text in texts for found in _MARKED_ID.finditer(text))


def _cut_result(result_id: str, name: str, text: str, max_chars: int, through: str) -> _Kept:
    length = len(text)
    header = len(_header(result_id, length, length, length, length, length))
    headed = header * 2 <= max_chars
    page_chars = max_chars - header if headed else max_chars
    room = max_chars - len(_marker(result_id, length, length, length, through))
    head_end = page_end(text, 0, room - room // 3) if room > 0 else max_chars
    starts = page_starts(text, min(head_end, page_chars), page_chars)
    shown = text[:head_end]
    if room > 0:
        tail_start = tail_start_at(text, length - room // 3)
        marker = _marker(result_id, tail_start - head_end, length, len(starts), through)
        shown += (marker[1:] if shown.endswith("\n") else marker) + text[tail_start:]
    return _Kept(
        id=result_id,
        name=name,
        text=text,
        shown=shown,
        starts=starts,
        headed=headed,
        max_chars=max_chars,
    )


def _marker(result_id: str, left_out: int, all_chars: int, pages: int, through: str) -> str:
    page, search = (
        f'{{"name": "{READ_RESULT}", "arguments": {{"id": "{result_id}", {asked}}}}}'
        if through
        else f'{{"id": "{result_id}", {asked}}}'
        for asked in ('"page": 2', '"search": "..."')
    )
    return (
        f"\n[truncated: {left_out} of {all_chars} chars left out. This is result {result_id}, "
        f"{pages} pages. To read on call {through or READ_RESULT}: {page} or {search}]\n"
    )


def _header(result_id: str, page: int, pages: int, start: int, end: int, all_chars: int) -> str:
    return f"[{result_id}: page {page} of {pages}, chars {start + 1}-{end} of {all_chars}]\n"


def _page_number(given: object) -> int | None:
    """The number that was meant; a text or a float counts when it is a whole one."""
    if isinstance(given, str):
        read = _PAGE_NUMBER.fullmatch(given)
        return int(read[1]) if read else None
    if isinstance(given, float):
        return int(given) if given.is_integer() else None
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _search_answer(kept: _Kept, search: str) -> str:
    spans: list[tuple[int, int]] = []
    total = 0
    # On the original: a lowered text can have another length.
    for hit in re.finditer(re.escape(search), kept.text, re.IGNORECASE):
        total += 1
        if total <= MAX_SHOWN_HITS:
            spans.append(hit.span())
    lead = f'[{kept.id}: {_hits(total)} for "{one_line(search)[:_MAX_ECHO_CHARS]}"'
    if not spans:
        return f"{lead} in {len(kept.text)} chars. A shorter text or another word may be found.]"
    passages = _passages(kept, spans, len(lead + _some(total)))
    shown = sum(passage.hits for passage in passages)
    if not shown:
        return f"{lead}, the first on page {kept.page_at(spans[0][0])} of {len(kept.starts)}]"
    return "".join((lead, _some(shown) if shown < total else "]", *map(kept.passage, passages)))


def _hits(count: int) -> str:
    return "1 hit" if count == 1 else f"{count} hits"


def _some(shown: int) -> str:
    return f", {shown} shown. To see others search for a longer text or read the pages.]"


def _passages(kept: _Kept, spans: Iterable[tuple[int, int]], used: int) -> list[_Passage]:
    """The hits with what stands around them, joined where they meet, as many as there is room for.

    Args:
        used: how much of the room is taken.
    """
    length = len(kept.text)
    context = min(_CONTEXT_CHARS, kept.max_chars // 8)
    label = len(_label(kept, 0, length, length, length)) + len(str(len(kept.starts)))
    passages: list[_Passage] = []
    for hit_start, hit_end in spans:
        start = cut_before(kept.text, max(0, hit_start - context))
        end = cut_after(kept.text, min(length, hit_end + context))
        last = passages[-1] if passages else None
        if last and start <= last.end:
            used += end - last.end
            start, first, hits = last.start, last.first_hit, last.hits + 1
        else:
            used += label + end - start
            last, first, hits = None, hit_start, 1
        if used > kept.max_chars:
            break
        if last:
            passages.pop()
        passages.append(
            _Passage(start=start, end=end, first_hit=first, last_hit=hit_start, hits=hits)
        )
    return passages


def _label(kept: _Kept, first_hit: int, last_hit: int, start: int, end: int) -> str:
    first, last = kept.page_at(first_hit), kept.page_at(last_hit)
    pages = f"page {first}" if first == last else f"pages {first}-{last}"
    return f"\n\n[{pages} of {len(kept.starts)}, chars {start + 1}-{end}]\n"
