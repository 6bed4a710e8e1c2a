"""The pool's benchmarks run and print what they promise; what they measure is not judged here."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench import calls, fleet
from tests.bench.alternating import Spread, by_turns, percentile

FIGURES = st.lists(st.floats(0.001, 1000), min_size=2, max_size=30)


@given(st.integers(1, 6), st.integers(0, 2))
def test_samples_take_turns_and_the_warm_up_is_thrown_away(rounds: int, warm_up: int) -> None:
    taken: list[str] = []

    def sample(name: str) -> int:
        taken.append(name)
        return len(taken)

    found = by_turns(rounds, {"a": lambda: sample("a"), "b": lambda: sample("b")}, warm_up=warm_up)
    assert [len(found["a"]), len(found["b"])] == [rounds, rounds]
    assert sorted(taken) == ["a"] * (rounds + warm_up) + ["b"] * (rounds + warm_up)
    assert min(found["a"] + found["b"]) == 2 * warm_up + 1
    firsts = taken[::2]
    assert all(one != other for one, other in pairwise(firsts))


@given(FIGURES)
def test_a_spread_lies_within_its_figures(figures: list[float]) -> None:
    spread = Spread.of(figures)
    low, high = min(figures), max(figures)
    assert low <= spread.lower <= spread.median <= spread.upper <= high
    assert spread.median <= max(percentile(figures, 95), spread.median)


@pytest.mark.slow
def test_the_fleet_bench_prints_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert fleet.main(["--servers", "3", "--rounds", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {
        "servers",
        "host_ready_seconds",
        "sdk_ready_seconds",
        "ratio",
        "ratio_with_silent_server",
    } <= set(told)
    assert told["servers"] == 3


@pytest.mark.slow
def test_the_calls_bench_prints_its_keys(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "BIG_BYTES", 1_000_000)
    monkeypatch.setattr(calls, "MEMORY_SERVERS", 2)
    assert calls.main(["--quick", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {
        "stdio_p50_ratio",
        "stdio_p95_ratio",
        "stdio_sdk_p50_ratio",
        "http_p50_ratio",
        "throughput_ratio",
        "big_result_neighbour_p95_ratio",
        "memory_per_server_ratio",
    } <= set(told)
