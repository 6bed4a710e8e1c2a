"""What a file says at its beginning is read back, as far as it reaches."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.gguf_header import MAX_KEPT_ITEMS, GgufHeader, least_size, read_header
from tests.fakes.gguf import FORMATS, SMALL_MODEL, STRING, Written, gguf_bytes

INTEGERS = {kind: letter for kind, letter in FORMATS.items() if letter not in "fd?"}


def integers(kind: int) -> st.SearchStrategy[int]:
    bits = 8 * struct.calcsize(f"<{FORMATS[kind]}")
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1)
    return st.integers(0, (1 << bits) - 1) if FORMATS[kind].isupper() else st.integers(low, high)


def numbers(kind: int) -> st.SearchStrategy[tuple[int, Written]]:
    one = integers(kind)
    return st.tuples(st.just(kind), one | st.lists(one, max_size=5))


written = st.one_of(
    st.tuples(st.just(STRING), st.text(max_size=8) | st.lists(st.text(max_size=4), max_size=4)),
    st.tuples(st.just(7), st.booleans()),
    st.tuples(st.just(6), st.floats(width=32, allow_nan=False)),
    st.tuples(st.just(12), st.floats(allow_nan=False)),
    st.sampled_from(sorted(INTEGERS)).flatmap(numbers),
)
facts = st.dictionaries(st.text(max_size=8), written, max_size=6)


def kept(written: dict[str, tuple[int, Written]]) -> dict[str, Any]:
    """What is read of facts: all but arrays of texts."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, (kind, value) in written.items()
        if not (isinstance(value, list) and kind == STRING)
    }


@given(facts, st.sampled_from([2, 3]), st.binary(max_size=9))
def test_every_fact_is_read_back_whatever_follows(
    written: dict[str, tuple[int, Written]], version: int, rest: bytes
) -> None:
    header = read_header(gguf_bytes(written, version=version) + rest)
    assert header == GgufHeader(version=version, facts=kept(written))


@given(facts, st.data())
def test_of_a_file_cut_anywhere_the_whole_facts_before_the_cut_are_read(
    written: dict[str, tuple[int, Written]], data: st.DataObject
) -> None:
    whole = gguf_bytes(written)
    header = read_header(whole[: data.draw(st.integers(8, len(whole)))])
    assert header is not None
    count = len(header.facts)
    assert list(header.facts.items()) == list(kept(written).items())[:count]


@given(facts, st.lists(st.integers(0, 1 << 40), max_size=3), st.sampled_from([None, 8, 64]))
def test_the_least_size_reaches_into_the_last_tensor(
    written: dict[str, tuple[int, Written]], offsets: list[int], alignment: int | None
) -> None:
    if alignment:
        written = {**written, "general.alignment": (4, alignment)}
    whole = gguf_bytes(written, tensors={str(n): offset for n, offset in enumerate(offsets)})
    step = alignment or 32
    data = len(whole) + -len(whole) % step
    assert least_size(whole) == (data + max(offsets) + 1 if offsets else len(whole))
    assert least_size(whole + b"more") == least_size(whole)


@given(facts, st.lists(st.integers(0, 99), max_size=2), st.data())
def test_of_a_beginning_that_ends_too_early_more_is_needed_and_never_too_much(
    written: dict[str, tuple[int, Written]], offsets: list[int], data: st.DataObject
) -> None:
    whole = gguf_bytes(written, tensors={str(n): offset for n, offset in enumerate(offsets)})
    length = data.draw(st.integers(8, len(whole) - 1))
    assert length < least_size(whole[:length]) <= len(whole)


@given(st.binary(max_size=200))
def test_the_least_size_of_damaged_bytes_is_a_number(rest: bytes) -> None:
    assert least_size(b"GGUF\x03\0\0\0" + rest) >= 0
    assert least_size(b"GGUF\x09\0\0\0" + rest) == 0
    assert least_size(rest) >= 0


@given(st.binary(max_size=200))
def test_what_is_damaged_after_the_magic_is_never_an_error(rest: bytes) -> None:
    header = read_header(b"GGUF\x03\0\0\0" + rest)
    assert header is not None
    assert header.context_bytes_per_token is None or header.context_bytes_per_token > 0


@pytest.mark.parametrize("begin", [b"", b"GGUF", b"GGU\0\3\0\0\0", b"PK\3\4\3\0\0\0"])
def test_what_does_not_begin_with_the_magic_and_a_version_is_none(begin: bytes) -> None:
    assert read_header(begin) is None


def test_of_a_version_nobody_knows_nothing_is_read() -> None:
    assert read_header(gguf_bytes(SMALL_MODEL, version=9)) == GgufHeader(version=9)


def test_a_long_array_is_passed_over() -> None:
    header = read_header(gguf_bytes({"long": (4, [1] * (MAX_KEPT_ITEMS + 1)), "after": (4, 1)}))
    assert header is not None
    assert header.facts == {"after": 1}


def of(**changes: tuple[int, Written] | None) -> GgufHeader:
    changed = {f"tiny.{name.replace('__', '.')}": value for name, value in changes.items()}
    written = {name: value for name, value in {**SMALL_MODEL, **changed}.items() if value}
    header = read_header(gguf_bytes(written))
    assert header is not None
    return header


def test_a_model_tells_its_window_and_what_a_token_of_it_takes() -> None:
    header = of()
    assert header.kind == "model"
    assert header.trained_context_tokens == 8192
    assert header.context_bytes_per_token == 2 * 2 * (16 + 16) * 2


def test_own_lengths_of_keys_and_values_count_before_the_width_by_heads() -> None:
    lengths = of(attention__key_length=(4, 10), attention__value_length=(4, 6))
    assert lengths.context_bytes_per_token == 2 * 2 * (10 + 6) * 2


def test_heads_may_be_told_layer_by_layer_or_not_at_all() -> None:
    by_layer = of(attention__head_count_kv=(5, [3, 0]))
    assert by_layer.context_bytes_per_token == 3 * (16 + 16) * 2
    assert of(attention__head_count_kv=None).context_bytes_per_token == 2 * 4 * (16 + 16) * 2


@pytest.mark.parametrize("lacking", ["block_count", "embedding_length", "attention.head_count"])
@pytest.mark.parametrize("instead", [None, (4, 0), (STRING, "many"), (7, True), (5, -3)])
def test_what_cannot_be_told_is_none(lacking: str, instead: tuple[int, Written] | None) -> None:
    assert of(**{lacking.replace(".", "__"): instead}).context_bytes_per_token is None


def test_an_adapter_says_that_it_is_no_model() -> None:
    header = read_header(gguf_bytes({"general.type": (STRING, "adapter")}))
    assert header is not None
    assert header.kind == "adapter"
    assert header.trained_context_tokens is None
