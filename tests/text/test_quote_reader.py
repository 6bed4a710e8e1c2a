"""What the end of a text is inside of, wherever it was cut."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.quote_reader import QuoteReader

_TEXTS = st.lists(
    st.sampled_from(
        [
            *["`", "``", "```", "~~~", "\n", "\n\n", " ", "x", "> ", "1. ", "markdown\n", "py\n"],
            *['"', "'", "\\", '{"', "{", "[{", "]", "}", "f(", ")", ":", "<parameter=a>"],
            *["</parameter>", "<function=f>", "</function>", "</tool_call>", "<arg_value>"],
        ]
    ),
    max_size=12,
).map("".join)


def _reader(text: str) -> QuoteReader:
    reader = QuoteReader()
    reader.feed(text)
    return reader


def _answer(reader: QuoteReader, parts: Iterable[str]) -> bool:
    doubt = reader.doubt()
    answers = (answer for part in parts if (answer := doubt.read(part)) is not None)
    answer = next(answers, None)
    return doubt.end() if answer is None else answer


@pytest.mark.parametrize(
    "text",
    [
        "a `b",
        "a `b` `c",
        "a ``b ` c",
        "```\nb",
        "```py\nb\n``` c\nd",
        "a ```json\n{",
        "a ```b",
        "> - ```\nb",
        "~~~\n```\nb",
        "````\n```\nb",
        "```md\n```py\n```\nb",
        '{"a',
        '{"a": ["b',
        "{'a': \"it's",
        '{"a\\"b',
        '[{"a": "`", "b',
        'f("a',
        "x.f(b='a",
        "<parameter=a>b",
        "<parameter=a>b\n<parameter=c>d",
        '<invoke name="f"><parameter name="a">b',
        '<｜DSML｜parameter name="a" string="true">b',
        "<parameter=a><function=f><parameter=b>c</parameter></function>d",
        "<arg_value>b",
    ],
)
def test_the_end_is_quoted(text: str) -> None:
    assert _reader(text).is_inside


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a `b` c",
        "a `b\nc",
        "a `` b ``c",
        "a ``` b c\nd",
        "```\nb\n```c\n```\nd",
        "```py x``` d",
        "a ~~~ b",
        "```md\n```py\n```\n```\nb",
        '{"a": 1',
        '{"a": "b"} "c',
        '{"a": [1,\n\n"b',
        'say "a',
        "it's (he's",
        "a [b] {c}",
        "<parameter=a>b</parameter>",
        "<parameter=a>b</function>",
        "<parameter=a>b\n<parameter=c>d</parameter></function>",
        "<arg_value>b</arg_value>",
        "the <parameter> tag",
    ],
)
def test_the_end_is_not_quoted(text: str) -> None:
    assert not _reader(text).is_inside


def test_a_region_is_left_when_a_doubt_found_it_broken_and_kept_when_it_is_sure() -> None:
    reader = _reader("a `b")
    assert reader.is_in_span
    reader.settle(is_closed=True)
    assert (reader.is_inside, reader.is_sure) == (True, True)
    reader.feed("c` d `")
    assert (reader.is_inside, reader.is_sure) == (True, False)
    reader.settle(is_closed=False)
    assert not reader.is_inside


def test_what_was_noted_of_a_region_ends_with_it() -> None:
    reader = _reader("```\nb")
    reader.note_open()
    assert reader.holds_open
    reader.feed("\n```\n~~~\n")
    assert (reader.is_inside, reader.holds_open) == (True, False)


@pytest.mark.parametrize(
    ("text", "is_at_line_start"),
    [("", True), ("a\n \t", True), ("a\n b ", False), ("a\nb" + " " * 100, False)],
)
def test_the_place_on_the_line_is_known(text: str, is_at_line_start: bool) -> None:
    reader = _reader(text)
    assert reader.is_at_line_start is is_at_line_start
    assert reader.last_char == (text[-1:] or "\n")
    reader.restart()
    assert reader.is_at_line_start


@pytest.mark.parametrize(
    ("text", "following", "is_closed"),
    [
        ("`", "a`", True),
        ("`", "a``", False),
        ("`", "a```", False),
        ("``", "a`b``", True),
        ("`", "a\n`", False),
        ("```\n", "a\n```", True),
        ("```\n", "a\n```py\n", False),
        ('{"', 'a\n"', True),
        ('{"', 'a\\"', False),
        ("<parameter=a>", "b</parameter>", True),
        ("<parameter=a>", "\n<tool_call><parameter=b>c</parameter></tool_call>", False),
    ],
)
def test_a_doubt_ends_with_the_region_or_the_text(
    text: str, following: str, is_closed: bool
) -> None:
    for parts in ([following], list(following)):
        assert _answer(_reader(text), parts) is is_closed


@given(_TEXTS, _TEXTS)
def test_a_doubt_answers_alike_wherever_its_text_was_cut(text: str, following: str) -> None:
    reader = _reader(text)
    if not reader.is_inside:
        return
    doubt = reader.doubt()
    whole = doubt.read(f"skipped{following}", len("skipped"))
    whole = doubt.end() if whole is None else whole
    assert _answer(reader, following) is whole


@given(_TEXTS, _TEXTS)
def test_a_doubt_changes_nothing_of_its_reader(text: str, following: str) -> None:
    asked, other = _reader(text), _reader(text)
    if asked.is_inside:
        asked.doubt().read(following)
    for reader in (asked, other):
        reader.feed(following)
    assert (asked.is_inside, asked.is_in_span) == (other.is_inside, other.is_in_span)


@given(_TEXTS, _TEXTS, _TEXTS)
def test_parts_that_end_at_a_letter_read_as_the_whole(one: str, two: str, three: str) -> None:
    reader = QuoteReader()
    for part in (one, two, three):
        reader.feed(f"{part}\nz")
    whole = _reader(f"{one}\nz{two}\nz{three}\nz")
    assert (reader.is_inside, reader.is_in_span) == (whole.is_inside, whole.is_in_span)


@given(st.text(alphabet="`\n a", max_size=30))
def test_backticks_of_one_line_quote_as_a_simple_pattern_says(text: str) -> None:
    line = re.sub("`{3,}", "``", text.replace("\n", " ").replace("```", "x"))
    rest = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", line)
    assert _reader(line).is_in_span is ("`" in rest)
