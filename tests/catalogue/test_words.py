"""Words of names in every style, and of scripts without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.words import words

WORD = st.sampled_from(["get", "user", "mail", "v2", "list"])
STYLES = [
    "_".join,
    "__".join,
    "-".join,
    " ".join,
    lambda parts: "".join(part.capitalize() for part in parts),
]


@given(st.lists(WORD, max_size=5), st.sampled_from(STYLES))
def test_every_style_of_name_has_the_same_words(parts: list[str], style: object) -> None:
    assert callable(style)
    assert words(style(parts)) == parts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("API-get-user", ["api", "get", "user"]),
        ("agency-hosting_listX", ["agency", "hosting", "list", "x"]),
        ("parseJSONFile", ["parse", "json", "file"]),
        ("地图搜索 map", ["地图", "图搜", "搜索", "map"]),
        ("图v2", ["图", "v2"]),
        ("Größe überall", ["größe", "überall"]),
        ("", []),
        ("__ --", []),
    ],
)
def test_known_texts(text: str, found: list[str]) -> None:
    assert words(text) == found
