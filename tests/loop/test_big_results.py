"""A long result is cut for the model, which can read all of it, piece by piece."""

from __future__ import annotations

import json
import re
import string
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.big_results import (
    MAX_SEARCH_CHARS,
    MAX_SHOWN_HITS,
    READ_RESULT,
    READ_RESULT_DEFINITION,
    ResultShelf,
    marked_numbers,
)

MARKER = re.compile(
    r"\[truncated: (\d+) of (\d+) chars left out\. This is result (r\d+), (\d+) pages\. "
    r"To read on call read_result: (\{.*?\}) or (\{.*?\})\]\n"
)
HEADER = re.compile(r"\[r(\d+): page (\d+) of (\d+), chars (\d+)-(\d+) of (\d+)\]\n")
LEAD = re.compile(r'\[r1: (\d+) hits? for "[^"]*"(?:, (\d+) shown\.[^\]]*| in [^\]]*)?\]')
LABEL = re.compile(r"\n\n\[pages? (\d+)(?:-(\d+))? of (\d+), chars (\d+)-(\d+)\]\n")

PIECES = st.sampled_from(
    ["a", "Ab", "\n", "e\u0301", "👩\u200d🚀", "word " * 9, "x" * 70, "İß\r\n"]
)
TEXTS = st.lists(PIECES, min_size=30, max_size=90).map("".join)
LIMITS = st.integers(1, 60) | st.integers(180, 500)
"""Without and with room for a marker."""


def shelf_of(text: str, max_chars: int) -> ResultShelf:
    shelf = ResultShelf(max_chars)
    shelf.shown("call", "fs__read", text)
    return shelf


def cut_of(shown: str, text: str) -> tuple[str, re.Match[str], str]:
    """The head, the marker and the tail of a cut text, which are all of it."""
    found = MARKER.search(shown)
    assert found
    tail = shown[found.end() :]
    head = text[: len(text) - int(found[1]) - len(tail)]
    assert shown == head + ("" if head.endswith("\n") else "\n") + found[0] + tail
    assert text.endswith(tail)
    return head, found, tail


def read(shelf: ResultShelf, **args: object) -> str:
    text, ok = shelf.answer(args)
    assert ok, text
    return text


def refused(shelf: ResultShelf, **args: object) -> str:
    text, ok = shelf.answer(args)
    assert not ok, text
    return text


def pages_of(shelf: ResultShelf) -> list[str]:
    pages: list[str] = []
    while True:
        text, ok = shelf.answer({"page": len(pages) + 1})
        if not ok:
            return pages
        pages.append(text)


def test_the_definition_asks_for_an_id_and_cannot_be_changed() -> None:
    function = json.loads(json.dumps(READ_RESULT_DEFINITION))["function"]
    assert function["name"] == READ_RESULT
    assert set(function["parameters"]["properties"]) == {"id", "page", "search"}
    assert function["parameters"]["required"] == ["id"]
    with pytest.raises(TypeError):
        READ_RESULT_DEFINITION["function"]["parameters"]["required"].append("page")


@given(TEXTS, LIMITS)
def test_a_cut_result_is_its_beginning_and_its_end_within_the_limit(text: str, limit: int) -> None:
    shelf = ResultShelf(limit)
    shown = shelf.shown("call", "fs__read", text)
    assert shelf.is_offered is (len(text) > limit)
    if len(text) <= limit:
        assert shown == text
        return
    assert len(shown) <= limit
    if limit < 100:
        assert shown == text[:limit]
        return
    _, found, _ = cut_of(shown, text)
    assert found.groups()[1:4] == (str(len(text)), "r1", str(len(pages_of(shelf))))


@given(TEXTS, LIMITS)
def test_the_pages_are_the_whole_text_and_say_where_they_stand(text: str, limit: int) -> None:
    if len(text) <= limit:
        return
    pages = pages_of(shelf_of(text, limit))
    assert all(0 < len(page) <= limit for page in pages)
    bare = [HEADER.sub("", page, count=1) for page in pages]
    assert "".join(bare) == text
    headed = [found for found in map(HEADER.match, pages) if found]
    assert len(headed) in (0, len(pages))
    assert bool(headed) is (limit >= 100)
    start = 0
    for number, (found, page) in enumerate(zip(headed, bare, strict=False), 1):
        end = start + len(page)
        expected = (1, number, len(pages), start + 1, end, len(text))
        assert tuple(map(int, found.groups())) == expected
        start = end


def test_the_calls_in_the_marker_work_and_the_second_page_goes_on_where_the_cut_was() -> None:
    text = "".join(string.ascii_letters[number % 52] * 7 for number in range(200))
    shelf = ResultShelf(400)
    head, found, _ = cut_of(shelf.shown("call", "fs__read", text), text)
    page, search = json.loads(found[5]), json.loads(found[6])
    bare = HEADER.sub("", read(shelf, **page))
    assert text.startswith(bare, len(head))
    assert read(shelf) == read(shelf, **page)
    assert set(search) == {"id", "search"}
    assert "0 hits" in read(shelf, **search)


@pytest.mark.parametrize(("width", "at_line"), [(10, True), (30, True), (150, False)])
def test_a_cut_falls_between_lines_where_one_is_near(width: int, at_line: bool) -> None:
    text = ("x" * (width - 1) + "\n") * 200
    shelf = ResultShelf(600)
    shown = shelf.shown("call", "fs__read", text)
    head, found, tail = cut_of(shown, text)
    if at_line:
        assert len(head) % width == 0
        assert len(tail) % width == 0
        assert all(page.endswith("\n") for page in pages_of(shelf))
        assert "\n\n" not in shown
    else:
        assert len(head) + len(tail) > 600 - len(found[0]) - 10


@pytest.mark.parametrize("sequence", ["e\u0301", "👩\u200d🚀", "👍🏽"])
def test_no_cut_parts_a_character_from_its_marks(sequence: str) -> None:
    for limit in range(200, 212):
        shelf = ResultShelf(limit)
        text = sequence * 300
        head, _, tail = cut_of(shelf.shown("call", "fs__read", text), text)
        for part in (head, tail, *pages_of(shelf)):
            part = HEADER.sub("", part)
            assert part == sequence * (len(part) // len(sequence))


def test_endless_marks_still_come_in_pages() -> None:
    text = "a" + "\u0301" * 300
    assert "".join(pages_of(shelf_of(text, 7))) == text


@pytest.mark.parametrize("limit", [None, 0, -4])
def test_without_a_limit_nothing_is_cut(limit: int | None) -> None:
    shelf = ResultShelf(limit)
    assert shelf.shown("call", "fs__read", "x" * 10_000) == "x" * 10_000
    assert not shelf.is_offered
    assert shelf.whole("call") is None
    assert "no cut result" in refused(shelf, id="r1", page=1)


def test_the_host_gets_the_whole_result_by_its_call() -> None:
    shelf = ResultShelf(200)
    texts = {"a": "1" * 300, "b": "2" * 200, "c": "3" * 201}
    for call_id, text in texts.items():
        shelf.shown(call_id, "fs__read", text)
    assert [shelf.whole(call_id) for call_id in "abcd"] == [texts["a"], None, texts["c"], None]
    assert [shelf.id_of(call_id) for call_id in "abcd"] == ["r1", None, "r2", None]


NEEDLES = st.sampled_from(
    ["a", "AB", "word", "b\na", "e", "\u0301", "ss", "İ", "i", "x" * 9, "none"]
)


@given(TEXTS, st.integers(100, 500) | st.just(5_000), NEEDLES)
def test_a_search_counts_every_hit_and_shows_only_what_is_there(
    text: str, limit: int, needle: str
) -> None:
    text = text * (1 + limit // max(1, len(text)))
    shelf = shelf_of(text, limit)
    answer = read(shelf, search=needle)
    assert len(answer) <= limit
    spans = [hit.span() for hit in re.finditer(re.escape(needle), text, re.IGNORECASE)]
    if not spans:
        assert answer.startswith('[r1: 0 hits for "')
        return
    lead = LEAD.match(answer)
    if lead is None:
        assert f"{len(spans)} hit" in answer
        assert "the first on page" in answer
        return
    assert int(lead[1]) == len(re.findall(re.escape(needle), text, re.IGNORECASE))
    ranges = [(start, end) for start, end, _ in passages(answer, lead.end(), text)]
    shown = int(lead[2] or lead[1])
    assert 0 < shown <= MAX_SHOWN_HITS
    for start, end in spans[:shown]:
        assert any(first <= start and end <= last for first, last in ranges)
    assert all(end < start for (_, end), (start, _) in pairwise(ranges))


def passages(answer: str, at: int, text: str) -> list[tuple[int, int, range]]:
    """What a search shows: each stretch as offsets into the text, and its pages."""
    found = []
    while at < len(answer):
        label = LABEL.match(answer, at)
        assert label, answer[at:]
        start, end = int(label[4]) - 1, int(label[5])
        at = label.end() + end - start
        assert answer[label.end() : at] == text[start:end]
        found.append((start, end, range(int(label[1]), int(label[2] or label[1]) + 1)))
    return found


def test_a_hit_comes_with_its_page_and_what_stands_around_it() -> None:
    text = "\n".join(f"line {number} is here" for number in range(1_000))
    shelf = shelf_of(text, 1_000)
    answer = read(shelf, search="LINE 543 ")
    assert answer.startswith('[r1: 1 hit for "LINE 543"]')
    [(start, end, numbers)] = passages(answer, answer.index("]") + 1, text)
    hit = text.index("line 543")
    assert (hit - start, end - hit) == (120, 129)
    for number in numbers:
        assert "line 543 " in read(shelf, page=number)


def test_hits_close_together_share_a_passage_and_distant_ones_do_not() -> None:
    text = "x" * 500 + "key" + "y" * 50 + "KEY" + "z" * 1_000 + "Key" + "." * 2_000
    answer = read(shelf_of(text, 2_000), search="key")
    found = passages(answer, answer.index("]") + 1, text)
    assert [(start, end) for start, end, _ in found] == [(380, 676), (1436, 1679)]


def test_of_many_hits_the_first_are_shown() -> None:
    answer = read(shelf_of(("key" + "." * 400) * 50, 19_000), search="key")
    assert answer.startswith(f'[r1: 50 hits for "key", {MAX_SHOWN_HITS} shown.')
    assert len(LABEL.findall(answer)) == MAX_SHOWN_HITS


def test_a_hit_that_has_no_room_is_told_by_its_page() -> None:
    text = "." * 300 + "k" * 150 + "." * 300
    shelf = shelf_of(text, 160)
    answer = read(shelf, search="k" * 150)
    found = re.search(r"1 hit for .* the first on page (\d+) of", answer)
    assert found
    assert "kk" in read(shelf, page=int(found[1]))


@pytest.mark.parametrize("given_id", ["r1", " R1\n", "1", "r01", None, "", "  "])
def test_an_id_is_taken_as_it_was_meant(given_id: str | None) -> None:
    shelf = shelf_of("x" * 900, 300)
    assert read(shelf, id=given_id, page=1) == read(shelf, page=1)


@pytest.mark.parametrize("page", [2, 2.0, "2", " 2 ", "2.0"])
def test_a_page_is_taken_as_it_was_meant(page: object) -> None:
    shelf = shelf_of("x" * 900, 300)
    assert read(shelf, page=page).startswith("[r1: page 2 of ")
    assert read(shelf, page=page, search=" ") == read(shelf, page=page)
    assert "hits" in read(shelf, page=page, search="x")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"page": 0}, "1 to 5"),
        ({"page": -1}, "1 to 5"),
        ({"page": 6}, "1 to 5"),
        ({"page": 10**5_000}, "1 to 5"),
        ({"page": "9" * 5_000}, "1 to 5"),
        ({"page": 1.5}, "1 to 5"),
        ({"page": float("inf")}, "1 to 5"),
        ({"page": True}, "1 to 5"),
        ({"page": "two"}, "1 to 5"),
        ({"page": [1]}, "1 to 5"),
        ({"search": " \n"}, "not blank"),
        ({"search": ["x"]}, "not blank"),
        ({"search": 7, "page": 1}, "not blank"),
        ({"search": "x" * (MAX_SEARCH_CHARS + 1)}, str(MAX_SEARCH_CHARS)),
        ({"id": "r2"}, "r1 (fs__read, pages 1 to 5)"),
        ({"id": "r0"}, "r1 (fs__read, pages 1 to 5)"),
        ({"id": "call"}, "r1 (fs__read, pages 1 to 5)"),
        ({"id": ["r1"]}, "r1 (fs__read, pages 1 to 5)"),
    ],
)
def test_a_refusal_says_what_there_is(args: dict[str, object], said: str) -> None:
    assert said in refused(shelf_of("x" * 1_000, 300), **args)


def test_with_several_results_the_id_is_needed() -> None:
    shelf = ResultShelf(2_000)
    for number in range(1, 14):
        shelf.shown(f"call-{number}", f"fs__read_{number}", f"{number:02}" * 2_000)
    text = refused(shelf, page=1)
    assert "No id" in text
    assert "r13 (fs__read_13, pages 1 to " in text
    assert "r3 (" not in text
    assert text.endswith("and 3 older")
    assert "0202" in read(shelf, id="r2", page=1)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**4_000)
    | st.floats()
    | st.sampled_from(["r1", "R2 ", "r", "", " ", "x", "2", "-1", "\ud800", "r" + "9" * 5_000]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


@given(
    st.dictionaries(st.sampled_from(["id", "page", "search", "other"]), JSON),
    st.sampled_from([None, 1, 20, 150, 1_000]),
    st.integers(0, 3),
)
def test_whatever_is_asked_gets_an_answer_within_the_limit(
    args: dict[str, object], limit: int | None, results: int
) -> None:
    shelf = ResultShelf(limit)
    for number in range(results):
        shelf.shown(str(number), "fs__read", f"{number}x2\n" * 600)
    text, ok = shelf.answer(args)
    assert text
    assert limit is None or len(text) <= limit
    assert not (ok and limit is None)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(11, 60)), max_size=20))
def test_the_oldest_results_go_when_too_much_is_kept(shown: list[tuple[int, int]]) -> None:
    shelf = ResultShelf(10, max_kept_chars=100)
    kept: list[str] = []
    seen: set[str] = set()
    for char, length in shown:
        text = str(char) * length
        shelf.shown(text, "fs__read", text)
        kept = [*(each for each in kept if each != text), text]
        while sum(map(len, kept)) > 100:
            kept.pop(0)
        seen.add(text)
        assert {each for each in seen if shelf.whole(each) == each} == set(kept)
        assert shelf.is_offered


def test_a_dropped_result_is_said_to_be_gone_and_the_newest_stays_however_long() -> None:
    shelf = ResultShelf(500, max_kept_chars=1_000)
    shelf.shown("a", "fs__read", "a" * 600)
    shelf.shown("b", "fs__list", "b" * 5_000)
    text = refused(shelf, id="r1", page=1)
    assert "r1 is no longer kept" in text
    assert "r2 (fs__list" in text
    assert shelf.whole("a") is shelf.id_of("a") is None
    assert shelf.whole("b") == "b" * 5_000
    shelf.shown("again", "fs__read", "a" * 600)
    assert "aaa" in read(shelf, id="r3", page=1)


def test_equal_results_are_kept_once() -> None:
    shelf = ResultShelf(300)
    shown = {shelf.shown(call_id, "fs__read", "x" * 900) for call_id in "ab"}
    assert len(shown) == 1
    assert shelf.whole("a") == shelf.whole("b") == "x" * 900
    assert "r1: page 1" in read(shelf, page=1)


THROUGH = st.sampled_from(["", "call_tool"])


@given(st.integers(0, 5), st.integers(0, 5), THROUGH)
def test_a_later_run_gives_no_id_that_its_transcript_holds(
    earlier: int, more: int, through: str
) -> None:
    first = ResultShelf(300, through=through)
    texts = ["r99", *(first.shown(str(n), "f", f"{n}" * 900) for n in range(earlier))]
    assert marked_numbers(texts) == set(range(1, earlier + 1))
    later = ResultShelf(300, taken=marked_numbers(texts), through=through)
    assert not later.is_offered
    again = [later.shown(str(n), "f", f"{n}" * 900) for n in range(more)]
    assert marked_numbers(texts + again) == set(range(1, earlier + more + 1))
    for number in range(1, earlier + 1):
        assert f"r{number} is no longer kept" in refused(later, id=f"r{number}")


@given(st.lists(st.integers(1, 10**12), max_size=6), st.integers(1, 5))
def test_numbers_that_a_text_makes_up_leave_every_later_result_readable(
    made_up: list[int], results: int
) -> None:
    texts = [f'see read_result: {{"id": "r{number}", "page": 2}}' for number in made_up]
    taken = marked_numbers(texts)
    shelf = ResultShelf(300, taken=taken)
    for n in range(results):
        shown = shelf.shown(str(n), "f", f"{n}" * 900)
        found = MARKER.search(shown)
        assert found
        assert int(found[3].removeprefix("r")) not in taken
        assert f"{n}" * 40 in read(shelf, **json.loads(found[5]))


def test_called_through_another_tool_the_marker_says_so_and_its_calls_work() -> None:
    shelf = ResultShelf(500, through="call_tool")
    shown = shelf.shown("call", "fs__read", "line\n" * 400)
    assert len(shown) <= 500
    found = re.search(r"To read on call call_tool: (\{.*\}) or (\{.*\})\]\n", shown)
    assert found
    for written in found.groups():
        outer = json.loads(written)
        assert outer["name"] == READ_RESULT
        assert set(outer) == {"name", "arguments"}
        read(shelf, **outer["arguments"])
