"""What an engine logs and how it ends is told in a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.assembly.engine_words import (
    INSTALL,
    death_words,
    logged_reason,
    problem_words,
    size_words,
)

STAMP = "0.00.065.750"
noise = st.sampled_from(["", f"{STAMP} W load: odd token", f"{STAMP} I srv init: done", "plain"])
errors = st.sampled_from(
    [
        f"{STAMP} E srv    load_model: failed to load model, 'a b.gguf'",
        f"{STAMP} E llama_model_load_from_file_impl: failed to load model",
        f"{STAMP} E llama_model_load: error loading model: loader: failed to load model from a b",
        f"{STAMP} E gguf_init_from_reader: failed to read header",
        f"{STAMP} E srv          init: exiting due to model loading error",
    ]
)
reasons = st.sampled_from(["tensor 'a' is not within", "unknown model architecture: 'x'"])


@given(st.lists(noise), st.lists(errors), reasons, st.lists(errors | noise))
def test_what_is_wrong_with_the_model_is_found_wherever_it_stands(
    before: list[str], between: list[str], reason: str, after: list[str]
) -> None:
    line = f"{STAMP} E llama_model_load: error loading model: {reason}"
    assert logged_reason("\n".join([*before, *between, line, *after])) == reason


@given(st.lists(noise | errors), st.lists(noise | errors), st.booleans())
def test_else_it_is_the_first_error_that_says_more_than_that_it_failed(
    before: list[str], after: list[str], says_more: bool
) -> None:
    line = f"{STAMP} E gguf_init_from_reader: failed to read key-value pairs"
    further = [f"{STAMP} E srv load_model: out of memory"] if says_more else []
    log = "\n".join([*before, line, *after, *further])
    assert logged_reason(log) == "gguf_init_from_reader: failed to read key-value pairs"


@given(st.lists(noise | errors), errors, st.lists(noise))
def test_else_it_is_the_last_error_without_its_stamp(
    before: list[str], last: str, after: list[str]
) -> None:
    log = "\n".join([*before, last, *after])
    assert logged_reason(log) == last.removeprefix(f"{STAMP} E ")


@given(st.lists(noise))
def test_without_any_error_it_is_the_last_line(lines: list[str]) -> None:
    written = [line for line in lines if line]
    expected = written[-1] if written else ""
    found = logged_reason("\n".join(lines))
    assert expected.endswith(found)
    assert STAMP not in found
    assert bool(found) == bool(expected)


@given(st.integers(0, 1 << 44))
def test_a_size_is_right_to_its_last_place(size: int) -> None:
    number, unit = size_words(size).split()
    exact = size / {"MB": 1e6, "GB": 1e9}[unit]
    assert abs(float(number) - exact) <= (0.5 if unit == "MB" else 0.05) + 1e-6
    assert unit == "MB" or exact > 0.99


@pytest.mark.parametrize(
    ("size", "words"),
    [(98_362_432, "98 MB"), (499_999, "0 MB"), (999_500_000, "1.0 GB"), (1_117_320_768, "1.1 GB")],
)
def test_sizes_are_written_as_file_managers_write_them(size: int, words: str) -> None:
    assert size_words(size) == words


def test_each_problem_says_what_to_do_or_what_is_wrong() -> None:
    assert problem_words("missing", "no", "log").endswith(f"run: {INSTALL}")
    assert problem_words("broken", "no libgomp", "log").endswith("does not load: no libgomp")
    assert problem_words("load", "failed", "") == "cannot be loaded: failed"
    assert problem_words("load", "failed", "why") == "cannot be loaded: why"
    assert problem_words("wish", "too large", "noise") == "cannot be loaded: too large"


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [
        (-4, "build it from source"),
        (0xC000001D, "build it from source"),
        (-9, "want of memory"),
        (-6, "was ended by SIGABRT: why"),
        (-63, "was ended by signal 63: why"),
        (3, "exited with code 3: why"),
    ],
)
def test_an_end_is_told_by_its_signal_or_code(exit_code: int, words: str) -> None:
    assert death_words(exit_code, f"{STAMP} E why").endswith(words) or words in death_words(
        exit_code, ""
    )


def test_an_end_without_a_log_is_told_without_a_reason() -> None:
    assert death_words(-11, "\n") == "was ended by SIGSEGV"
