"""Quotations and asides, each pattern against texts that are and are not one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.call_quoting import ASIDES, QUOTATION, THINKING_CLOSE, THINKING_OPENER

_HIDDEN = "\ufffc"
_PAIRS = [
    "“”",
    "„“",
    "„”",
    "«»",
    "»«",
    "‹›",
    "›‹",
    "「」",
    "『』",
    "””",
    "‘’",
    "‚‘",
    "’’",
    "''",
    '""',
]


def _is_quoted(text: str) -> bool:
    place = text.index(_HIDDEN)
    return any(found.start() <= place < found.end() for found in QUOTATION.finditer(text))


@given(
    st.sampled_from(_PAIRS),
    st.sampled_from(["", "it is ", "first\nthen ", "first\n", "1.5 x"]),
    st.sampled_from(["", " and so on", " so\r", "."]),
)
def test_what_stands_between_the_marks_of_a_quotation_is_quoted(
    marks: str, before: str, after: str
) -> None:
    assert _is_quoted(f"See {marks[0]}{before}{_HIDDEN}{after}{marks[1]} there.")


@given(st.sampled_from(_PAIRS), st.sampled_from(["x", "it is so", "a\nb", "1.5"]))
def test_what_stands_beside_a_quotation_is_not(marks: str, quoted: str) -> None:
    quotation = f"{marks[0]}{quoted}{marks[1]}"
    assert not _is_quoted(f"{quotation} {_HIDDEN} {quotation}")
    assert not _is_quoted(f"{_HIDDEN}{quotation}")
    assert not _is_quoted(f"see {marks[0]}x\n\n{_HIDDEN} y{marks[1]}")


@pytest.mark.parametrize(
    ("text", "is_quoted"),
    [
        ("> so {}", True),
        ("a > {}", False),
        ("a\n\n    {}\n", True),
        ("a\n \t\n\t{}", True),
        ("a\n\n    b\n    {}\n", True),
        ("a\n\n    b\n{}\n", False),
        ("a\n    {}\n", False),
        ("a\n\n   {}\n", False),
        ("`{}`", True),
        ("``{}``", True),
        ("``{}`", False),
        ("`\n{}`", False),
        ('15" wide: {} or 13"', False),
        ('15" wide: "{}"', True),
        ('"version 5" {} "x"', False),
        ('"\n{}\n"', False),
        ('" a\n{}"', False),
        ('\\" {} "', False),
        ('"a \\" {}"', True),
        ("it's {} that's it", False),
        ("‘don’t {}’", True),
        ("the dogs’ {} and cats’ food", False),
        ("it’s {} that’s", False),
    ],
)
def test_a_mark_quotes_only_as_people_set_it(text: str, is_quoted: bool) -> None:
    assert _is_quoted(text.format(_HIDDEN)) is is_quoted


_OPENERS = {
    "<thought>": "</thought>",
    "<THINKING >": "</ thinking>",
    '<code class="x">': "</code>",
    "<pre>": "</PRE>",
    "<!--": "-->",
    "<|channel>thought\n": "<channel|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "[THINK]": "[/THINK]",
}


@pytest.mark.parametrize("opener", _OPENERS)
def test_an_aside_is_opened_by_one_pattern_and_closed_by_its_own(opener: str) -> None:
    [aside] = [aside for aside in ASIDES if re.match(aside.opener, opener)]
    assert aside.close.fullmatch(_OPENERS[opener])
    assert [each for each in _OPENERS.values() if aside.close.search(each)] == [_OPENERS[opener]]
    assert aside.is_token is (opener.startswith(("<|", "[")))


@pytest.mark.parametrize(
    "tag", ["<precious>", "<codes>", "<thoughtful>", "< think", "<q>", "<|a|>"]
)
def test_other_tags_open_no_aside(tag: str) -> None:
    assert not any(re.match(aside.opener, tag) for aside in ASIDES)
    assert not re.match(THINKING_OPENER, tag)


@given(st.text(alphabet=" \t", max_size=3), st.text(alphabet=" \t", max_size=3))
def test_a_think_tag_may_hold_spaces(before: str, after: str) -> None:
    assert re.fullmatch(THINKING_OPENER, f"<{before}Think{after}>")
    assert re.fullmatch(THINKING_CLOSE, f"<{before}/{after}think{before}>")


@pytest.mark.parametrize(
    "atom", ["“", "„", '"', "' ", "’", "‘a’b", "\n", "\n ", "    a\n", '5"', "`"]
)
def test_marks_without_number_are_searched_in_linear_time(atom: str) -> None:
    assert all(found.end() > found.start() for found in QUOTATION.finditer(atom * 20_000 + "x"))
