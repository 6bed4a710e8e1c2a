from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from host.pool.naming import (
    could_own,
    is_namespace,
    legal_name,
    namespace_owners,
    qualified_name,
)

SLUGS = st.text(st.sampled_from("aZ0_-. é🦊"), max_size=70)
TOOLS = st.text(st.sampled_from("bY9_-/ 名🦊\ud800"), max_size=70)


@dataclass(frozen=True)
class Claim:
    id: str
    effective_slug: str
    enabled: bool = True


def reference_name(slug: str, tool: str) -> str:
    full = f"{slug}__{tool}"
    legal = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in full)
    if len(legal) <= 64:
        return legal
    return legal[:57] + "_" + hashlib.sha256(full.encode("utf-8", "surrogatepass")).hexdigest()[:6]


@given(slug=SLUGS, tool=TOOLS)
@example(slug="s", tool="x" * 61)
@example(slug="s", tool="x" * 62)
def test_a_name_is_substituted_measured_and_hashed_in_that_order(slug: str, tool: str) -> None:
    name = qualified_name(slug, tool)

    assert name == reference_name(slug, tool)
    assert re.fullmatch(r"[A-Za-z0-9_-]{2,64}", name)


@given(slug=SLUGS, tool=TOOLS)
@example(slug="x" * 62, tool="t")
@example(slug="x" * 63, tool="t")
@example(slug="x" * 57, tool="t" * 9)
def test_could_own_never_denies_a_name_the_server_made(slug: str, tool: str) -> None:
    assert could_own(slug, qualified_name(slug, tool))


@pytest.mark.parametrize(
    ("slug", "tool", "name"),
    [
        ("fs", "read", "fs__read"),
        ("fs", "fs.read", "fs__fs_read"),
        ("my server", "read/all", "my_server__read_all"),
        ("a", "b🦊c", "a__b_c"),
        ("a", "_x", "a___x"),
        ("a_", "x", "a___x"),
        ("API", "get-user_By", "API__get-user_By"),
    ],
)
def test_names_stand_as_they_are_but_for_illegal_characters(
    slug: str, tool: str, name: str
) -> None:
    assert qualified_name(slug, tool) == name


def test_exactly_64_characters_are_not_shortened() -> None:
    assert qualified_name("s", "t" * 61) == "s__" + "t" * 61
    assert len(qualified_name("s", "t" * 61)) == 64


def test_the_hash_is_of_the_name_before_substitution() -> None:
    dotted, underscored = qualified_name("s", "a." + "t" * 70), qualified_name("s", "a_" + "t" * 70)

    assert dotted[:57] == underscored[:57]
    assert dotted != underscored
    assert dotted[58:] == hashlib.sha256(("s__a." + "t" * 70).encode()).hexdigest()[:6]


def test_long_siblings_stay_apart() -> None:
    tool = "list-sharepoint-site-onenote-section-group-section"
    first, second = qualified_name("m" * 20, tool + "-groups"), qualified_name("m" * 20, tool + "s")

    assert len(first) == len(second) == 64
    assert first != second


@pytest.mark.parametrize(
    ("slug", "name", "owns"),
    [
        ("fs", "fs__read", True),
        ("fs", "fsx__read", False),
        ("fs", "fs_read", False),
        ("f.s", "f_s__read", True),
        ("x" * 60, "x" * 57 + "_" + "0a1b2c", True),
        ("x" * 60, "x" * 57 + "_" + "0a1b2g", False),
        ("x" * 60, "x" * 57 + "-" + "0a1b2c", False),
        ("x" * 60, "x" * 56 + "_" + "0a1b2c", False),
        ("x" * 60, "y" * 57 + "_" + "0a1b2c", False),
    ],
)
def test_could_own_knows_plain_and_shortened_names(slug: str, name: str, owns: bool) -> None:
    assert could_own(slug, name) is owns


@given(st.text())
def test_a_legal_name_keeps_its_length_and_stays_legal(text: str) -> None:
    legal = legal_name(text)

    assert len(legal) == len(text)
    assert legal_name(legal) == legal
    assert text == "" or is_namespace(legal)


@pytest.mark.parametrize("slug", ["", "a b", "a.b", "é", "a\n", "٣"])
def test_a_namespace_is_ascii_without_spaces_to_the_last_character(slug: str) -> None:
    assert not is_namespace(slug)


def test_the_lowest_id_owns_a_namespace_whatever_the_order() -> None:
    rows = [Claim("b", "fs"), Claim("a", "fs"), Claim("c", "web")]

    assert namespace_owners(rows) == namespace_owners(rows[::-1]) == {"fs": "a", "web": "c"}


def test_a_disabled_row_owns_no_namespace() -> None:
    rows = [Claim("a", "fs", enabled=False), Claim("b", "fs"), Claim("c", "web", enabled=False)]

    assert namespace_owners(rows) == {"fs": "b"}


@given(
    st.lists(
        st.builds(Claim, st.sampled_from("abc"), st.sampled_from(["fs", "web"]), st.booleans())
    )
)
def test_an_owner_is_the_least_of_the_enabled_claims(rows: list[Claim]) -> None:
    for slug in {"fs", "web"}:
        claims = [row.id for row in rows if row.enabled and row.effective_slug == slug]

        assert namespace_owners(rows).get(slug) == (min(claims) if claims else None)
