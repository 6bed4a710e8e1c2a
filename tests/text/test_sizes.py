"""Sizes are short, and no further off than half of their last digit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.sizes import size_text

UNITS = {"byte": 1, "bytes": 1, "KB": 1024, "MB": 1024 * 1024}


@given(st.one_of(st.integers(0, 3000), st.integers(0, 10**10)))
def test_what_is_written_is_the_size_to_its_last_digit(size_bytes: int) -> None:
    number, unit = size_text(size_bytes).split()
    off = abs(float(number) * UNITS[unit] - size_bytes)
    assert off <= {"MB": 0.05, "KB": 0.5}.get(unit, 0) * UNITS[unit] + 1e-6


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1536, "2 KB"),
        (1024 * 1024, "1.0 MB"),
        (1_300_000, "1.2 MB"),
    ],
)
def test_halves_round_up(size_bytes: int, text: str) -> None:
    assert size_text(size_bytes) == text
