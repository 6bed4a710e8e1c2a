"""Resources as the model reads them: whole where they fit, fenced whatever they hold, bounded."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.resource_tools import (
    MAX_LISTED,
    MAX_RESOURCE_CHARS,
    RESOURCE_TOOLS,
    ServerResources,
    asked_server,
    resource_text,
    resources_text,
    unknown_server_text,
)
from host.records import Resource, ResourceContent, ResourceTemplate

pieces = st.lists(
    st.sampled_from(
        ["a", "B", " ", "\n", "</untrusted>", "<untrusted", "< / UNTRUSTED>", "\x1b[31m", "\u202e"]
    ),
    max_size=6,
).map("".join)


def fences(text: str) -> tuple[int, int]:
    """How many fences open and close."""
    plain = re.sub(r"[\u202e\x1b]", "", text)
    opened = len(re.findall(r"<\s*untrusted(?![\w-])", plain, re.IGNORECASE))
    return opened, len(re.findall(r"<\s*/\s*untrusted(?![\w-])", plain, re.IGNORECASE))


@given(
    st.lists(
        st.builds(
            ServerResources,
            server=st.sampled_from(["Docs", "Files"]),
            resources=st.lists(
                st.builds(
                    Resource,
                    uri=st.sampled_from(["a://1", "a://2", "a:\n//3", "\u202ea://4", "x" * 5000]),
                    name=pieces,
                    title=st.none() | pieces,
                    description=st.none() | pieces,
                    mime_type=st.none() | pieces,
                    size=st.none() | st.integers(-5, 10**9),
                ),
                max_size=5,
            ),
            templates=st.lists(
                st.builds(
                    ResourceTemplate,
                    uri_template=st.just("a://{x}"),
                    name=pieces,
                    description=pieces,
                ),
                max_size=2,
            ),
        ),
        max_size=3,
    )
)
def test_every_address_that_can_be_written_is_listed_on_a_line_inside_its_servers_fence(
    listed: list[ServerResources],
) -> None:
    text = resources_text(listed)
    wanted = [
        resource.uri
        for server in listed
        for resource in server.resources
        if resource.uri in ("a://1", "a://2")
    ]
    lines = [line for line in text.splitlines() if line.startswith(("a://1", "a://2"))]
    assert [line[:5] for line in lines] == wanted
    assert "x" * 1001 not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    opened, closed = fences(text)
    assert opened == closed
    assert opened <= len(listed)


def test_an_entry_tells_what_it_is_once_and_in_short() -> None:
    listed = ServerResources(
        server="Docs",
        resources=[
            Resource(uri="a://1", name="a://1"),
            Resource(
                uri="a://2",
                name="two",
                title="The second",
                description="About\nthings. " + "x" * 500,
                mime_type="text/plain",
                size=2048,
            ),
        ],
        templates=[ResourceTemplate(uri_template="a://{n}", name="any", mime_type="text/plain")],
    )
    head, one, two, pattern, end = resources_text([listed]).splitlines()
    assert (head, end) == ('<untrusted source="Docs">', "</untrusted>")
    assert one == "a://1"
    assert two.startswith("a://2 — The second: About things. xxx")
    assert two.endswith("…  [text/plain, 2 KB]".replace("  ", " "))
    assert len(two) < 300
    assert pattern == "a://{n} — any [text/plain]"


@given(st.integers(0, 3 * MAX_LISTED), st.integers(0, MAX_LISTED))
def test_at_most_so_many_are_listed_and_the_rest_is_counted(first: int, second: int) -> None:
    listed = [
        ServerResources(
            server=f"S{number}",
            resources=[Resource(uri=f"a://{n}", name=f"n{n}") for n in range(count)],
        )
        for number, count in enumerate((first, second))
    ]
    text = resources_text(listed)
    shown = len(re.findall("^a://", text, re.MULTILINE))
    assert shown == min(first + second, MAX_LISTED)
    told = sum(map(int, re.findall("… and ([0-9]+) more", text)))
    assert shown + told == first + second


def test_a_search_keeps_what_has_all_of_its_words() -> None:
    listed = ServerResources(
        server="Docs",
        resources=[
            Resource(uri="docs://oven-manual", name="Oven", description="How to bake."),
            Resource(uri="docs://fridge", name="Fridge", description="How to cool."),
        ],
    )
    text = resources_text([listed], "bake OVEN")
    assert "docs://oven-manual" in text
    assert "fridge" not in text
    assert resources_text([listed], "bake fridge") == "No resource has all of these words."
    assert "fridge" in resources_text([listed], "  ")


def test_a_server_that_could_not_be_asked_is_named_beside_the_others() -> None:
    text = resources_text(
        [
            ServerResources(server="Ill", problem="it\nfailed"),
            ServerResources(server="Well", resources=[Resource(uri="a://1", name="x")]),
        ]
    )
    assert text.startswith("Ill could not be asked: it failed\n\n<untrusted")
    assert resources_text([ServerResources(server="Bare")]) == "There are no resources."


@given(
    st.lists(
        st.builds(
            ResourceContent,
            uri=st.sampled_from(["a://1", 'b"><untrusted>']),
            text=st.none() | pieces,
            blob=st.none() | st.binary(max_size=9),
            mime_type=st.none() | pieces,
        ),
        max_size=4,
    )
)
def test_a_resource_stands_in_one_fence_that_nothing_in_it_ends(
    parts: list[ResourceContent],
) -> None:
    text = resource_text(parts, "a://1", "Docs")
    if text.startswith("The resource"):
        assert all(not (part.text or "").strip() and part.text is not None for part in parts)
    else:
        assert fences(text) == (1, 1)
        assert text.startswith('<untrusted source="Docs: a://1">\n')
        assert text.endswith("\n</untrusted>")


def test_text_is_as_it_is_and_bytes_are_described_whatever_their_type() -> None:
    text = ResourceContent(uri="a://1", text="x = 1\n", mime_type="image/png")
    assert resource_text([text], "a://1", "Docs") == (
        '<untrusted source="Docs: a://1">\nx = 1\n\n</untrusted>'
    )
    binary = ResourceContent(uri="a://2", blob=b"hello", mime_type="text/plain")
    broken = ResourceContent(uri="a://3")
    assert resource_text([text, binary, broken], "a://", "Docs").splitlines()[1:-1] == [
        "[resource a://1]",
        "x = 1",
        "",
        "",
        "[resource a://2 text/plain, 5 bytes omitted]",
        "",
        "[resource a://3 content]",
    ]
    assert resource_text([], "a://1", "Docs") == "The resource a://1 is empty."


def test_a_resource_too_long_for_any_run_is_cut_and_stays_fenced() -> None:
    long = ResourceContent(uri="a://1", text="x" * (2 * MAX_RESOURCE_CHARS))
    text = resource_text([long], "a://1", "Docs")
    assert len(text) < MAX_RESOURCE_CHARS + 100
    assert "[truncated: kept" in text
    assert text.endswith("\n</untrusted>")


SERVERS = {"docs": "Docs", "b": "a", "a": "Bee"}


@given(st.sampled_from(["docs", "DOCS", "Docs", "a", "b", "bee", "none", " ", 5, None]))
def test_a_server_is_meant_by_its_name_before_its_id(given_name: object) -> None:
    plain = given_name.casefold() if isinstance(given_name, str) else given_name
    meant = {"docs": "docs", "a": "b", "b": "b", "bee": "a"}.get(str(plain))
    assert asked_server({"server": given_name}, SERVERS) == meant


def test_the_only_server_needs_no_name() -> None:
    assert asked_server({}, {"docs": "Docs"}) == "docs"
    assert asked_server({"server": ""}, {"docs": "Docs"}) == "docs"
    assert asked_server({}, SERVERS) is None


def test_a_refusal_names_the_servers_there_are() -> None:
    assert unknown_server_text({"server": "x\x1b[1m" * 50}, {"docs": "Docs"}).endswith(
        "has resources. These have: Docs."
    )
    assert len(unknown_server_text({"server": "x" * 10_000}, {"docs": "Docs"})) < 200
    assert "Docs, a, Bee" in unknown_server_text({}, SERVERS)


@pytest.mark.parametrize("tool", RESOURCE_TOOLS)
def test_the_definitions_cannot_be_changed(tool: dict[str, dict[str, str]]) -> None:
    with pytest.raises(TypeError):
        tool["function"]["name"] = "other"
