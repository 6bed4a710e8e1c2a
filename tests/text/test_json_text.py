"""JSON printed and read; the repair is checked against texts broken on purpose."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.json_text import (
    any_json,
    canonical_json,
    compact_json,
    parse_json_loosely,
    parse_json_strict,
)

_TRICKY = st.lists(
    st.sampled_from(
        ["'", '"', "\\", "{", "}", "[", "]", ",", ":", "True", "None", "a", " ", "\n", "é", "4.0"]
    ),
    max_size=8,
).map("".join)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TRICKY
    | st.text(max_size=5)
)
JSON_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(_TRICKY | st.text(max_size=3), inner)
    ),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_what_is_printed_compactly_parses_to_the_same_value(value: Any) -> None:
    assert parse_json_strict(compact_json(value)) == value


class Broken(Mapping[str, Any]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> Any:
        raise LookupError(key)

    def __iter__(self) -> Iterator[str]:
        return iter("ab")

    def __len__(self) -> int:
        return 2


class Mute:
    """An object without words."""

    def __repr__(self) -> str:
        raise LookupError


ODD = st.sampled_from([math.nan, math.inf, -math.inf, {1}, object, b"x", Broken()])
ODD_VALUES = st.recursive(
    _SCALARS | ODD,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.integers() | st.just(None) | st.text(max_size=3), inner)
    ),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_what_is_json_is_printed_as_ever_by_the_printer_of_anything(value: Any) -> None:
    assert any_json(value) == compact_json(value)


@given(ODD_VALUES)
def test_anything_is_printed_as_json(value: Any) -> None:
    assert any_json(value) == compact_json(parse_json_strict(any_json(value)))


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (math.nan, "null"),
        ({"n": -math.inf, "l": (1.0, {2})}, '{"n":null,"l":[1,"{2}"]}'),
        ({(1, 2): b"x"}, '{"(1, 2)":"b\'x\'"}'),
        ({"a": Mute()}, '"<dict>"'),
        (Broken(), '"<Broken>"'),
    ],
)
def test_what_has_no_form_in_json_is_null_or_text(value: Any, printed: str) -> None:
    assert any_json(value) == printed


def test_what_is_too_deep_or_holds_itself_is_named() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    ring: dict[str, Any] = {"n": math.nan}
    ring["self"] = ring
    assert (any_json(deep), any_json(ring)) == ('"<list>"', '"<dict>"')


@given(JSON_VALUES)
def test_compact_json_differs_from_the_standard_library_only_in_integral_floats(
    value: Any,
) -> None:
    def as_javascript(item: Any) -> Any:
        if isinstance(item, float) and item.is_integer() and abs(item) < 1e21:
            return int(item)
        if isinstance(item, list):
            return [as_javascript(entry) for entry in item]
        if isinstance(item, dict):
            return {key: as_javascript(entry) for key, entry in item.items()}
        return item

    plain = json.dumps(as_javascript(value), ensure_ascii=False, separators=(",", ":"))
    assert compact_json(value) == plain


@given(JSON_VALUES)
def test_canonical_json_is_the_same_for_every_order_of_keys(value: Any) -> None:
    def reversed_keys(item: Any) -> Any:
        if isinstance(item, list):
            return [reversed_keys(entry) for entry in item]
        if isinstance(item, dict):
            return {key: reversed_keys(entry) for key, entry in reversed(item.items())}
        return item

    assert canonical_json(reversed_keys(value)) == canonical_json(value)
    assert parse_json_strict(canonical_json(value)) == value


def test_canonical_json_sorts_at_every_depth() -> None:
    assert canonical_json({"b": [{"z": 1, "a": 2}], "a": 0}) == '{"a":0,"b":[{"a":2,"z":1}]}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.0, "4"),
        (-0.0, "0"),
        (1e16, "10000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (2.5, "2.5"),
        (1e-7, "1e-07"),
        (["4.0", 4.0], '["4.0",4]'),
        ({"4.0": 1.0, "a\\": 2.0}, '{"4.0":1,"a\\\\":2}'),
        ("é\u2028", '"é\u2028"'),
        ((1, 2), "[1,2]"),
        (MappingProxyType({"a": MappingProxyType({})}), '{"a":{}}'),
        (True, "true"),
    ],
)
def test_values_print_as_javascript_prints_them(value: object, text: str) -> None:
    assert compact_json(value) == text


def test_lone_surrogates_print_as_escapes_so_that_the_text_can_be_encoded() -> None:
    printed = compact_json({"a": "x\ud83d"})
    assert printed == '{"a":"x\\ud83d"}'
    assert parse_json_strict(printed) == {"a": "x\ud83d"}
    assert printed.encode() == printed.encode("ascii")


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": float("-inf")}])
def test_numbers_that_are_not_json_do_not_print(value: object) -> None:
    with pytest.raises(ValueError, match="JSON"):
        compact_json(value)


def test_a_value_that_holds_itself_or_is_nested_too_deeply_does_not_print() -> None:
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(ValueError, match=r"."):
        compact_json(circle)
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(ValueError, match="too deeply"):
        compact_json(deep)
    while deep:  # unwound here, since tearing it down at once would recurse as deeply
        deep = deep.pop()  # type: ignore[assignment]  # every element is a list


def test_an_object_without_a_json_form_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="set has no JSON form"):
        compact_json({"a": {1}})


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        '{"a": Infinity}',
        "[-Infinity]",
        "1e999",
        "[-1e999]",
        "1" * 5000,
        "[" * 20_000,
        '{"a":' * 10_000,
        "",
        "{'a': 1}",
        '{"a": 1,}',
        '"a\nb"',
    ],
    ids=lambda text: text[:12],
)
def test_strict_parsing_refuses_what_is_not_json_and_what_cannot_be_held(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json_strict(text)


def test_of_a_key_given_twice_the_last_counts() -> None:
    assert parse_json_strict('{"a":1,"a":2}') == {"a": 2}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"n":3}', {"n": 3}),
        ("{'dir': '/tmp', 'all': True, 'max': None,}", {"dir": "/tmp", "all": True, "max": None}),
        ('{dir: "o\'x", ids: [7, 8,],}', {"dir": "o'x", "ids": [7, 8]}),
        ("{'q': 'say \"hi\" None, }'}", {"q": 'say "hi" None, }'}),
        (r"{'a': 'it\'s', 'b': '\n\\'}", {"a": "it's", "b": "\n\\"}),
        ("[False, True ,\n]", [False, True]),
        ("{True: 1, $x_1 : None}", {"True": 1, "$x_1": None}),
        ('"open', "open"),
        ("'open", "open"),
        (r'"a\"', 'a"'),
        ("{t: ['r'], ok: True,}", {"t": ["r"], "ok": True}),
        ('"{\\"n\\":3}"', {"n": 3}),
        ("\"{'n': 3,}\"", {"n": 3}),
        ('" [1, 2"', " [1, 2"),
        ('"{not json}"', "{not json}"),
        ('{"a": "{\\"b\\":1}"}', {"a": '{"b":1}'}),
        ('{"a": "line\nline"}', {"a": "line\nline"}),
        ("[1e5, -1e-2,]", [1e5, -1e-2]),
        ("'" + "\\'" * 20_000 + "{", "'" * 20_000 + "{"),
    ],
    ids=lambda value: repr(value)[:16],
)
def test_almost_json_is_read(text: str, value: object) -> None:
    assert parse_json_loosely(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "{oops",
        '{"q": "lon',
        "[1, 2",
        "[NaN]",
        "{'a': Infinity}",
        "[1,,]",
        "é: 1",
        "[" * 20_000,
        "{'a':" * 10_000,
        ", " * 20_000,
        "a " * 20_000,
    ],
    ids=lambda text: text[:12],
)
def test_the_repair_closes_no_brackets_and_invents_no_values(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json_loosely(text)


def _as_python(value: Any) -> str:
    """The value as a model trained on Python writes it: repr, trailing commas."""
    if isinstance(value, list):
        return "[" + "".join(f"{_as_python(entry)}, " for entry in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{_single_quoted(key)}: {_as_python(entry)} ," for key, entry in value.items())
        return "{" + " ".join(pairs) + "\n}"
    return _single_quoted(value) if isinstance(value, str) else repr(value)


def _single_quoted(text: str) -> str:
    body = json.dumps(text)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"'{body}'"


@given(JSON_VALUES.filter(lambda value: not isinstance(value, str)))
def test_a_value_written_the_python_way_reads_as_itself(value: Any) -> None:
    assert parse_json_loosely(_as_python(value)) == value


@given(JSON_VALUES.filter(lambda value: isinstance(value, list | dict)))
def test_valid_json_is_never_touched_by_the_repair(value: Any) -> None:
    assert parse_json_loosely(compact_json(value)) == value
    assert parse_json_loosely(compact_json(compact_json(value))) == value
