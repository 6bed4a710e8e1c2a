from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from host.pool.argument_paths import preview, problem_at, shown_path


def test_a_path_reads_like_code() -> None:
    assert shown_path(("a", 0, "b", "c")) == "a[0].b.c"
    assert shown_path(()) == "arguments"
    assert problem_at(("a", 1), "is odd") == "`a[1]` is odd"


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(VALUES, st.integers(2, 60))
def test_a_preview_is_short_json(value: Any, max_chars: int) -> None:
    text = preview(value, max_chars)

    assert 0 < len(text) <= max_chars
    if not text.endswith("…"):
        assert json.loads(text) == value


def test_what_json_cannot_write_has_a_preview_too() -> None:
    assert preview(math.nan) == "nan"
    assert preview(10**5000) == "(int)"
    assert preview({"a": {1, 2}}) == "(dict)"
    assert preview("x" * 100) == '"' + "x" * 38 + "…"
