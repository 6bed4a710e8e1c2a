from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.listing import FOR_APPS_ONLY, NEEDS_TASK, read_listing
from host.pool.rows import StdioServerRow
from host.pool.server_state import ToolState
from host.pool.tool_index import (
    IndexedTool,
    ListedServer,
    NameClash,
    ToolIndex,
    is_in_scope,
    scope_of,
    tool_states,
)

APP_ONLY = {"name": "app", "_meta": {"ui": {"visibility": ["app"]}}}
TASK_ONLY = {"name": "task", "execution": {"taskSupport": "required"}}


def server(
    server_id: str, *tools: str | dict[str, Any], stale: bool = False, **fields: Any
) -> ListedServer:
    row = StdioServerRow(id=server_id, command="x", **fields)
    listing = read_listing(
        ({"name": tool} if isinstance(tool, str) else tool for tool in tools),
        slug=row.effective_slug,
        label=row.effective_label,
    )
    return ListedServer(row=row, tools=listing.tools, stale=stale)


def names(index: ToolIndex, **options: Any) -> list[str]:
    return [definition["function"]["name"] for definition in index.definitions(**options)]


FLEET = ToolIndex.of(
    [
        server("web", "fetch", "post", hidden_tools=["post"], always_load=["post", "fetch", "x"]),
        server("fs", "read", "write", label="Files", stale=True, always_load=["write", "write"]),
        server("empty"),
        server("off", "never", enabled=False),
        server("apps", APP_ONLY, TASK_ONLY, always_load=["app", "task"]),
    ]
)


def test_definitions_come_in_the_order_of_rows_and_listings() -> None:
    assert names(FLEET) == ["web__fetch", "fs__read", "fs__write"]


def test_named_definitions_come_in_the_callers_order_once_and_only_if_offered() -> None:
    wanted = ["fs__write", "web__fetch", "fs__write", "web__post", "fs__none", "off__never", "read"]

    assert names(FLEET, names=wanted) == ["fs__write", "web__fetch"]
    assert names(FLEET, names=iter(wanted), scope=frozenset({"web"})) == ["web__fetch"]
    assert names(FLEET, names=[]) == []


def test_definitions_are_shared() -> None:
    (first,), (second,) = FLEET.definitions(["fs__read"]), FLEET.definitions(["fs__read"])

    assert first is second


def test_no_scope_is_every_server_and_an_empty_scope_is_none() -> None:
    assert len(FLEET.catalogue(None)) == 2
    assert FLEET.catalogue(frozenset()) == []
    assert FLEET.search("read", scope=frozenset()) == []
    assert FLEET.always_loaded(frozenset()) == []
    assert names(FLEET, scope=frozenset()) == []
    assert FLEET.resolve("fs__read", scope=frozenset()) == "out-of-scope"
    assert FLEET.describe("fs__read", scope=frozenset()) is None


def test_a_scope_is_taken_when_it_is_given() -> None:
    wanted = ["fs"]
    scope = scope_of(wanted)
    wanted.append("web")

    assert scope == frozenset({"fs"})
    assert scope_of(iter(["fs"])) == frozenset({"fs"})
    assert scope_of("fs") == frozenset({"fs"})
    assert scope_of([]) == frozenset()
    assert scope_of(None) is None
    assert is_in_scope("x", None)
    assert not is_in_scope("x", frozenset())


@pytest.mark.parametrize(
    ("name", "scope", "hidden", "refusal"),
    [
        ("fs__read", None, False, None),
        ("fs__read", {"fs"}, False, None),
        ("fs__read", {"web"}, False, "out-of-scope"),
        ("web__post", None, False, "unknown-tool"),
        ("web__post", None, True, None),
        ("web__post", {"fs"}, True, "out-of-scope"),
        ("web__post", {"fs"}, False, "out-of-scope"),
        ("apps__app", None, False, "unknown-tool"),
        ("apps__app", None, True, None),
        ("off__never", None, True, "unknown-tool"),
        ("fs__none", {"fs"}, False, "unknown-tool"),
        ("read", None, False, "unknown-tool"),
    ],
)
def test_a_name_leads_to_a_tool_or_is_refused(
    name: str, scope: set[str] | None, hidden: bool, refusal: str | None
) -> None:
    found = FLEET.resolve(name, scope=scope_of(scope), hidden=hidden)
    described = FLEET.describe(name, scope=scope_of(scope), hidden=hidden)

    assert isinstance(found, IndexedTool) is (refusal is None)
    assert refusal is None or found == refusal
    assert (described is None) is (refusal is not None)


def test_a_bare_name_is_unknown_even_if_one_server_has_it() -> None:
    assert FLEET.resolve("read") == "unknown-tool"


def test_the_catalogue_lists_what_is_offered_and_by_whom() -> None:
    web, files = FLEET.catalogue()

    assert (web.id, web.label, web.stale) == ("web", "web", False)
    assert (files.id, files.label, files.stale) == ("fs", "Files", True)
    assert [tool.name for tool in files.tools] == ["fs__read", "fs__write"]
    assert all(tool.tokens > 0 for tool in files.tools)


def test_the_catalogue_has_the_servers_words_without_the_label() -> None:
    tool = {
        "name": "t",
        "title": "T",
        "description": "  Does it. ",
        "annotations": {"readOnlyHint": True},
    }
    (listed,) = ToolIndex.of([server("a", tool)]).catalogue()[0].tools

    assert (listed.name, listed.title, listed.description) == ("a__t", "T", "Does it.")
    assert listed.annotations == {"readOnlyHint": True}


def test_a_description_has_everything_the_server_said() -> None:
    tool = {
        "name": "t.x",
        "description": "d",
        "inputSchema": {"type": "object", "required": ["a"]},
        "outputSchema": {"type": "object"},
        "_meta": {"m": 1},
    }
    found = ToolIndex.of([server("a", tool, hidden_tools=["t.x"])]).describe("a__t_x", hidden=True)

    assert found is not None
    assert (found.server_id, found.name, found.qualified) == ("a", "t.x", "a__t_x")
    assert (found.description, found.hidden) == ("d", True)
    assert found.input_schema == {"type": "object", "required": ["a"]}
    assert (found.output_schema, found.meta) == ({"type": "object"}, {"m": 1})
    assert (found.title, found.annotations) == (None, None)


def test_tools_loaded_from_the_start_are_those_offered_in_row_order_once() -> None:
    assert FLEET.always_loaded() == ["web__fetch", "fs__write"]
    assert FLEET.always_loaded(frozenset({"fs"})) == ["fs__write"]


def test_a_search_orders_servers_by_their_best_hit() -> None:
    index = ToolIndex.of(
        [
            server("fs", {"name": "list", "description": "files"}, "read_file", label="Disk"),
            server("web", "file_upload", {"name": "find", "title": "file"}, "file_hidden",
                   hidden_tools=["file_hidden"]),
            server("files", "x"),
        ]
    )  # fmt: skip

    found = [(each.id, [tool.name for tool in each.tools]) for each in index.search("file")]

    assert found == [
        ("fs", ["fs__read_file", "fs__list"]),
        ("web", ["web__file_upload", "web__find"]),
        ("files", ["files__x"]),
    ]
    assert sum(len(each.tools) for each in index.search("file", limit=3)) == 3
    assert index.search("file", limit=0) == []
    assert [each.id for each in index.search("disk")] == ["fs"]
    assert index.search("files__x") != []


def test_the_lowest_id_has_a_shared_namespace_whatever_the_order() -> None:
    low, high = server("a", "t", slug="s"), server("b", "t", "u", slug="s")

    for rows in ([low, high], [high, low]):
        index = ToolIndex.of(rows)

        assert names(index) == ["s__t"]
        assert index.entries["s__t"].server_id == "a"
        assert index.clashes == {NameClash(kind="namespace", name="s", owner="a", loser="b")}
        assert [clash.text.count('"b"') for clash in index.clashes] == [2]


def test_a_disabled_row_neither_owns_nor_offers() -> None:
    index = ToolIndex.of([server("a", "t", slug="s", enabled=False), server("b", "t", slug="s")])

    assert index.entries["s__t"].server_id == "b"
    assert index.clashes == frozenset()


def test_a_row_without_tools_still_owns_its_namespace() -> None:
    index = ToolIndex.of([server("a", slug="s"), server("b", "t", slug="s")])

    assert names(index) == []
    assert len(index.clashes) == 1


def test_of_tools_with_one_name_the_first_listed_has_it() -> None:
    index = ToolIndex.of([server("fs", "fs.read", "fs_read"), server("a", "_x"), server("a_", "x")])

    assert names(index) == ["fs__fs_read", "a___x"]
    assert index.entries["fs__fs_read"].tool.name == "fs.read"
    assert index.clashes == {
        NameClash(kind="tool", name="fs__fs_read", owner="fs", loser="fs"),
        NameClash(kind="tool", name="a___x", owner="a", loser="a_"),
    }
    assert all(clash.name in clash.text for clash in index.clashes)


def test_of_rows_with_one_id_the_first_counts() -> None:
    index = ToolIndex.of([server("a", "t"), server("b", "u"), server("a", "v")])

    assert names(index) == ["a__t", "b__u"]


def test_states_list_hidden_tools_too_with_the_mark() -> None:
    states = tool_states(server("a", "t", "h", APP_ONLY, TASK_ONLY, hidden_tools=["h"]))

    assert [(state.name, state.hidden) for state in states] == [
        ("t", False),
        ("h", True),
        ("app", True),
        ("task", True),
    ]
    assert isinstance(states[0], ToolState)
    assert states[0].qualified == "a__t"


def test_withheld_tools_say_why() -> None:
    withheld = [entry.tool.withheld for entry in FLEET.entries.values() if entry.tool.withheld]

    assert withheld == [FOR_APPS_ONLY, NEEDS_TASK]


SERVERS = st.lists(
    st.builds(
        lambda server_id, tools, fields: server(server_id, *tools, **fields),
        st.sampled_from(["a", "a_", "b", "c"]),
        st.lists(st.sampled_from(["x", "_x", "y.z", "y_z"]), max_size=4),
        st.fixed_dictionaries(
            {},
            optional={
                "slug": st.sampled_from(["a", "s"]),
                "enabled": st.booleans(),
                "hidden_tools": st.just(["x"]),
                "always_load": st.lists(st.sampled_from(["x", "y.z"]), max_size=2),
            },
        ),
    ),
    max_size=5,
)
SCOPES = st.none() | st.frozensets(st.sampled_from(["a", "a_", "b"]))


def offered_by_the_rules(
    servers: list[ListedServer], scope: frozenset[str] | None
) -> Iterator[tuple[str, str, str]]:
    """Server id, own name and qualified name, by the rules written out one after the other."""
    seen_ids: set[str] = set()
    rows = [each for each in servers if not (each.row.id in seen_ids or seen_ids.add(each.row.id))]  # type: ignore[func-returns-value] # the idiom for "first of each"
    taken: set[str] = set()
    for each in rows:
        slug = each.row.effective_slug
        rivals = [o.row.id for o in rows if o.row.enabled and o.row.effective_slug == slug]
        if not each.row.enabled or each.row.id != min(rivals):
            continue
        for tool in each.tools:
            if tool.qualified in taken:
                continue
            taken.add(tool.qualified)
            in_scope = scope is None or each.row.id in scope
            if in_scope and tool.name not in (each.row.hidden_tools or ()):
                yield each.row.id, tool.name, tool.qualified


@given(servers=SERVERS, scope=SCOPES)
def test_every_surface_offers_the_same_tools(
    servers: list[ListedServer], scope: frozenset[str] | None
) -> None:
    index = ToolIndex.of(servers)
    offered = list(offered_by_the_rules(servers, scope))
    qualified = [name for _, _, name in offered]

    assert names(index, scope=scope) == qualified
    assert [tool.name for each in index.catalogue(scope) for tool in each.tools] == qualified
    found = index.search("x y z", scope=scope, limit=99)
    assert {tool.name for each in found for tool in each.tools} == set(qualified)
    assert set(index.always_loaded(scope)) <= set(qualified)
    for name in index.entries:
        assert isinstance(index.resolve(name, scope=scope), IndexedTool) is (name in qualified)
        assert (index.describe(name, scope=scope) is not None) is (name in qualified)
    for server_id, own, name in offered:
        assert index.entries[name].server_id == server_id
        assert index.entries[name].tool.name == own
