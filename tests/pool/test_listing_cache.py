"""A pool begins with what is saved: no server is started before it is needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from host.pool.fingerprint import connection_digest
from host.pool.rows import ServerRow
from host.pool.server_pool import ServerPool
from tests.fakes.listings import Cache, SlowCache
from tests.fakes.mcp_servers.echo import ADD_SCHEMA, EchoServer, Servers, memory_row, tool
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.pools import memory_pool, quiet_settings, refused


async def filled(
    servers: Servers, rows: list[ServerRow] | None = None, cache: Cache | None = None
) -> Cache:
    """A cache that knows the servers as they are now; the servers forget that they were asked."""
    cache = cache or Cache()
    async with memory_pool(servers, rows, tools_cache=cache):
        pass
    servers.opened.clear()
    cache.loads.clear()
    cache.saves.clear()
    return cache


def one(*tools: Any) -> tuple[Servers, EchoServer]:
    server = EchoServer(tools or None)
    return Servers(fs=server), server


@pytest.mark.parametrize("cache", [Cache, SlowCache])
async def test_a_server_whose_tools_are_saved_is_offered_and_not_started(
    cache: type[Cache],
) -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer())
    kept = await filled(servers, cache=cache())
    async with memory_pool(servers, tools_cache=kept) as pool:
        assert (servers.dials("fs"), servers.dials("web")) == (0, 0)
        assert [(s.id, s.stale, len(s.tools)) for s in pool.catalogue()] == [
            ("fs", True, 4),
            ("web", True, 4),
        ]
        state = state_of(pool, "fs")
        assert (state.status, state.stale, state.error) == ("idle", True, "")
        assert state.tools_fingerprint == kept.kept["fs"].fingerprint
        assert len(pool.tools()) == 8
    assert (sorted(kept.loads), kept.saves) == (["fs", "web"], [])


async def test_a_call_starts_the_server_it_needs_and_no_other() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer())
    cache = await filled(servers)
    async with memory_pool(servers, tools_cache=cache) as pool:
        watch = Watch(pool)
        assert await pool.call("fs__ping") == "ping({})"
        assert (servers.dials("fs"), servers.dials("web")) == (1, 0)
        assert watch.kinds("fs") == ["connect"]
        assert not state_of(pool, "fs").stale
    assert cache.saves == []


async def test_waking_starts_servers_without_waiting_for_them() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer(), out=EchoServer())
    cache = await filled(servers)
    async with memory_pool(servers, tools_cache=cache) as pool:
        pool.wake(["fs__ping", "fs__echo", "no__such", "out__ping"], servers=["fs", "web"])
        assert state_of(pool, "fs").status == "connecting"
        await pool.wait_ready()
        assert state_of(pool, "fs").status == "ready"
        assert [servers.dials(name) for name in ("fs", "web", "out")] == [1, 0, 0]
    pool.wake(["fs__ping"])


async def test_waking_leaves_alone_what_its_row_hides_and_what_failed_just_now() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer())
    rows: list[ServerRow] = [memory_row("fs", hidden_tools=["ping"]), memory_row("web")]
    cache = await filled(servers, rows)
    servers.refused["web"] = OSError("down")
    async with memory_pool(servers, rows, tools_cache=cache) as pool:
        pool.wake(["fs__ping", "web__ping"])
        await pool.wait_ready()
        pool.wake(["web__ping"])
        assert (servers.dials("fs"), servers.dials("web")) == (0, 1)


async def test_what_is_not_saved_is_dialled_as_ever_and_then_saved() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer())
    cache = await filled(servers)
    del cache.kept["web"]
    async with memory_pool(servers, tools_cache=cache):
        assert (servers.dials("fs"), servers.dials("web")) == (0, 1)
    assert cache.saves == ["web"]
    assert [each["name"] for each in cache.kept["web"].tools] == ["ping", "echo", "add", "read"]
    assert cache.kept["web"].instructions == "Echoes."
    assert "tools" in cache.kept["web"].capabilities
    assert cache.kept["web"].connection == connection_digest(memory_row("web"))


async def test_a_pool_can_be_told_to_dial_all_the_same() -> None:
    servers, server = one()
    cache = await filled(servers)
    server.tools.pop()
    async with memory_pool(servers, tools_cache=cache, dial_known=True) as pool:
        assert servers.dials("fs") == 1
        assert len(pool.tools()) == 3
    assert cache.saves == ["fs"]


async def test_a_lazy_pool_offers_what_is_saved_and_dials_nothing() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer())
    cache = await filled(servers)
    del cache.kept["web"]
    async with memory_pool(servers, tools_cache=cache, lazy=True) as pool:
        assert [server.id for server in pool.catalogue()] == ["fs"]
        assert (servers.dials("fs"), servers.dials("web")) == (0, 0)


async def test_a_server_that_listed_nothing_is_dialled_since_nothing_would_wake_it() -> None:
    servers, server = one()
    server.tools.clear()
    cache = await filled(servers)
    async with memory_pool(servers, tools_cache=cache):
        assert servers.dials("fs") == 1


async def test_a_disabled_row_offers_nothing_that_is_saved() -> None:
    servers, _ = one()
    cache = await filled(servers)
    async with memory_pool(servers, [memory_row("fs", enabled=False)], tools_cache=cache) as pool:
        assert pool.catalogue() == []
    assert cache.loads == []


async def test_what_was_saved_of_another_connection_is_none() -> None:
    servers, _ = one()
    cache = await filled(servers)
    cache.kept["fs"] = replace(cache.kept["fs"], connection="of another")
    async with memory_pool(servers, tools_cache=cache):
        assert servers.dials("fs") == 1
    assert cache.saves == ["fs"]


async def test_a_pool_without_an_index_leaves_the_cache_alone() -> None:
    servers, _ = one()
    cache = await filled(servers)
    async with memory_pool(servers, tools_cache=cache, index_tools=False) as pool:
        await pool.client("fs")
    assert (cache.loads, cache.saves) == ([], [])


async def test_tools_that_turn_out_different_are_told_and_saved() -> None:
    servers, server = one()
    cache = await filled(servers)
    server.tools = [tool("ping", description="Answers."), tool("new")]
    async with memory_pool(servers, tools_cache=cache) as pool:
        watch = Watch(pool)
        assert await pool.call("fs__ping") == "ping({})"
        (event,) = watch.of("tools-changed", "fs")
        assert (event.added, event.removed) == (("new",), ("echo", "add", "read"))
        assert event.before != event.after == state_of(pool, "fs").tools_fingerprint
    assert [each["name"] for each in cache.kept["fs"].tools] == ["ping", "new"]
    assert cache.saves == ["fs"]


async def test_a_list_that_changes_while_the_server_is_up_is_saved() -> None:
    servers, server = one()
    cache = Cache()
    async with memory_pool(servers, tools_cache=cache) as pool:
        watch = Watch(pool)
        await anyio.sleep(1)
        await server.change(tool("new"))
        await watch.until(lambda: bool(watch.of("tools-changed")))
    assert cache.saves == ["fs", "fs"]
    assert [each["name"] for each in cache.kept["fs"].tools] == ["new"]


async def test_a_server_that_does_not_come_up_keeps_what_is_saved_of_it() -> None:
    servers, _ = one()
    cache = await filled(servers)
    servers.refused["fs"] = OSError("out of order")
    async with memory_pool(servers, tools_cache=cache) as pool:
        error = await refused(pool, "fs__ping")
        assert error.code == "unknown-tool"
        assert "out of order" in str(error)
        state = state_of(pool, "fs")
        assert (state.status, state.stale, len(state.tools)) == ("error", True, 4)
        assert [(server.id, server.stale) for server in pool.catalogue()] == [("fs", True)]


async def test_arguments_for_the_saved_schema_are_judged_by_the_one_of_today() -> None:
    servers, server = one(tool("add", input_schema=ADD_SCHEMA))
    cache = await filled(servers)
    schema = {
        "type": "object",
        "properties": {"a": {"type": "number"}, "times": {"type": "integer", "minimum": 1}},
        "required": ["a"],
    }
    server.tools = [tool("add", input_schema=schema)]
    async with memory_pool(servers, tools_cache=cache) as pool:
        error = await refused(pool, "fs__add", {"a": 1, "b": 2})
        assert error.code == "invalid-arguments"
        assert "another schema" in str(error)
        assert "`b` is not known any more" in str(error)
        assert '"times"' in str(error)
        # Known by now, so that the looser judgement of every call is the one that counts.
        assert await pool.call("fs__add", {"a": "1"}) == 'add({"a":1})'
        error = await refused(pool, "fs__add", {"a": 1, "times": 0}, written_for=ADD_SCHEMA)
        assert "`times`" in str(error)
    assert server.calls == ["add"]


async def test_arguments_that_fit_the_schema_of_today_are_sent() -> None:
    servers, server = one(tool("add", input_schema=ADD_SCHEMA))
    cache = await filled(servers)
    server.tools = [tool("add", input_schema=ADD_SCHEMA | {"additionalProperties": False})]
    async with memory_pool(servers, tools_cache=cache) as pool:
        assert await pool.call("fs__add", {"a": "1", "b": 2}) == 'add({"a":1,"b":2})'


async def test_a_saved_tool_that_is_gone_is_unknown_and_says_so() -> None:
    servers, server = one()
    cache = await filled(servers)
    server.tools = [tool("ping")]
    async with memory_pool(servers, tools_cache=cache) as pool:
        error = await refused(pool, "fs__echo", {"x": 1})
        assert (error.code, error.server_id) == ("unknown-tool", "fs")
        assert 'server "fs" does not list it any more' in str(error)
    assert server.calls == []


async def test_a_new_tool_of_a_server_at_rest_is_found_by_its_name() -> None:
    servers, server = one()
    cache = await filled(servers, cache=SlowCache())
    server.tools = [tool("new")]
    settings = quiet_settings(servers, tools_cache=cache)
    async with ServerPool.open([memory_row("fs")], settings=settings) as pool:
        assert await pool.call("fs__new") == "new({})"


async def test_a_failing_cache_is_told_once_and_costs_nothing_but_itself() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer())
    cache = Cache()
    cache.broken = PermissionError("no entry")
    settings = quiet_settings(servers, tools_cache=cache)
    async with ServerPool.open((), load=lambda: (), settings=settings) as pool:
        watch = Watch(pool)
        pool.start([memory_row("fs"), memory_row("web")])
        await pool.wait_ready()
        assert await pool.call("web__ping") == "ping({})"
        texts = [event.text for event in watch.of("log")]
        assert texts == [
            "its saved listing was passed over: no entry",
            "its listing could not be saved: no entry",
        ]
        cache.broken = None
        await pool.reconnect("fs", [memory_row("fs"), memory_row("web")])
    assert list(cache.kept) == ["fs"]


async def test_a_failure_one_has_to_wait_for_is_told_as_well() -> None:
    servers, _ = one()
    cache = SlowCache()
    cache.broken = OSError("gone")
    settings = quiet_settings(servers, tools_cache=cache)
    async with ServerPool.open((), settings=settings) as pool:
        watch = Watch(pool)
        pool.start([memory_row("fs")])
        assert await pool.call("fs__ping") == "ping({})"
        assert watch.of("log")[0].text == "its saved listing was passed over: gone"


async def test_a_server_that_died_and_came_back_different_is_sent_no_call_for_the_old_one() -> None:
    servers, server = one(tool("add", input_schema=ADD_SCHEMA))
    async with memory_pool(servers) as pool:
        watch = Watch(pool)
        servers.opened["fs"][0].crash()
        await watch.until(lambda: watch.kinds("fs") == ["close crash"])
        schema = {"type": "object", "properties": {"sum": {"type": "array"}}}
        server.tools = [tool("add", input_schema=schema)]
        error = await refused(pool, "fs__add", {"a": 1, "b": 2})
        assert error.code == "invalid-arguments"
        assert '"sum"' in str(error)
    assert server.calls == []


async def test_a_cache_that_hands_out_nonsense_is_as_good_as_none() -> None:
    servers, _ = one()
    cache = await filled(servers)
    cache.kept["fs"] = replace(cache.kept["fs"], tools=None)  # type: ignore[arg-type]
    async with memory_pool(servers, tools_cache=cache) as pool:
        assert state_of(pool, "fs").status == "ready"


async def test_a_reconnected_server_begins_from_nothing() -> None:
    servers, server = one()
    cache = await filled(servers)
    server.tools.pop()
    async with memory_pool(servers, tools_cache=cache) as pool:
        watch = Watch(pool)
        await pool.reconnect("fs", [memory_row("fs")])
        assert watch.kinds("fs") == ["connect"]
    assert cache.saves == ["fs"]


async def test_a_row_that_reaches_another_server_now_is_dialled() -> None:
    servers = Servers(fs=EchoServer(), other=EchoServer())
    cache = await filled(servers)
    async with memory_pool(servers, [memory_row("fs")], tools_cache=cache) as pool:
        assert servers.dials("fs") == 0
        await pool.sync([memory_row("fs", "other")])
        assert servers.dials("other") == 1


async def test_a_secret_that_a_description_tells_is_not_saved_and_no_change() -> None:
    servers, server = one(tool("ping", description="Uses s3cr3t-t0ken."))
    headers = {"Authorization": "Bearer s3cr3t-t0ken", "X-Project": "my-project-12"}
    row = memory_row("fs", headers=headers)
    cache = await filled(servers, [row])
    assert cache.kept["fs"].tools[0]["description"] == "Uses ***."
    async with memory_pool(servers, [row], tools_cache=cache) as pool:
        watch = Watch(pool)
        assert await pool.call("fs__ping") == "ping({})"
        assert watch.of("tools-changed") == []
    assert cache.saves == []
    server.tools = [tool("s3cr3t-t0ken"), tool("my-project-12")]
    async with memory_pool(servers, [row], tools_cache=cache) as pool:
        watch = Watch(pool)
        await pool.use("fs", _nothing)
        assert [event.text for event in watch.of("log")] == [
            "tool 1: a name in it is a secret of its row; it was left out",
            "its listing is not saved: a name in it is a secret of its row",
        ]


async def _nothing(_: object) -> None:
    """Used for its connection."""


async def test_a_stopped_server_is_not_started_by_what_comes_late_from_the_cache() -> None:
    servers, _ = one()
    cache = await filled(servers, cache=SlowCache())
    settings = quiet_settings(servers, tools_cache=cache, dial_known=True)
    async with ServerPool.open([memory_row("fs")], settings=settings) as pool:
        assert state_of(pool, "fs").status == "connecting"
        await pool.stop("fs")
        await anyio.sleep(2)
        assert (servers.dials("fs"), len(pool.tools())) == (0, 4)
        await pool.client("fs")
    assert servers.dials("fs") == 1


async def test_the_client_of_a_server_at_rest_waits_for_the_cache_and_dials() -> None:
    servers, _ = one()
    cache = await filled(servers, cache=SlowCache())
    settings = quiet_settings(servers, tools_cache=cache)
    async with ServerPool.open([memory_row("fs")], settings=settings) as pool:
        await pool.client("fs")
        assert state_of(pool, "fs").status == "ready"


async def test_a_pool_that_closes_at_once_still_saves() -> None:
    servers, _ = one()
    cache = SlowCache()
    async with memory_pool(servers, tools_cache=cache):
        pass
    assert cache.saves == ["fs"]
