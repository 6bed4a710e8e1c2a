"""The end of a raw body: by its closing tag, by what must stand behind it, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.call_bodies import Body, BodyEnd, Tags, body_at, body_tags

_OWN = Tags(
    value_open=r"<parameter=\w+>",
    value_close="</parameter>",
    element_open=r"<function=\w+>",
    element_close="</function>",
)
_OTHER = Tags(
    value_open=r"<parameter name=\w+>",
    value_close="</parameter>",
    element_open=r"<invoke name=\w+>",
    element_close="</invoke>",
)
_TAGS = body_tags(_OWN, _OTHER)
_WORDS = st.sampled_from(["", "word ", "\n", "</b>", "<function=a", "</function>x", "<parameter>"])
_ELEMENTS = st.recursive(
    _WORDS,
    lambda inner: st.one_of(
        inner.map(lambda body: f"<function=f>\n<parameter=p>\n{body}\n</parameter>\n</function>"),
        inner.map(lambda body: f"<invoke name=f><parameter name=p>{body}</parameter></invoke>"),
        inner.map(lambda body: f"<tool_call>{body}</tool_call>"),
        st.tuples(inner, inner).map(" ".join),
    ),
    max_leaves=4,
)
_AFTER = st.sampled_from(["", "\n</function>", "</parameter>", "\n<parameter=b>", "<function=g>"])


@given(_ELEMENTS, _AFTER)
def test_a_body_ends_at_its_own_closing_tag_whatever_elements_it_shows(
    body: str, after: str
) -> None:
    text = f"<parameter=a>{body}</parameter>{after}"
    start = len("<parameter=a>")
    end = start + len(body)
    closed = Body(BodyEnd.CLOSED, end, end + len("</parameter>"))
    assert body_at(text, start, _TAGS) == closed


@given(_ELEMENTS, st.sampled_from(["<parameter=b>", "  <parameter=b>\n2</parameter>"]))
def test_without_its_own_closing_tag_it_ends_where_the_next_value_begins_a_line(
    body: str, following: str
) -> None:
    text = f"{body}\n{following}"
    found = body_at(text, 0, _TAGS)
    assert found == Body(BodyEnd.FORGOTTEN, len(body) + 1, text.rindex("<parameter=b>"))


@pytest.mark.parametrize(
    ("text", "how", "body"),
    [
        ("a</parameter>", BodyEnd.CLOSED, "a"),
        ("a\n<parameter=b>\nc</parameter>", BodyEnd.FORGOTTEN, "a\n"),
        ("a <parameter=b> c</parameter>", BodyEnd.UNCLEAR, None),
        ("a\n<parameter name=b> c</parameter>", BodyEnd.CLOSED, "a\n<parameter name=b> c"),
        ("a", BodyEnd.UNCLEAR, None),
        ("a</function>", BodyEnd.UNCLEAR, None),
        ("a</function></parameter>", BodyEnd.CLOSED, "a</function>"),
        ("a</function>\n<function=b>", BodyEnd.FORGOTTEN, "a"),
        ("a</function><function=b>", BodyEnd.UNCLEAR, None),
        ("a</function></tool_call>x\n<tool_call>{'", BodyEnd.UNCLEAR, None),
        ("a\n  </function>\n</tool_call>\n<tool_call>\n{'", BodyEnd.FORGOTTEN, "a\n"),
        ("a</function></tool_call>\n <tool_call>tags</tool_call>", BodyEnd.FORGOTTEN, "a"),
        ("a</function></tool_call>\n<tool_call> tags</parameter>", BodyEnd.CLOSED, None),
        ("a</function> and <function=b></parameter>", BodyEnd.CLOSED, None),
        ("a</function></x:tool_call>\n<x:tool_call><invoke name=b>", BodyEnd.FORGOTTEN, "a"),
        ('a</tool_call>\n<tool_call>{"name": 1}', BodyEnd.UNCLEAR, None),
        ("a</tool_call> is a tag</parameter>", BodyEnd.CLOSED, "a</tool_call> is a tag"),
        ("<tool_call><function=b>\n<parameter=c>\nd</parameter>", BodyEnd.UNCLEAR, None),
    ],
)
def test_a_body_is_judged_by_what_its_tags_belong_to(
    text: str, how: BodyEnd, body: str | None
) -> None:
    found = body_at(text, 0, _TAGS)
    assert found.how is how
    assert body is None or text[: found.end] == body
