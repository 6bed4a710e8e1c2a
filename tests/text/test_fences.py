"""Fences hold whatever is put into them."""

from __future__ import annotations

import html
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.fences import UNTRUSTED_PREFACE, escape_attribute, neutralise, untrusted

MARKERS = st.lists(
    st.sampled_from(
        [*"</>-x \n\u200b\u202e", "untrusted", "UnTrusted", "un", "trusted", "&lt;", "context"]
    ),
    max_size=30,
).map("".join)

UNSEEN = "\u200b\u202e"


def tag_starts(text: str, tag: str) -> list[int]:
    """Where a reader who skips white space and invisible characters sees a tag begin."""
    starts = []
    for start, char in enumerate(text):
        if char != "<":
            continue
        rest = text[start + 1 :].lstrip(" \n" + UNSEEN)
        rest = rest[1:].lstrip(" \n" + UNSEEN) if rest.startswith("/") else rest
        spelled = ""
        while rest and len(spelled) < len(tag):
            spelled += rest[0] if rest[0] not in UNSEEN else ""
            rest = rest[1:]
        if spelled.lower() == tag and not (rest[:1].isalnum() or rest[:1] in ("-", "_")):
            starts.append(start)
    return starts


@given(MARKERS)
def test_exactly_the_openings_of_tags_are_escaped(text: str) -> None:
    expected = list(text)
    for start in tag_starts(text, "untrusted"):
        expected[start] = "&lt;"
    assert neutralise(text, "untrusted") == "".join(expected)


@given(MARKERS)
def test_a_neutralised_text_holds_no_tag_and_stays_as_it_is(text: str) -> None:
    once = neutralise(text, "untrusted")
    assert tag_starts(once, "untrusted") == []
    assert neutralise(once, "untrusted") == once


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x< / UnTrusted >y", "x&lt; / UnTrusted >y"),
        ("</untrusted>", "&lt;/untrusted>"),
        ("<untrusted source='a'>", "&lt;untrusted source='a'>"),
        ("<untrusted", "&lt;untrusted"),
        ("<\ufeff/\u200duntr\u200busted>", "&lt;\ufeff/\u200duntr\u200busted>"),
        ("<untrustedly> <un trusted> </ un>", "<untrustedly> <un trusted> </ un>"),
        ("a < b & c > d", "a < b & c > d"),
        ("", ""),
    ],
)
def test_tags_are_recognised_as_a_lenient_reader_would(text: str, expected: str) -> None:
    assert neutralise(text, "untrusted") == expected


def test_closing_only_leaves_opening_tags() -> None:
    text = "<context>a</context>b< /CONTEXT >"
    assert (
        neutralise(text, "context", closing_only=True) == "<context>a&lt;/context>b&lt; /CONTEXT >"
    )


@pytest.mark.parametrize("piece", ["< ", "<", "<" + " " * 50, "<\u200b/ ", "<untruste", " "])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = "<" + piece * (60_000 // len(piece))
    started = time.perf_counter()
    assert neutralise(text, "untrusted") == text
    assert neutralise(text, "untrusted", closing_only=True) == text
    assert time.perf_counter() - started < 5  # milliseconds when linear, minutes when quadratic


@given(MARKERS, st.one_of(st.none(), MARKERS))
def test_untrusted_text_has_one_fence_whatever_it_says(text: str, source: str | None) -> None:
    fenced = untrusted(text, source=source)
    assert fenced.startswith("<untrusted")
    assert fenced.endswith("\n</untrusted>")
    assert tag_starts(fenced, "untrusted") == [0, len(fenced) - len("</untrusted>")]


def test_a_source_is_an_escaped_attribute_and_none_is_no_attribute() -> None:
    assert untrusted("t", source='a "b" <c> & d') == (
        '<untrusted source="a &quot;b&quot; &lt;c> &amp; d">\nt\n</untrusted>'
    )
    assert untrusted("t") == untrusted("t", source="") == "<untrusted>\nt\n</untrusted>"


@given(st.lists(st.sampled_from(["&", '"', "<", "&amp;", "&quot;", "a", ">"])).map("".join))
def test_an_attribute_reads_back_as_the_text(text: str) -> None:
    escaped = escape_attribute(text)
    assert '"' not in escaped
    assert "<" not in escaped
    assert html.unescape(escaped) == text


def test_the_preface_is_one_sentence_that_names_the_tag() -> None:
    assert "<untrusted>" in UNTRUSTED_PREFACE
    assert "\n" not in UNTRUSTED_PREFACE
    assert UNTRUSTED_PREFACE.count(". ") == 0
