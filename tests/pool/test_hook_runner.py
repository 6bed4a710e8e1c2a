"""Hooks run together, are bounded, and never raise."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from host.pool.hook_runner import run_hooks
from host.pool.rows import HttpServerRow
from host.pool.server_pool import ServerPool
from host.records import HookContext, HookEvent, HookOutcome
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.pools import memory_pool, quiet_settings, virtual_now

CONTEXT: HookContext = {"session": {"id": "s1"}, "prompt": "hello", "turn": {"index": 2}}


def hook(identifier: str = "h", **fields: Any) -> dict[str, Any]:
    return {"id": identifier, "on": "beforeTurn", "tool": "echo", **fields}


def row(*hooks: dict[str, Any], identifier: str = "fs", **fields: Any) -> HttpServerRow:
    return memory_row(identifier, hooks=list(hooks), **fields)


async def run(
    *rows: HttpServerRow,
    event: HookEvent = "beforeTurn",
    servers: list[str] | None = None,
    notices: list[str] | None = None,
) -> list[HookOutcome]:
    fleet = Servers(**{each.id: EchoServer() for each in rows})
    async with memory_pool(fleet, rows) as pool:
        return await pool.run_hooks(
            event, CONTEXT, servers=servers, on_notice=None if notices is None else notices.append
        )


async def test_a_hook_calls_its_tool_with_its_arguments_filled() -> None:
    (outcome,) = await run(
        row(hook(args={"q": "{{ prompt }}", "n": "{{ turn.index }}"}, inject=True))
    )
    assert (outcome.ok, outcome.inject, outcome.hook_id) == (True, True, "h")
    assert outcome.text == 'echo({"q":"hello","n":2})'


async def test_the_time_is_filled_in_where_it_is_absent() -> None:
    (outcome,) = await run(row(hook(args={"at": "{{ now }}"})))
    assert "T" in str(outcome.text)


async def test_hooks_start_together_and_come_back_in_configuration_order() -> None:
    rows = [
        row(hook("slow", args={"sleepMs": 2000}), hook("quick")),
        row(hook("other", args={"sleepMs": 2000}), identifier="web"),
    ]
    fleet = Servers(fs=EchoServer(), web=EchoServer())
    async with memory_pool(fleet, rows) as pool:
        began = anyio.current_time()
        outcomes = await pool.run_hooks("beforeTurn", CONTEXT)
        assert anyio.current_time() - began < 3
        assert [outcome.hook_id for outcome in outcomes] == ["slow", "quick", "other"]
        assert all(outcome.ok for outcome in outcomes)


async def test_only_enabled_hooks_of_the_event_in_scope_run() -> None:
    rows = [
        row(hook("off", enabled=False), hook("end", on="sessionEnd"), hook("on")),
        row(hook("far"), identifier="web"),
        row(hook("dead"), identifier="mail", enabled=False),
    ]
    assert [outcome.hook_id for outcome in await run(*rows)] == ["on", "far"]
    assert [outcome.hook_id for outcome in await run(*rows, servers=["fs"])] == ["on"]
    assert await run(*rows, servers=[]) == []


async def test_a_placeholder_without_a_value_skips_its_hook() -> None:
    notices: list[str] = []
    (outcome,) = await run(row(hook(args={"x": "{{ reply }}"}), label="Files"), notices=notices)
    assert (outcome.ok, outcome.skipped) == (False, True)
    assert notices == ['Files: hook "h" (beforeTurn) was skipped: nothing to fill {{ reply }} with']


async def test_a_failing_hook_is_an_outcome_and_a_notice() -> None:
    notices: list[str] = []
    (outcome,) = await run(row(hook(args={"fail": "no luck"})), notices=notices)
    assert (outcome.ok, outcome.error, outcome.skipped) == (False, "no luck", False)
    assert notices == ['fs: hook "h" (beforeTurn) failed: no luck']


async def test_a_hook_of_an_unknown_tool_fails() -> None:
    (outcome,) = await run(row(hook(tool="nothing")))
    assert outcome.error == 'there is no tool "fs__nothing"'


async def test_a_hidden_tool_serves_hooks() -> None:
    (outcome,) = await run(row(hook(), hidden_tools=["echo"]))
    assert outcome.ok


async def test_a_hook_calls_only_its_own_server() -> None:
    rows = [row(hook("mine"), identifier="b", slug="same"), row(identifier="a", slug="same")]
    (outcome,) = await run(*rows)
    assert not outcome.ok


@pytest.mark.parametrize(
    ("fields", "event", "seconds"),
    [
        ({}, "beforeTurn", 3),
        ({"timeoutMs": 500}, "beforeTurn", 0.5),
        ({"veto": True}, "beforeCompact", 3),
        ({"timeoutMs": 8000}, "afterTurn", 8),
    ],
)
async def test_a_hook_is_given_its_time_and_no_more(
    fields: dict[str, Any], event: HookEvent, seconds: float
) -> None:
    fleet = Servers(fs=EchoServer())
    slow = row(hook(on=event, args={"sleepMs": 50_000}, **fields))
    async with memory_pool(fleet, [slow]) as pool:
        began = anyio.current_time()
        (outcome,) = await pool.run_hooks(event, CONTEXT)
        assert seconds <= anyio.current_time() - began < seconds + 0.5
        assert not outcome.ok
        assert f"within {seconds:g} s" in str(outcome.error)


async def test_the_time_of_a_hook_includes_waking_its_server() -> None:
    fleet = Servers(fs=EchoServer())
    fleet.servers["fs"].hold_lists = anyio.Event()
    async with memory_pool(fleet, [row(hook())], lazy=True) as pool:
        began = anyio.current_time()
        (outcome,) = await pool.run_hooks("beforeTurn", CONTEXT)
        assert anyio.current_time() - began < 3.5
        assert (outcome.ok, outcome.skipped) == (False, False)
        assert outcome.error == "its server was not connected within 3 s"
        assert state_of(pool, "fs").status == "connecting"


@pytest.mark.parametrize("event", ["sessionStart", "beforeTurn"])
async def test_a_hook_waits_for_its_server_to_come_up(event: HookEvent) -> None:
    fleet = Servers(slow=EchoServer(), quick=EchoServer())
    slow = fleet.servers["slow"]
    slow.hold_lists = anyio.Event()
    rows = [row(hook(on=event), identifier="slow"), row(hook(on=event), identifier="quick")]
    async with ServerPool.open(rows, settings=quiet_settings(fleet)) as pool:

        async def come_up() -> None:
            await anyio.sleep(2)
            assert slow.hold_lists is not None
            slow.hold_lists.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(come_up)
            outcomes = await pool.run_hooks(event, CONTEXT)
        assert [(outcome.server_id, outcome.ok) for outcome in outcomes] == [
            ("slow", True),
            ("quick", True),
        ]
        assert outcomes[0].seconds >= 2 > outcomes[1].seconds


async def test_a_hook_wakes_a_server_at_rest_and_one_that_is_due() -> None:
    fleet = Servers(rest=EchoServer(), crashed=EchoServer())
    rows = [row(hook(), identifier="rest"), row(hook(), identifier="crashed")]
    async with memory_pool(fleet, rows) as pool:
        watch = Watch(pool)
        await pool.stop("rest")
        fleet.opened["crashed"][-1].crash()
        await watch.until(lambda: "close crash" in watch.kinds("crashed"))
        outcomes = await pool.run_hooks("beforeTurn", CONTEXT)
        assert [outcome.ok for outcome in outcomes] == [True, True]


async def test_a_server_that_fails_meanwhile_ends_the_wait_at_once_with_its_reason() -> None:
    class Failing(EchoServer):
        async def _list(self, *args: Any) -> Any:
            await anyio.sleep(1)
            raise ValueError("no licence")

    notices: list[str] = []
    fleet = Servers(fs=Failing())
    slow = row(hook(on="sessionStart", timeoutMs=60_000), label="Files")
    async with ServerPool.open([slow], settings=quiet_settings(fleet)) as pool:
        began = anyio.current_time()
        (outcome,) = await pool.run_hooks("sessionStart", CONTEXT, on_notice=notices.append)
        assert anyio.current_time() - began < 2
        why = state_of(pool, "fs").error
        assert outcome.error == f'server "Files" is not connected: {why}'
        assert notices == [f'Files: hook "h" (sessionStart) failed: {outcome.error}']
        (again,) = await pool.run_hooks("sessionStart", CONTEXT)
        assert not again.ok


async def test_a_server_that_may_not_be_dialled_yet_fails_its_hook_at_once() -> None:
    fleet = Servers(fs=EchoServer())
    fleet.refused["fs"] = OSError("down")
    async with memory_pool(fleet, [row(hook())], crash_backoff_seconds=50) as pool:
        began = anyio.current_time()
        (outcome,) = await pool.run_hooks("beforeTurn", CONTEXT)
        assert anyio.current_time() - began < 0.5
        assert outcome.error == 'server "fs" is not connected: failed: down (OSError)'
        assert fleet.dials("fs") == 1


async def test_a_row_replaced_while_its_hook_waits_is_waited_for_in_its_new_shape() -> None:
    fleet = Servers(fs=EchoServer(), other=EchoServer())
    fleet.servers["fs"].hold_lists = anyio.Event()
    async with ServerPool.open([row(hook())], settings=quiet_settings(fleet)) as pool:

        async def edit() -> None:
            await anyio.sleep(1)
            pool.start([memory_row("fs", "other", hooks=[hook()])])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(edit)
            (outcome,) = await pool.run_hooks("beforeTurn", CONTEXT)
        assert outcome.ok


async def test_a_row_removed_while_its_hook_waits_fails_it_at_once() -> None:
    fleet = Servers(fs=EchoServer())
    fleet.servers["fs"].hold_lists = anyio.Event()
    async with ServerPool.open([row(hook())], settings=quiet_settings(fleet)) as pool:

        async def remove() -> None:
            await anyio.sleep(1)
            pool.start([])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(remove)
            (outcome,) = await pool.run_hooks("beforeTurn", CONTEXT)
        assert outcome.error == 'no server "fs" is configured'


async def test_an_empty_answer_is_well_and_has_no_text() -> None:
    (outcome,) = await run(row(hook(args={"empty": True})))
    assert (outcome.ok, outcome.text) == (True, None)


@pytest.mark.parametrize(
    ("answer", "veto", "text"),
    [
        ({"veto": True, "reason": "not now"}, True, "not now"),
        ({"veto": True, "reason": " "}, True, None),
        ({"veto": True, "reason": 5}, True, None),
        ({"veto": 1}, False, '{"veto":1}'),
        ({"veto": False, "reason": "x"}, False, '{"veto":false,"reason":"x"}'),
        ([True], False, "[true]"),
        ("no", False, '"no"'),
    ],
)
async def test_only_an_object_that_says_veto_true_vetoes(
    answer: object, veto: bool, text: str | None
) -> None:
    args = {"empty": True, "structured": answer}
    (outcome,) = await run(
        row(hook(on="beforeCompact", veto=True, args=args)), event="beforeCompact"
    )
    assert (outcome.ok, outcome.veto, outcome.text) == (True, veto, text)


async def test_an_answer_that_is_no_json_does_not_veto() -> None:
    (outcome,) = await run(row(hook(on="beforeCompact", veto=True)), event="beforeCompact")
    assert (outcome.ok, outcome.veto, outcome.text) == (True, False, "echo({})")


async def test_an_error_of_an_unknown_kind_is_contained(caplog: pytest.LogCaptureFixture) -> None:
    async def call(
        server_id: str, name: str, arguments: dict[str, Any], seconds: float | None
    ) -> str:
        raise ZeroDivisionError(server_id)

    async def ready(server_id: str) -> None:
        assert server_id == "fs"

    (outcome,) = await run_hooks(
        [row(hook())], "beforeTurn", CONTEXT, call, ready=ready, now=virtual_now
    )
    assert (outcome.ok, outcome.error) == (False, "ZeroDivisionError: fs")
    assert "a hook failed in an unknown way" in caplog.text


async def test_what_a_hook_fails_with_is_told_without_its_secret() -> None:
    async def call(
        server_id: str, name: str, arguments: dict[str, Any], seconds: float | None
    ) -> str:
        raise ZeroDivisionError(arguments["token"])

    async def ready(server_id: str) -> None:
        assert server_id == "fs"

    notices: list[str] = []
    rows = [row(hook(args={"token": "s3same-0pen"}))]
    (outcome,) = await run_hooks(
        rows, "beforeTurn", CONTEXT, call, ready=ready, now=virtual_now, on_notice=notices.append
    )
    assert outcome.error == "ZeroDivisionError: ***"
    assert "s3same-0pen" not in "".join(notices)


async def test_a_failure_never_vetoes() -> None:
    args = {"fail": '{"veto": true}'}
    (outcome,) = await run(
        row(hook(on="beforeCompact", veto=True, args=args)), event="beforeCompact"
    )
    assert (outcome.ok, outcome.veto) == (False, False)


@pytest.mark.parametrize(("event", "flag"), [("afterTurn", "inject"), ("beforeTurn", "veto")])
async def test_a_flag_the_event_does_not_offer_has_no_effect(event: HookEvent, flag: str) -> None:
    fields: dict[str, Any] = {flag: True, "args": {"structured": {"veto": True}, "empty": True}}
    (outcome,) = await run(row(hook(on=event, **fields)), event=event)
    assert outcome.ok
    assert not getattr(outcome, flag)


async def test_a_notice_callback_that_raises_is_contained(caplog: pytest.LogCaptureFixture) -> None:
    def raising(_text: str) -> None:
        raise RuntimeError("watcher")

    async with memory_pool(Servers(fs=EchoServer()), [row(hook(tool="no"))]) as pool:
        (outcome,) = await pool.run_hooks("beforeTurn", CONTEXT, on_notice=raising)
        assert not outcome.ok
    assert "a notice callback raised" in caplog.text


async def test_a_cancellation_ends_all_hooks_and_passes_through() -> None:
    fs = EchoServer()
    async with memory_pool(Servers(fs=fs), [row(hook(args={"sleepMs": 50_000}))]) as pool:
        with anyio.move_on_after(1) as scope:
            await pool.run_hooks("beforeTurn", CONTEXT)
        assert scope.cancelled_caught
        await fs.cancelled.wait()
