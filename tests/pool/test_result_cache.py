from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.result_cache import Question, ResultCache, is_read_only, may_cache


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def cache_of(clock: Clock, **options: Any) -> ResultCache:
    return ResultCache(clock=clock, **options)


def asked(cache: ResultCache, server: str = "s", tool: str = "t", **arguments: Any) -> Question:
    question = cache.question(server, tool, arguments)
    assert question is not None
    return question


def test_an_answer_is_found_under_equal_arguments_whatever_their_order() -> None:
    cache = cache_of(Clock())
    cache.keep(asked(cache, a=1, b={"x": 1, "y": 2.0}), "kept")

    assert cache.answer(asked(cache, b={"y": 2, "x": 1}, a=1.0)) == "kept"
    assert cache.answer(asked(cache, a=True, b={"x": 1, "y": 2})) is None
    assert cache.answer(asked(cache, tool="u", a=1, b={"x": 1, "y": 2})) is None
    assert cache.answer(asked(cache, server="z", a=1, b={"x": 1, "y": 2})) is None


def test_an_answer_expires_at_its_age_and_use_does_not_renew_it() -> None:
    clock = Clock()
    cache = cache_of(clock, ttl_seconds=30)
    cache.keep(asked(cache), "kept")

    clock.seconds += 29.9
    assert cache.answer(asked(cache)) == "kept"
    clock.seconds += 0.1
    assert cache.answer(asked(cache)) is None
    assert len(cache) == 0


def test_no_ttl_keeps_for_ever() -> None:
    clock = Clock()
    cache = cache_of(clock, ttl_seconds=0)
    cache.keep(asked(cache), "kept")
    clock.seconds += 1e9

    assert cache.answer(asked(cache)) == "kept"


def test_the_least_recently_used_goes_first() -> None:
    cache = cache_of(Clock(), max_entries=2)
    for tool in ("a", "b"):
        cache.keep(asked(cache, tool=tool), tool)
    assert cache.answer(asked(cache, tool="a")) == "a"
    cache.keep(asked(cache, tool="c"), "c")

    assert [cache.answer(asked(cache, tool=tool)) for tool in "abc"] == ["a", None, "c"]


def test_no_limit_keeps_everything() -> None:
    cache = cache_of(Clock(), max_entries=0)
    for at in range(1000):
        cache.keep(asked(cache, at=at), "x")

    assert len(cache) == 1000


def test_a_read_under_way_across_a_write_is_not_kept() -> None:
    cache = cache_of(Clock())
    read, elsewhere = asked(cache), asked(cache, server="z")
    cache.clear_server("s")
    cache.keep(read, "old")
    cache.keep(elsewhere, "kept")

    assert cache.answer(asked(cache)) is None
    assert cache.answer(elsewhere) == "kept"


def test_the_answer_of_an_idempotent_write_is_kept_after_its_second_clear() -> None:
    cache = cache_of(Clock())
    cache.clear_server("s")
    cache.clear_server("s")
    cache.keep(asked(cache), "kept")

    assert cache.answer(asked(cache)) == "kept"


@pytest.mark.parametrize("value", [math.nan, {1, 2}])
def test_arguments_that_are_no_json_are_no_question(value: object) -> None:
    assert cache_of(Clock()).question("s", "t", {"x": value}) is None


@pytest.mark.parametrize(
    ("annotations", "reads", "repeats"),
    [
        (None, False, False),
        ({}, False, False),
        ({"readOnlyHint": True}, True, True),
        ({"idempotentHint": True}, False, True),
        ({"readOnlyHint": "true", "idempotentHint": 1}, False, False),
        ({"readOnlyHint": False, "idempotentHint": True}, False, True),
    ],
)
def test_only_trusted_hints_count(
    annotations: dict[str, Any] | None, reads: bool, repeats: bool
) -> None:
    assert is_read_only(annotations, trusted=True) is reads
    assert may_cache(annotations, trusted=True) is repeats
    assert not is_read_only(annotations, trusted=False)
    assert not may_cache(annotations, trusted=False)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), st.sampled_from("st"), st.integers(0, 3)),
        st.tuples(st.just("ask"), st.sampled_from("st"), st.integers(0, 3)),
        st.tuples(st.just("clear"), st.sampled_from("st"), st.just(0)),
        st.tuples(st.just("wait"), st.just(""), st.integers(1, 12)),
    ),
    max_size=40,
)


@given(steps=STEPS, max_entries=st.integers(0, 3), ttl=st.sampled_from([0.0, 10.0]))
def test_the_cache_does_what_a_list_of_everything_would(
    steps: list[tuple[str, str, int]], max_entries: int, ttl: float
) -> None:
    clock = Clock()
    cache = cache_of(clock, max_entries=max_entries, ttl_seconds=ttl)
    model: list[tuple[tuple[str, int], float, str]] = []  # least recently used first

    for number, (step, server, value) in enumerate(steps):
        key = (server, value)
        found = next((entry for entry in model if entry[0] == key), None)
        if step == "wait":
            clock.seconds += value
        elif step == "clear":
            cache.clear_server(server)
            model = [entry for entry in model if entry[0][0] != server]
        elif step == "keep":
            cache.keep(asked(cache, server, n=value), str(number))
            model = [entry for entry in model if entry[0] != key]
            model.append((key, clock.seconds, str(number)))
            model = model[-max_entries:] if max_entries else model
        else:
            fresh = found is not None and (ttl == 0 or clock.seconds - found[1] < ttl)
            answer = cache.answer(asked(cache, server, n=value))
            assert answer == (found[2] if found and fresh else None)
            model = [entry for entry in model if entry[0] != key]
            model += [found] if found and fresh else []
