"""Resources and prompts through the pool: whole lists, kept lists, plain records, our errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from host.errors import PoolError
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from host.records import (
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceContent,
    ResourceTemplate,
)
from tests.fakes.mcp_servers.answering import greeting
from tests.fakes.mcp_servers.in_memory import AnsweringFleet, AnsweringServer
from tests.fakes.mcp_servers.watching import Watch

CHANGING = {"resources": {"listChanged": True}, "prompts": {"listChanged": True}}
SILENT: dict[str, Any] = {"resources": {}, "prompts": {}}
ONE = {"resources": [{"uri": "docs://one", "name": "one"}]}


@asynccontextmanager
async def pool_over(*servers: AnsweringServer, **settings: Any) -> AsyncIterator[ServerPool]:
    """A pool whose rows are ``s0``, ``s1``, … ."""
    fleet = AnsweringFleet(**{f"s{number}": server for number, server in enumerate(servers)})
    chosen = PoolSettings(create_transport=fleet.create_transport, **settings)
    with anyio.fail_after(10_000):
        async with ServerPool.open(fleet.rows(), settings=chosen) as pool:
            await pool.wait_ready()
            yield pool


def server(
    capabilities: dict[str, Any] = SILENT, *, modern: bool = False, **methods: Any
) -> AnsweringServer:
    """A server without tools; methods are written with ``_`` for ``/``."""
    table = {name.replace("_", "/"): held for name, held in methods.items()}
    return AnsweringServer(
        {**greeting(capabilities, modern=modern), "tools/list": {"tools": []}, **table}
    )


async def failure(asking: Any) -> PoolError:
    with pytest.raises(PoolError) as error:
        await asking
    return error.value


@pytest.mark.parametrize("modern", [False, True])
async def test_lists_are_followed_to_their_end_and_come_as_our_own_records(modern: bool) -> None:
    pages = [
        {"resources": [{"uri": "docs://one", "name": "one"}], "nextCursor": "1"},
        {
            "resources": [
                {
                    "uri": "docs://two",
                    "name": "two",
                    "title": "Two",
                    "description": "The second.",
                    "mimeType": "text/plain",
                    "size": 12,
                }
            ]
        },
    ]
    prompts = {
        "prompts": [
            {"name": "ask", "arguments": [{"name": "who", "required": True}, {"name": "why"}]}
        ]
    }
    templates = {"resourceTemplates": [{"uriTemplate": "docs://{page}", "name": "page"}]}
    asked = server(
        modern=modern,
        resources_list=pages,
        resources_templates_list=templates,
        prompts_list=prompts,
    )
    async with pool_over(asked) as pool:
        assert await pool.list_resources("s0") == [
            Resource(uri="docs://one", name="one"),
            Resource(
                uri="docs://two",
                name="two",
                title="Two",
                description="The second.",
                mime_type="text/plain",
                size=12,
            ),
        ]
        assert await pool.list_resource_templates("s0") == [
            ResourceTemplate(uri_template="docs://{page}", name="page")
        ]
        assert await pool.list_prompts("s0") == [
            Prompt(
                name="ask",
                arguments=(PromptArgument(name="who", required=True), PromptArgument(name="why")),
            )
        ]


async def test_a_page_that_comes_again_is_an_error_and_no_partial_list() -> None:
    turning = server(resources_list=lambda _: {"resources": [], "nextCursor": "again"})
    async with pool_over(turning) as pool:
        error = await failure(pool.list_resources("s0"))
    assert (error.code, error.server_id) == ("tool-error", "s0")
    assert str(error) == 'server "s0" repeats a page of its list of resources without end'


async def test_one_limit_of_time_holds_for_all_pages_together() -> None:
    slow = server()
    slow.table["prompts/list"] = lambda _: {
        "prompts": [],
        "nextCursor": str(slow.times("prompts/list")),
    }
    slow.delays["prompts/list"] = 1
    async with pool_over(slow) as pool:
        began = anyio.current_time()
        error = await failure(pool.list_prompts("s0", timeout_seconds=3.5))
        assert anyio.current_time() - began == pytest.approx(3.5, abs=0.1)
        assert (error.code, error.timeout_seconds) == ("timeout", 3.5)
        assert slow.times("prompts/list") == 4
        slow.table["prompts/list"] = {"prompts": []}
        assert await pool.list_prompts("s0") == []


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "prompts/list"])
async def test_a_list_that_is_declared_and_not_served_is_empty(method: str) -> None:
    """Oddity B10."""
    odd = server()
    async with pool_over(odd) as pool:
        watch = Watch(pool)
        assert await pool.list_resources("s0") == []
        assert await pool.list_resource_templates("s0") == []
        assert await pool.list_prompts("s0") == []
        assert odd.times(method) == 1
        assert watch.events == []


async def test_a_server_that_declares_nothing_is_not_asked() -> None:
    """Oddity B12."""
    bare = server({}, prompts_list={"prompts": [{"name": "hidden"}]})
    async with pool_over(bare) as pool:
        assert await pool.list_prompts("s0") == []
        assert await pool.list_resources("s0") == []
        assert bare.times("prompts/list") == 0


async def test_a_list_whose_backend_is_down_is_an_error_of_that_list_alone() -> None:
    """Oddity B11."""
    error = {"error": {"code": -32603, "message": "no database"}}
    half = server(resources_list=error, prompts_list={"prompts": [{"name": "ask"}]})
    async with pool_over(half) as pool:
        told = await failure(pool.list_resources("s0"))
        assert told.code == "tool-error"
        assert "no database (-32603)" in str(told)
        assert [prompt.name for prompt in await pool.list_prompts("s0")] == ["ask"]
        assert [state.status for state in pool.state()] == ["ready"]


@pytest.mark.parametrize("modern", [False, True])
async def test_a_list_is_kept_until_its_server_says_that_it_changed(modern: bool) -> None:
    keen = server(CHANGING, modern=modern, resources_list=ONE, prompts_list={"prompts": []})
    async with pool_over(keen) as pool:
        await anyio.sleep(1)
        for _ in range(3):
            await pool.list_resources("s0")
            await pool.list_prompts("s0")
        assert (keen.times("resources/list"), keen.times("prompts/list")) == (1, 1)
        keen.table["resources/list"] = {"resources": []}
        await keen.tell("notifications/resources/list_changed")
        await anyio.sleep(1)
        assert await pool.list_resources("s0") == []
        await pool.list_prompts("s0")
        assert (keen.times("resources/list"), keen.times("prompts/list")) == (2, 1)


async def test_a_server_that_would_not_tell_of_changes_is_asked_each_time() -> None:
    quiet = server(SILENT, resources_list=ONE)
    async with pool_over(quiet) as pool:
        await pool.list_resources("s0")
        await pool.list_resources("s0")
        assert quiet.times("resources/list") == 2


async def test_while_the_stream_of_changes_is_down_nothing_is_kept() -> None:
    keen = server(CHANGING, modern=True, resources_list=ONE, prompts_list={"prompts": []})
    keen.honours = frozenset({"resourcesListChanged"})
    async with pool_over(keen) as pool:
        await anyio.sleep(1)
        for _ in range(2):
            await pool.list_resources("s0")
            await pool.list_prompts("s0")
        assert (keen.times("resources/list"), keen.times("prompts/list")) == (1, 2)
        await keen.end_stream()
        await anyio.sleep(0.5)
        for _ in range(2):
            await pool.list_resources("s0")
        assert keen.times("resources/list") == 3


async def test_no_list_outlives_its_connection() -> None:
    keen = server(CHANGING, resources_list=ONE)
    async with pool_over(keen) as pool:
        await pool.list_resources("s0")
        await pool.stop("s0")
        keen.table["resources/list"] = {"resources": []}
        assert await pool.list_resources("s0") == []


async def test_a_change_during_the_walk_leaves_nothing_kept() -> None:
    keen = server(CHANGING, resources_list=ONE)
    async with pool_over(keen) as pool:
        keen.table["resources/list"] = keen.mute
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.list_resources, "s0")
            await anyio.sleep(1)
            await keen.tell("notifications/resources/list_changed")
            await anyio.sleep(1)
            keen.table["resources/list"] = ONE
            request = keen.last_id
            await keen.reply(request, ONE)
        before = keen.times("resources/list")
        await pool.list_resources("s0")
        assert keen.times("resources/list") == before + 1


@pytest.mark.parametrize("modern", [False, True])
async def test_malformed_entries_go_and_are_told_once_however_often_the_list_is_asked_for(
    modern: bool,
) -> None:
    odd = server(
        modern=modern,
        resources_list={
            "resources": [
                {"uri": "docs://one"},
                {"name": "nowhere"},
                "text",
                {"uri": "docs://two", "name": 7, "size": "big", "annotations": [], "icons": 3},
            ],
            "ttlMs": "soon",
        },
        prompts_list={
            "prompts": [
                None,
                {"name": "ask", "arguments": [{"name": "who", "required": "yes"}, 4, {}]},
                {"name": "tell", "arguments": {"type": "object"}},
            ]
        },
    )
    async with pool_over(odd) as pool:
        watch = Watch(pool)
        for _ in range(2):
            await pool.list_resources("s0")
            await pool.list_prompts("s0")
        listed, prompts = await pool.list_resources("s0"), await pool.list_prompts("s0")
        await anyio.sleep(1)
    assert listed == [
        Resource(uri="docs://one", name="docs://one"),
        Resource(uri="docs://two", name="docs://two"),
    ]
    assert prompts == [
        Prompt(name="ask", arguments=(PromptArgument(name="who"),)),
        Prompt(name="tell"),
    ]
    assert [event.text for event in watch.of("log")] == [
        "resource 2 and 1 more of 4 is malformed and was left out",
        "prompt 1 of 3 is malformed and was left out",
    ]


@pytest.mark.parametrize("modern", [False, True])
async def test_what_was_sent_as_a_blob_is_bytes_and_what_was_sent_as_text_is_text(
    modern: bool,
) -> None:
    """Oddity F8."""
    held = {
        "contents": [
            {"uri": "a://1", "mimeType": "image/png", "text": "words"},
            {"uri": "a://2", "mimeType": "text/plain", "blob": "aGVsbG8="},
            {"uri": "a://3", "blob": "aGVsbG8"},
            {"uri": "a://4", "blob": "***"},
            {"uri": "a://5"},
        ]
    }
    async with pool_over(server(modern=modern, resources_read=held)) as pool:
        watch = Watch(pool)
        assert await pool.read_resource("s0", "a://") == [
            ResourceContent(uri="a://1", mime_type="image/png", text="words"),
            ResourceContent(uri="a://2", mime_type="text/plain", blob=b"hello"),
            ResourceContent(uri="a://3", blob=b"hello"),
            ResourceContent(uri="a://4"),
        ]
        assert [event.text for event in watch.of("log")] == [
            "part of a resource 5 of 5 is malformed and was left out"
        ]


@pytest.mark.parametrize("modern", [False, True])
async def test_a_prompt_keeps_roles_and_shows_each_content_as_text(modern: bool) -> None:
    held = {
        "description": "A review.",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Review this:"}},
            {
                "role": "user",
                "content": {
                    "type": "resource",
                    "resource": {"uri": "a://1", "mimeType": "text/plain", "text": "x = 1"},
                },
            },
            {"role": "assistant", "content": {"type": "image", "data": "aGk=", "mimeType": "i/p"}},
            {"role": "system", "content": ["odd", {"type": "text", "text": "but told"}]},
        ],
    }
    asked = server(modern=modern, prompts_get=held)
    async with pool_over(asked) as pool:
        prompt = await pool.get_prompt("s0", "review", {"file": "a.py"})
    assert prompt.description == "A review."
    assert prompt.messages == (
        PromptMessage(role="user", text="Review this:"),
        PromptMessage(
            role="user", kind="resource", text="x = 1", mime_type="text/plain", uri="a://1"
        ),
        PromptMessage(
            role="assistant",
            kind="image",
            text="[image i/p, 2 bytes omitted]",
            blob=b"hi",
            mime_type="i/p",
        ),
        PromptMessage(role="user", text="odd"),
        PromptMessage(role="user", text="but told"),
    )
    (params,) = [params for method, params in asked.asked if method == "prompts/get"]
    assert (params["name"], params["arguments"]) == ("review", {"file": "a.py"})


async def test_a_resource_that_is_not_there_is_told_in_the_servers_words() -> None:
    gone = {"error": {"code": -32002, "message": "Resource not found"}}
    async with pool_over(server(resources_read=gone)) as pool:
        error = await failure(pool.read_resource("s0", "docs://none"))
    assert (error.code, error.server_id) == ("tool-error", "s0")
    assert str(error) == 'server "s0" answered with an error: Resource not found (-32002)'


async def test_only_configured_servers_that_are_on_and_up_are_asked() -> None:
    fleet = AnsweringFleet(off=server())
    async with pool_over(server()) as pool:
        assert (await failure(pool.list_prompts("nobody"))).code == "unknown-server"
        await pool.sync(fleet.rows(enabled=False))
        assert (await failure(pool.list_prompts("off"))).code == "disabled"
    with pytest.raises(RuntimeError):
        await pool.list_prompts("s0")


async def test_a_server_at_rest_is_connected_to_be_asked() -> None:
    sleepy = server(resources_list=ONE)
    async with pool_over(sleepy, lazy=True) as pool:
        assert [state.status for state in pool.state()] == ["idle"]
        assert len(await pool.list_resources("s0")) == 1
        assert [state.status for state in pool.state()] == ["ready"]


async def test_a_neighbour_is_not_held_up_by_a_server_that_does_not_answer() -> None:
    mute, well = server(), server(resources_list=ONE)
    mute.table["resources/list"] = mute.mute
    async with pool_over(mute, well) as pool:
        errors: list[PoolError] = []

        async def wait() -> None:
            errors.append(await failure(pool.list_resources("s0")))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.sleep(1)
            began = anyio.current_time()
            assert len(await pool.list_resources("s1")) == 1
            assert anyio.current_time() - began < 1
        assert [error.code for error in errors] == ["timeout"]


async def test_words_about_itself_stay_known_while_a_server_rests() -> None:
    table = greeting({"resources": {}}, instructions="  Ask me first.\n")
    talker = AnsweringServer({**table, "tools/list": {"tools": []}})
    async with pool_over(talker, server({})) as pool:
        for _ in range(2):
            (said,) = pool.instructions()
            assert (said.server_id, said.label, said.text) == ("s0", "s0", "Ask me first.")
            assert pool.servers_declaring("resources") == {"s0": "s0"}
            assert pool.instructions(["s1"]) == []
            assert pool.servers_declaring("resources", []) == {}
            await pool.stop("s0")
