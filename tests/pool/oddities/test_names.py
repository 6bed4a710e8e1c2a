"""D1 to D5: names that do not fit, do not differ, or are not what they look like."""

from __future__ import annotations

from host.catalogue.words import words
from host.pool.naming import MAX_NAME_CHARS
from host.pool.row_import import from_mcp_servers_json
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row, tool
from tests.fakes.mcp_servers.watching import Watch
from tests.pool.neighbours import beside_memory

LONG = "list-sharepoint-site-onenote-section-group-section"


async def test_a_name_one_character_too_long_is_shortened_and_leads_back() -> None:
    name = "t" * (MAX_NAME_CHARS + 1 - len("ms-365__"))
    server = EchoServer([tool(name)])
    servers = Servers(**{"ms-365": server})
    async with beside_memory(servers) as pool:
        (shown,) = pool.tools()
        assert len(shown["function"]["name"]) == MAX_NAME_CHARS
        assert await pool.call(shown["function"]["name"]) == f"{name}({{}})"
        assert server.calls == [name]


async def test_long_siblings_stay_two_tools() -> None:
    names = [f"{LONG}-groups", f"{LONG}s"]
    server = EchoServer(map(tool, names))
    row = memory_row("a", slug="microsoft-365-tenant")
    async with beside_memory(Servers(a=server), row) as pool:
        shown = [each["function"]["name"] for each in pool.tools()]
        assert len(set(shown)) == 2
        for name in shown:
            assert len(name) == MAX_NAME_CHARS
            await pool.call(name)
        assert server.calls == names


async def test_a_server_key_of_any_kind_gives_the_same_legal_names_each_time() -> None:
    keys = ["my server", "a.b/c", "größe", "k" * 70]
    body = {"url": "http://memory.test/echo"}
    rows = from_mcp_servers_json({"mcpServers": dict.fromkeys(keys, body)}, env={})
    again = from_mcp_servers_json({"mcpServers": dict.fromkeys(keys, body)}, env={})
    assert [row.effective_slug for row in rows] == [row.effective_slug for row in again]
    async with beside_memory(Servers(echo=EchoServer([tool("t")])), *rows) as pool:
        shown = [each["function"]["name"] for each in pool.tools()]
        assert shown[:3] == ["my_server__t", "a_b_c__t", "gr__e__t"]
        assert max(map(len, shown)) == MAX_NAME_CHARS
        assert [each.label for each in pool.catalogue()] == keys
        for name in shown:
            assert await pool.call(name) == "t({})"


async def test_a_name_that_two_servers_could_have_leads_to_one_and_is_told() -> None:
    one, other = EchoServer([tool("_x"), tool("y")]), EchoServer([tool("x"), tool("y")])
    servers = Servers(a=one, a_=other)
    async with beside_memory(servers, is_ready=False) as pool:
        watch = Watch(pool)
        await pool.wait_ready()
        assert [each["function"]["name"] for each in pool.tools()] == ["a___x", "a__y", "a___y"]
        await pool.call("a___x")
        await pool.call("a__y")
        await pool.call("a___y")
        assert (one.calls, other.calls) == (["_x", "y"], ["y"])
        assert any('"a___x"' in str(told.text) for told in watch.of("log", "a_"))


async def test_names_of_every_style_are_kept_and_their_words_found() -> None:
    parted = {
        "getUserById": ["get", "user", "by", "id"],
        "get-user-name": ["get", "user", "name"],
        "API-get-user": ["api", "get", "user"],
        "agency-hosting_listUsers": ["agency", "hosting", "list", "users"],
    }
    names = list(parted)
    server = EchoServer(map(tool, names))
    async with beside_memory(Servers(a=server)) as pool:
        assert [each["function"]["name"] for each in pool.tools()] == [f"a__{n}" for n in names]
        (found,) = pool.search("user")
        assert len(found.tools) == 4
    assert {name: words(name) for name in names} == parted
