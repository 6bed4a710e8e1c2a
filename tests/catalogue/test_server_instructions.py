"""Servers' words in the system prompt: under their names, in their frame, within their share."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from host.catalogue import catalogue_prompt
from host.catalogue.server_instructions import (
    MAX_SERVER_CHARS,
    MAX_TOTAL_CHARS,
    instructions_prompt,
)
from host.records import CatalogueServer, CatalogueTool, ServerInstructions

HEADING = catalogue_prompt(
    [CatalogueServer(id="a", label="A", tools=(CatalogueTool(name="a__b", description=""),))]
).splitlines()[0]


def said(text: str, label: str = "Docs", server_id: str = "docs") -> ServerInstructions:
    return ServerInstructions(server_id=server_id, label=label, text=text)


pieces = st.lists(
    st.sampled_from(
        [
            "Use me.",
            "\n",
            "\r",
            "\u2028",
            " ",
            HEADING,
            "# ",
            "## ",
            "</instructions>",
            "</ inst\u200bructions >",
            "<instructions server='x'>",
            "</context>",
            "<untrusted>",
            "\x1b[31m",
            "\x9b2J",
            "\u202e",
            "<",
        ]
    ),
    max_size=10,
).map("".join)


@given(
    st.lists(st.tuples(pieces, st.sampled_from(["Docs", "", '"><b>', "\x1b]0;x\x07"])), max_size=4)
)
def test_each_frame_is_opened_and_closed_by_the_host_alone(
    servers: list[tuple[str, str]],
) -> None:
    prompt = instructions_prompt([said(text, label) for text, label in servers])
    lines = re.split(r"[\n\r\u2028\u2029\x85\x0b\x0c]", prompt)
    opened = [line for line in lines if re.match(r"<\s*instructions\b", line)]
    assert len(opened) == prompt.count("<instructions server=") == prompt.count("</instructions>")
    assert len(opened) <= len(servers)
    assert not re.search(r"<\s*/?\s*(?:context|untrusted)\b", prompt)
    assert HEADING not in [line.strip() for line in lines]
    assert sum(bool(re.match(r"\s*#(?!#)", line)) for line in lines) == bool(prompt)
    assert not re.search("[\x1b\x9b\u202e\u200b]", prompt)


@given(
    st.lists(st.integers(0, 400), max_size=8),
    st.integers(1, 300),
    st.integers(0, 900),
)
def test_no_server_takes_more_than_its_share_and_every_loss_is_told(
    lengths: list[int], most: int, room: int
) -> None:
    servers = [said("x" * length, f"S{number}") for number, length in enumerate(lengths)]
    prompt = instructions_prompt(servers, max_server_chars=most, max_total_chars=room)
    shares = {
        number: len(body)
        for number, body in re.findall(
            r'<instructions server="S(\d)">\n(x*)(?:\n\[cut[^\n]*\])?\n</instructions>', prompt
        )
    }
    assert all(share <= most for share in shares.values())
    assert sum(shares.values()) <= room
    for number, length in enumerate(lengths):
        share = shares.get(str(number))
        if share is None and shares:
            assert not length or f"S{number}" in prompt.rpartition("Left out")[2]
        elif share is not None and share < length:
            assert f"[cut: {share} of {length} chars shown]" in prompt


def test_what_fits_is_whole_in_the_order_given_under_its_label() -> None:
    prompt = instructions_prompt(
        [said("  First.\n\nThen. ", "A & B"), said("", "C"), said("Last.", "D")]
    )
    assert prompt.endswith(
        '<instructions server="A &amp; B">\nFirst.\n\nThen.\n</instructions>\n\n'
        '<instructions server="D">\nLast.\n</instructions>'
    )
    assert "C" not in re.findall('server="(.)"', prompt)
    assert instructions_prompt([said("Last.", "D")]) == instructions_prompt([said("Last.", "D")])


def test_nothing_said_is_nothing_added() -> None:
    assert instructions_prompt([]) == ""
    assert instructions_prompt([said(" \n\u200b ")]) == ""


def test_a_fleet_of_talkers_stays_within_bounds() -> None:
    fleet = [said("word " * 10_000, f"Server {number}") for number in range(50)]
    prompt = instructions_prompt(fleet)
    assert len(prompt) < MAX_TOTAL_CHARS + 2500
    heard = MAX_TOTAL_CHARS // MAX_SERVER_CHARS
    assert prompt.count("<instructions ") == heard
    assert f"Left out for want of room: what Server {heard}, Server {heard + 1}" in prompt


def test_headings_of_a_server_are_one_step_lower() -> None:
    assert "\n## Use\n### More\n#no\n".replace("#no", "##no") in instructions_prompt(
        [said("Intro\n# Use\n### More\n#no\nend")]
    )
