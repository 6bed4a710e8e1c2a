"""A saved listing comes back as it was, or not at all, and without a secret."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.attempts import KnownEra
from host.pool.fingerprint import tools_fingerprint
from host.pool.saved_listings import (
    MARK,
    SavedListing,
    read_saved_listing,
    redacted_listing,
    saved_listing_text,
)
from host.pool.tool_redaction import NamesSecret
from host.text.redaction import REDACTED, Redactor

NOW = datetime(2026, 12, 1, tzinfo=UTC)
CANARY = 'c4nary/9+"x'
DIGEST = "ab" * 32


def saved(*tools: dict[str, Any], **fields: Any) -> SavedListing:
    given_fields: dict[str, Any] = {"connection": DIGEST, "saved_at": NOW} | fields
    return SavedListing(tools=tools, fingerprint=tools_fingerprint(tools), **given_fields)


TEXTS = st.text(max_size=20) | st.sampled_from(["é\n", "\ud800", MARK, "4.0", "\x00"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
TOOLS = st.fixed_dictionaries(
    {
        "name": st.text("abc", min_size=1, max_size=5),
        "description": TEXTS,
        "inputSchema": st.fixed_dictionaries({"type": st.just("object"), "default": VALUES}),
    }
)
LISTINGS = st.builds(
    lambda tools, **fields: saved(*tools, **fields),
    st.lists(TOOLS, max_size=4),
    instructions=st.none() | TEXTS,
    capabilities=st.dictionaries(TEXTS, VALUES, max_size=3),
    has_tasks=st.booleans(),
    era=st.none()
    | st.builds(
        KnownEra,
        mode=st.sampled_from(["legacy", "2026-07-28"]),
        discovered=st.none() | st.dictionaries(TEXTS, VALUES, max_size=3),
        asked_at=st.datetimes(timezones=st.just(UTC)),
    ),
    saved_at=st.datetimes(timezones=st.just(UTC)),
)


@given(LISTINGS)
def test_what_was_saved_is_read_again(listing: SavedListing) -> None:
    read = read_saved_listing(saved_listing_text(listing))
    assert (read, read.saved_at) == (listing, listing.saved_at)
    assert listing.era is None or (read.era and read.era.asked_at == listing.era.asked_at)


@given(LISTINGS, st.data())
def test_a_byte_changed_added_or_lost_is_damage(listing: SavedListing, data: st.DataObject) -> None:
    text = saved_listing_text(listing)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != text[place]))
    for damaged in (
        text[:place] + bytes([other]) + text[place + 1 :],
        text[:place],
        text + bytes([other]),
    ):
        with pytest.raises(ValueError, match=r"damaged|making"):
            read_saved_listing(damaged)


def test_other_text_and_a_later_form_are_told_apart_from_damage() -> None:
    for text in (b"", b"{}", MARK.replace("1", "2").encode() + b" 0\n{}"):
        with pytest.raises(ValueError, match="not of this program's making"):
            read_saved_listing(text)


@pytest.mark.parametrize("body", ["[]", "3", "{}", '{"era": 4}'])
def test_a_whole_text_of_the_wrong_shape_is_damage(body: str) -> None:
    line, _, old = saved_listing_text(saved()).partition(b"\n")
    text = f"{MARK} {zlib.crc32(body.encode()):08x}\n{body}".encode()
    assert (line, old) != (b"", b"")
    with pytest.raises(ValueError, match="damaged"):
        read_saved_listing(text)


def test_two_listings_differ_in_what_they_say_and_not_in_when_it_was_known() -> None:
    era = KnownEra(mode="legacy", asked_at=NOW)
    listing = saved({"name": "a"}, era=era)
    later = NOW + timedelta(days=1)
    assert listing == replace(listing, saved_at=later, era=replace(era, asked_at=later))
    assert listing != replace(listing, era=None)
    assert listing != replace(listing, instructions="Be kind.")


HIDDEN = st.sampled_from([CANARY, f"Bearer {CANARY}", json.dumps(CANARY)[1:-1]])
DESCRIBING = st.sampled_from(["description", "title", "$comment", "default", "x-note"])


@given(LISTINGS, HIDDEN, DESCRIBING)
def test_a_secret_is_taken_out_of_whatever_describes(
    listing: SavedListing, hidden: str, keyword: str
) -> None:
    tool = {
        "name": "tell",
        "description": f"Tells {hidden}.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "string", keyword: f"say {hidden}"}},
        },
        "_meta": {"note": [hidden]},
    }
    discovered = {"instructions": hidden, "supportedVersions": ["2026-07-28"]}
    telling = replace(
        listing,
        tools=(*listing.tools, tool),
        fingerprint="",
        instructions=hidden,
        capabilities={"experimental": {"x": hidden}},
        era=KnownEra(mode="2026-07-28", discovered=discovered, asked_at=NOW),
    )
    redactor = Redactor([CANARY])

    kept = redacted_listing(telling, redactor)

    text = saved_listing_text(kept).decode()
    assert redactor.redact(text) == text
    assert all(
        redactor.redact(each) == each for each in _texts(json.loads(text[text.index("{") :]))
    )
    assert kept.fingerprint == tools_fingerprint(kept.tools)
    assert kept.tools[:-1] == tuple(listing.tools)
    assert kept.tools[-1]["name"] == "tell"
    assert REDACTED in kept.tools[-1]["description"]
    assert redacted_listing(kept, redactor) is kept


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _texts(inner)


def test_an_example_that_a_model_may_copy_goes_as_a_whole() -> None:
    told = {"default": CANARY, "examples": [{"name": CANARY}]}
    schema = {"type": "object", "properties": {"key": told}}
    (tool,) = redacted_listing(
        saved({"name": "a", "inputSchema": schema}), Redactor([CANARY])
    ).tools
    assert tool["inputSchema"]["properties"] == {"key": {}}


@pytest.mark.parametrize(
    "tool",
    [
        {"name": f"a-{CANARY}"},
        {"name": "a", "inputSchema": {"properties": {CANARY: {}}}},
        {"name": "a", "inputSchema": {"required": [CANARY]}},
        {"name": "a", "inputSchema": {"properties": {"b": {"enum": ["x", CANARY]}}}},
        {"name": "a", "inputSchema": {"properties": {"b": {"const": CANARY}}}},
        {"name": "a", "inputSchema": {"pattern": f"^{CANARY}$"}},
    ],
    ids=lambda tool: json.dumps(tool)[:60],
)
def test_a_secret_that_names_something_keeps_the_listing_from_being_saved(
    tool: dict[str, Any],
) -> None:
    with pytest.raises(NamesSecret) as refusal:
        redacted_listing(saved(tool), Redactor([CANARY]))
    assert CANARY not in str(refusal.value)


def test_a_value_that_is_a_word_of_every_schema_keeps_nothing_from_being_saved() -> None:
    tool = {
        "name": "a",
        "description": "A string.",
        "inputSchema": {"type": "object", "properties": {"b": {"type": "string"}}},
    }
    kept = redacted_listing(saved(tool), Redactor(["string", "object", "properties"]))
    assert kept.tools[0]["inputSchema"] == tool["inputSchema"]
    assert kept.tools[0]["description"] == f"A {REDACTED}."


def test_a_listing_shows_no_texts_of_servers() -> None:
    assert "Be kind" not in repr(saved({"name": "a", "description": "Be kind."}))
