"""Flags take what they can use and say what is wrong with the rest."""

from __future__ import annotations

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.cli.flag_values import at_least_one, positive_seconds, web_address


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_seconds_are_the_finite_numbers_above_zero(number: float) -> None:
    if 0 < number < float("inf"):
        assert positive_seconds(repr(number)) == number
    else:
        with pytest.raises(argparse.ArgumentTypeError, match="above 0"):
            positive_seconds(repr(number))


@given(st.integers(-100, 10**9))
def test_a_count_is_a_whole_number_from_one_on(number: int) -> None:
    if number >= 1:
        assert at_least_one(str(number)) == number
    else:
        with pytest.raises(argparse.ArgumentTypeError, match="from 1 on"):
            at_least_one(str(number))


@given(
    st.sampled_from(["http", "https", "HTTP", "ftp", "localhost", ""]),
    st.sampled_from(["://", ":", "//", ""]),
    st.sampled_from(["localhost:8080/v1", "127.0.0.1", "", "/"]),
)
def test_an_address_has_a_scheme_of_the_web_and_a_host(scheme: str, mark: str, rest: str) -> None:
    text = f"{scheme}{mark}{rest}"
    if scheme.lower() in ("http", "https") and mark == "://" and rest.strip("/"):
        assert web_address(f" {text} ") == text
    else:
        with pytest.raises(argparse.ArgumentTypeError, match="write something like http://"):
            web_address(text)


@pytest.mark.parametrize("text", ["", "two", "1.5", "²"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        at_least_one(text)
    if text != "1.5":
        with pytest.raises(argparse.ArgumentTypeError):
            positive_seconds(text)
