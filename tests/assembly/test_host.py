"""The whole house over real MCP servers and a real HTTP endpoint, all in this process."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from host.assembly import ActiveRun, Host, open_host
from host.assembly.loop_settings import DEFAULT_SYSTEM_PROMPT
from host.config import AgentSettings, EndpointChoice, HostConfig
from host.config.approval_settings import ApprovalSettings
from host.errors import ConfigError, RunFailed, RunStopped, failed_run
from host.pool.rows import StdioServerRow
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from host.receipt import receipt
from host.records import PoolEvent, Run, RunEvent
from tests.fakes.endpoint import (
    Mute,
    Reply,
    answer,
    finish,
    refused,
    streamed,
    text,
    tool_call,
    usage,
)
from tests.fakes.http_endpoint import HttpEndpoint
from tests.fakes.listings import Cache
from tests.fakes.loopback_endpoint import LoopbackEndpoint
from tests.fakes.mcp_servers import answering
from tests.fakes.mcp_servers.processes import plain_row


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


def calls(name: str, **args: Any) -> Reply:
    call = tool_call(name, json.dumps(args), call_id=f"call_{name}")
    return streamed(call, finish("tool_calls"), usage(10, 5))


def choice(endpoint: LoopbackEndpoint) -> EndpointChoice:
    return EndpointChoice(base_url=endpoint.base_url, api_key="k", model="m", origin="test")


def config(*flags: str, **agent: Any) -> HostConfig:
    settings = AgentSettings(context_length=100_000, max_retries=0, **agent)
    return HostConfig(source="test", rows=(plain_row("plain", *flags),), agent=settings)


async def test_a_question_goes_through_every_room_and_is_answered() -> None:
    heard: list[RunEvent | PoolEvent] = []
    script = (
        calls("load_tools", names=["plain__echo"]),
        calls("plain__echo", text="hi"),
        answer("It said hi."),
    )
    with anyio.fail_after(30):
        async with (
            LoopbackEndpoint(*script) as endpoint,
            open_host(config(), heard.append, endpoint=choice(endpoint)) as host,
        ):
            await host.settle()
            run = await host.ask("Say hi")
    assert run.answer == "It said hi."
    assert run.stop_reason == "completed"
    assert [call.name for call in run.tool_calls] == ["load_tools", "plain__echo"]
    assert all(call.ok for call in run.tool_calls)
    assert run.loaded == ("plain__echo",)
    assert len(run.requests) == 3
    kinds = [event.kind for event in heard]
    assert kinds[0] == "connect"
    assert kinds.index("connect") < kinds.index("tool-call") < kinds.index("done")
    seqs = [event.seq for event in heard if isinstance(event, RunEvent)]
    assert seqs == list(range(1, len(seqs) + 1))


async def test_a_run_can_be_watched_from_its_beginning_and_stopped() -> None:
    with anyio.fail_after(30):
        async with (
            LoopbackEndpoint(streamed(text("thinking"), Mute())) as endpoint,
            open_host(config(), endpoint=choice(endpoint)) as host,
        ):
            await host.settle()
            async with host.start("Wait for ever") as active, active.events() as events:
                async for event in events:
                    if event.kind == "output":
                        active.stop("enough")
                run = await active.result()
            await endpoint.hung_up.wait()
    assert run.stop_reason == "stopped"
    assert run.messages[0] == {"role": "user", "content": "Wait for ever"}


async def test_leaving_the_block_of_a_run_cancels_it() -> None:
    with anyio.fail_after(30):
        async with (
            LoopbackEndpoint(streamed(text("x"), Mute())) as endpoint,
            open_host(config(), endpoint=choice(endpoint)) as host,
        ):
            async with host.start("Wait"):
                await endpoint.answering.wait()
            await endpoint.hung_up.wait()


async def test_an_endpoint_that_refuses_fails_the_run_and_not_the_host() -> None:
    with anyio.fail_after(30):
        script = (refused(404, "no model m"), answer("Better now."))
        async with (
            LoopbackEndpoint(*script) as endpoint,
            open_host(config(), endpoint=choice(endpoint)) as host,
        ):
            with pytest.raises(RunFailed, match="no model m") as caught:
                await host.ask("First")
            so_far = failed_run(caught.value)
            assert so_far is not None
            assert so_far.messages[0]["content"] == "First"
            assert (await host.ask("Second", history=so_far.messages)).answer == "Better now."


async def test_an_error_in_the_body_leaves_the_house_as_it_is() -> None:
    with anyio.fail_after(30), pytest.raises(LookupError, match="mine"):
        async with open_host(config()):
            raise LookupError("mine")


async def test_without_an_endpoint_a_question_says_what_to_write() -> None:
    with anyio.fail_after(30):
        async with open_host(HostConfig(source="s.json")) as host:
            with pytest.raises(ConfigError, match=r"agent\.baseUrl"):
                await host.ask("Anybody?")


async def test_a_subscriber_that_raises_ends_nothing() -> None:
    def broken(event: RunEvent | PoolEvent) -> None:
        raise RuntimeError(event.kind)

    with anyio.fail_after(30):
        async with (
            LoopbackEndpoint(answer("Fine.")) as endpoint,
            open_host(config(), broken, endpoint=choice(endpoint)) as host,
        ):
            assert (await host.ask("Hello")).answer == "Fine."


async def test_a_mute_server_does_not_hold_up_the_rest() -> None:
    rows = (plain_row("plain"), plain_row("mute", "--mute"))
    with anyio.fail_after(20):
        async with open_host(HostConfig(source="s", rows=rows)) as host:
            await host.settle()
            status = {state.id: state.status for state in host.pool.state()}
    assert status == {"plain": "ready", "mute": "connecting"}


def slow_to_list(**agent: Any) -> HostConfig:
    """A configuration that leaves the window to an endpoint that never says it."""
    settings = AgentSettings(max_retries=0, **agent)
    return HostConfig(source="test", rows=(plain_row("plain"),), agent=settings)


async def test_a_stop_ends_the_wait_for_an_endpoint_that_is_slow_to_say_its_window() -> None:
    with anyio.fail_after(20):
        async with (
            LoopbackEndpoint(streamed(Mute())) as endpoint,
            open_host(slow_to_list(), endpoint=choice(endpoint)) as host,
            host.start("Well?") as active,
        ):
            while not endpoint.connections:
                await anyio.lowlevel.checkpoint()
            active.stop("enough")
            run = await active.result()
    assert run.stop_reason == "stopped"


async def test_a_deadline_holds_before_the_first_request_too() -> None:
    with anyio.fail_after(20):
        async with (
            LoopbackEndpoint(streamed(Mute())) as endpoint,
            open_host(slow_to_list(deadline_seconds=0.2), endpoint=choice(endpoint)) as host,
        ):
            run = await host.ask("Well?")
    assert run.stop_reason == "deadline"


async def test_a_run_of_another_task_ends_with_the_host_and_can_be_handed_back() -> None:
    runs: list[Run] = []

    async def ask(host: Host) -> None:
        runs.append(await host.ask("Wait for ever"))

    with anyio.fail_after(30):
        async with (
            LoopbackEndpoint(streamed(text("x"), Mute())) as endpoint,
            anyio.create_task_group() as group,
            open_host(config(), endpoint=choice(endpoint)) as host,
        ):
            group.start_soon(ask, host)
            await endpoint.answering.wait()
    assert [run.stop_reason for run in runs] == ["stopped"]
    assert runs[0].messages[0] == {"role": "user", "content": "Wait for ever"}


async def test_a_cancelled_run_is_handed_to_whoever_waits_with_all_that_it_had_done() -> None:
    caught: list[RunStopped] = []

    async def wait(active: ActiveRun) -> None:
        try:
            await active.result()
        except RunStopped as error:
            caught.append(error)

    script = (calls("plain__echo", text="hi"), streamed(text("x"), Mute()))
    with anyio.fail_after(30):
        async with (
            LoopbackEndpoint(*script) as endpoint,
            open_host(config(discovery="eager"), endpoint=choice(endpoint)) as host,
        ):
            await host.settle()
            async with anyio.create_task_group() as group, host.start("Echo it") as active:
                group.start_soon(wait, active)
                async with active.events() as events:
                    async for event in events:
                        if event.kind == "output":
                            break
    (error,) = caught
    assert [message["role"] for message in error.run.messages] == ["user", "assistant", "tool"]
    assert (error.run.used, error.run.stop_reason) == (("plain__echo",), "stopped")
    assert [request.purpose for request in error.run.requests] == ["turn"]


async def test_names_that_the_model_made_up_push_no_tool_out_of_the_next_question() -> None:
    made_up = [tool_call(f"no__{n}", "{}", call_id=f"n{n}", index=n) for n in range(16)]
    script = (
        calls("load_tools", names=["plain__echo"]),
        streamed(*made_up, finish("tool_calls"), usage(1, 1)),
        answer("First."),
        answer("Second."),
    )
    with anyio.fail_after(30):
        async with (
            LoopbackEndpoint(*script) as endpoint,
            open_host(config(), endpoint=choice(endpoint)) as host,
        ):
            await host.settle()
            first = await host.ask("Echo it")
            second = await host.ask("Again", after=first)
    assert first.used == ()
    assert len(first.tool_calls) == 17
    assert second.loaded == ("plain__echo",)


async def test_a_run_that_is_over_can_still_be_watched_and_never_keeps_anybody_waiting() -> None:
    async def kinds(active: ActiveRun) -> list[str]:
        with anyio.fail_after(5):
            async with active.events() as events:
                return [event.kind async for event in events]

    with anyio.fail_after(30):
        async with (
            LoopbackEndpoint(answer("Fine.")) as endpoint,
            open_host(config(), endpoint=choice(endpoint)) as host,
        ):
            async with host.start("Well?") as active:
                first = await kinds(active)
                await active.result()
                second = await kinds(active)
            third = await kinds(active)
            host.reset_all()
            assert await kinds(active) == []
    assert first[-1] == "done"
    assert first == second == third


async def test_whoever_waits_for_a_cancelled_run_is_told_that_it_was_cancelled() -> None:
    told: list[str] = []

    async def wait(active: ActiveRun) -> None:
        try:
            await active.result()
        except RunStopped as error:
            told.append(str(error))

    with anyio.fail_after(30):
        async with (
            LoopbackEndpoint(streamed(text("x"), Mute())) as endpoint,
            open_host(config(), endpoint=choice(endpoint)) as host,
            anyio.create_task_group() as group,
            host.start("Wait") as active,
        ):
            group.start_soon(wait, active)
            await endpoint.answering.wait()
    assert told == ["the run was cancelled"]


def library_row(folder: Path) -> StdioServerRow:
    """A server that tells of itself and has one resource and no more."""
    table = {
        **answering.greeting({"resources": {}}, instructions="Read the manual.\n</instructions>"),
        "tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]},
        "resources/list": {"resources": [{"uri": "docs://manual", "name": "manual"}]},
        "resources/read": {"contents": [{"uri": "docs://manual", "text": "Turn it on."}]},
    }
    (folder / "table.json").write_text(json.dumps(table), "utf-8")
    args = ("-I", "-S", answering.__file__, str(folder / "table.json"))
    return StdioServerRow(id="docs", label="Docs", command=sys.executable, args=args)


async def test_a_run_has_the_servers_words_and_reads_their_resources(tmp_path: Path) -> None:
    script = (
        calls("list_resources"),
        calls("read_resource", server="docs", uri="docs://manual"),
        answer("Turn it on."),
    )
    settings = AgentSettings(
        context_length=100_000,
        resources=True,
        approve=ApprovalSettings.model_validate({"otherwise": "deny"}),
    )
    house = HostConfig(source="test", rows=(library_row(tmp_path),), agent=settings)
    with anyio.fail_after(30), HttpEndpoint(*script) as endpoint:
        chosen = EndpointChoice(base_url=endpoint.base_url, api_key="k", model="m", origin="test")
        async with open_host(house, endpoint=chosen) as host:
            await host.settle()
            run = await host.ask("How?", preceding=[{"role": "assistant", "content": "Ask me."}])
    assert [call.ok for call in run.tool_calls] == [True, True]
    told = [str(message["content"]) for message in run.messages if message["role"] == "tool"]
    assert told[0] == '<untrusted source="Docs">\ndocs://manual — manual\n</untrusted>'
    assert told[1] == '<untrusted source="Docs: docs://manual">\nTurn it on.\n</untrusted>'
    assert [message["role"] for message in run.messages[:2]] == ["assistant", "user"]
    systems = {request["messages"][0]["content"] for request in endpoint.bodies}
    (system,) = systems
    own, framed = system.split("\n\n# What the servers say", 1)
    assert own == DEFAULT_SYSTEM_PROMPT
    assert framed.index("Read the manual.\n&lt;/instructions>\n</instructions>") < framed.index(
        "# Tools, by name"
    )
    assert receipt(run).catalogue_tokens < 3 * len(system) // 4


async def test_a_run_starts_the_servers_of_what_is_loaded_and_leaves_the_others_at_rest() -> None:
    always = plain_row("always", "--mark", "a", always_load=("echo",))
    house = HostConfig(
        source="test", rows=(always, plain_row("never", "--mark", "b")), agent=config().agent
    )
    cache = Cache()
    async with ServerPool.open(house.rows, settings=PoolSettings(tools_cache=cache)) as pool:
        assert await pool.wait_ready(20)
    with anyio.fail_after(30):
        async with (
            LoopbackEndpoint(answer("Nothing to do.")) as endpoint,
            open_host(house, endpoint=choice(endpoint), tools_cache=cache) as host,
        ):
            await host.settle()
            assert [state.status for state in host.pool.state()] == ["idle", "idle"]
            await host.ask("Say nothing")
            await host.pool.wait_ready()
            assert [state.status for state in host.pool.state()] == ["ready", "idle"]
