"""Lists of allowed values, as complaints hold them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.value_lists import listed_values


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("`effort` must be one of `none` or `default`", [("none", "default")]),
        ("'x' is not one of ['low','high']", [("low", "high")]),
        ("Supported values are: 'low', 'medium', and 'high'.", [("low", "medium", "high")]),
        ("Supported types are xhigh (default), medium, and low.", [("xhigh", "medium", "low")]),
        ("valid levels: Low, xhigh", [("low", "xhigh")]),
        ("unexpected value; permitted: 'a', 'b'", [("a", "b")]),
        ("expected one of `'a' | 'b'`, received `'c'`", [("a", "b")]),
        ("type must be 'json_schema' or 'text'", [("json_schema", "text")]),
        (
            "'msg': \"Input should be 'a' or 'b'\", 'ctx': {'expected': \"'a' or 'b'\"}",
            [("a", "b"), ("a", "b")],
        ),
        ("it must be set", [("set",)]),
        ("there is none here", []),
        ("", []),
    ],
)
def test_lists_are_read_as_servers_write_them(text: str, lists: list[tuple[str, ...]]) -> None:
    assert listed_values(text) == lists


@given(
    st.lists(st.from_regex(r"[a-z_]{3,9}", fullmatch=True), min_size=1, max_size=6),
    st.sampled_from(["must be one of", "should be", "expected", "allowed values are:"]),
    st.sampled_from(["'{}'", '"{}"', "`{}`", "{}"]),
    st.sampled_from([", ", " or ", ", and ", "|", " | ", "/"]),
    st.sampled_from(["", ".", "; bye", "\nbye", '"}, x']),
)
def test_every_value_of_a_list_is_read_and_nothing_after_it(
    values: list[str], lead: str, quotes: str, between: str, end: str
) -> None:
    values = [value for value in values if value not in FILLERS] or ["low"]
    text = f"it {lead} {between.join(quotes.format(value) for value in values)}{end}"
    assert listed_values(text)[0] == tuple(values)


FILLERS = {"either", "values", "options", "are", "and", "the", "one"}


@given(st.text(alphabet="a'\"`|,/ (\\[orne f", max_size=300))
def test_any_text_is_read_to_its_end(text: str) -> None:
    for values in listed_values(f"must be {text}"):
        assert all(values)
