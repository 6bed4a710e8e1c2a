"""Hundreds of runs in one process leave nothing behind: no memory, no task, no cancel scope.

``pytest -s`` shows the figures.
"""

from __future__ import annotations

import gc
import json
import math
import random
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import anyio
import httpx2
import pytest

from host.assembly import ActiveRun, Host
from host.assembly.active_run import RunStart
from host.assembly.background import Background
from host.assembly.subscribers import tell
from host.catalogue import CALL_TOOL, LOAD_TOOLS, carry_over
from host.config import AgentSettings, EndpointChoice, HostConfig
from host.errors import RunStopped
from host.event_bus import EventBus, fold, run_metrics
from host.loop import (
    AgentLoopOptions,
    ApprovalPolicy,
    RunControl,
    RunHooks,
    TokenPrices,
    policy_approver,
)
from host.receipt import receipt
from host.records import (
    HookContext,
    HookEvent,
    HookOutcome,
    LedgerEntry,
    Message,
    PoolEvent,
    Run,
    RunEvent,
    ToolCall,
    Turn,
    TurnUsage,
)
from host.wire import Endpoints
from tests.fakes.endpoint import DONE, finish, text, usage, wire_bytes
from tests.fakes.endpoint import tool_call as call_chunk
from tests.fakes.loop_peers import (
    MemoryTool,
    MemoryToolbox,
    Request,
    ScriptedModel,
    call,
    calling,
    saying,
)
from tests.fakes.mcp_servers.echo import EchoServer, Servers
from tests.loop.instantly import BACKENDS, instantly, now
from tests.loop.runs import replays
from tests.pool.pools import memory_pool

pytestmark = pytest.mark.slow

STEPS = 20
RUNS = {"asyncio": 500, "trio": 60}
HOST_RUNS = {"asyncio": 100, "trio": 30}
"""How many runs; trio's are fewer, since they take twice as long."""


def warm(runs: int) -> int:
    """The run from which on nothing may grow."""
    return runs // 5


MAX_GROWTH_BYTES = 1024 * 1024
RETAINED_SECONDS = 2_000
"""Longer than the bus keeps any run."""


# Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is alive: traced bytes, tasks, cancel scopes (those of both libraries)."""

    memory: int
    tasks: int
    scopes: int


async def figures(bus: EventBus) -> Figures:
    """What is alive once every run is over and the bus has forgotten them all."""
    await anyio.sleep(RETAINED_SECONDS)
    assert bus.history("any") == []
    for _ in range(3):
        gc.collect()
    return Figures(
        memory=tracemalloc.get_traced_memory()[0],
        tasks=len(anyio.get_running_tasks()),
        scopes=sum(type(one).__name__ == "CancelScope" for one in gc.get_objects()),
    )


@dataclass(slots=True, kw_only=True)
class Tally:
    """What happened in all runs together."""

    reasons: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    calls: int = 0
    failed: int = 0
    events: int = 0
    folds: int = 0

    def count(self, run: Run | None) -> None:
        if run is None:
            self.reasons["cancelled"] += 1
            return
        check(run)
        self.reasons[run.stop_reason] += 1
        bill = receipt(run)
        self.requests += bill.requests
        self.calls += bill.tool_calls + bill.loads
        self.failed += bill.failed_calls

    def hear(self, event: RunEvent | PoolEvent) -> None:
        self.events += 1
        self.folds += event.kind == "notice" and "folded into" in event.text


def check(run: Run) -> None:
    """Whatever happened, the run can be handed back and its figures add up."""
    assert replays(run.messages)
    assert run.usage.prompt_tokens == sum(one.usage.prompt_tokens for one in run.requests)
    assert sum(one.purpose == "turn" for one in run.requests) <= STEPS + 1
    assert all(entry.through < len(run.messages) for entry in run.ledger)
    for before, after in pairwise(run.ledger):
        assert (before.epoch, before.through) < (after.epoch, after.through)


async def measured(
    runs: int, bus: EventBus, tally: Tally, one_run: Callable[[int], Awaitable[Run | None]]
) -> dict[int, Figures]:
    """Makes every run; returns what was alive after the warm ones, midway and at the end."""
    taken: dict[int, Figures] = {}
    for number in range(1, runs + 1):
        tally.count(await one_run(number))
        if number in (warm(runs), runs // 2, runs):
            taken[number] = await figures(bus)
    return taken


def judge(name: str, tally: Tally, taken: dict[int, Figures], *, spare_scopes: int = 0) -> None:
    """Prints the figures, and holds that nothing has grown.

    Args:
        spare_scopes: how many scopes may be alive at one time and not at another.
    """
    first, last = taken[min(taken)], taken[max(taken)]
    print(f"\n{name}: {max(taken)} runs of up to {STEPS} steps, {tally}")  # noqa: T201
    for number, seen in taken.items():
        print(  # noqa: T201
            f"  after {number}: {seen.memory / 1024:,.0f} KiB traced, {seen.tasks} tasks, "
            f"{seen.scopes} cancel scopes"
        )
    print(f"  grown by {(last.memory - first.memory) / 1024:,.1f} KiB")  # noqa: T201
    assert last.memory - first.memory < MAX_GROWTH_BYTES
    assert last.tasks == first.tasks
    assert abs(last.scopes - first.scopes) <= spare_scopes


@pytest.fixture
def traced() -> Any:
    tracemalloc.start()
    yield
    tracemalloc.stop()


# The loop by itself, every mode by turns


MODES = ["names", "eager", "proxied", "keywords", "preselect"]
NAMES = ["a__ok", "a__look", "a__slow", "b__flaky", "b__long", "c__mute", "c__forbidden", "nope"]
ODDS = [8, 4, 3, 4, 2, 0.05, 1, 1]


async def hooks(event: HookEvent, context: HookContext) -> list[HookOutcome]:
    await anyio.sleep(1)
    said = "Remember the milk." if event == "beforeTurn" else None
    ok = said is not None
    return [
        HookOutcome(
            server_id="a",
            label="A",
            hook_id="h",
            event=event,
            ok=ok,
            text=said,
            error=None if ok else "no",
            inject=ok,
        )
    ]


class LoopSoak:
    """What a host shares between runs, with peers in memory."""

    def __init__(self, chance: random.Random, group: Any) -> None:
        self.bus = EventBus(clock=anyio.current_time, now=now)
        self.tally = Tally()
        self._chance = chance
        self._group = group
        self._running: set[ActiveRun] = set()
        self._tools = self._make_tools()
        self._history: tuple[Message, ...] = ()
        self._ledger: tuple[LedgerEntry, ...] = ()
        self._loaded: Sequence[str] = ()

    def _make_tools(self) -> list[MemoryTool | str]:
        async def slow(args: dict[str, Any]) -> str:
            await anyio.sleep(self._chance.uniform(1, 30))
            return "slow"

        async def never(args: dict[str, Any]) -> str:
            await anyio.sleep_forever()
            return ""

        def flaky(args: dict[str, Any]) -> str:
            if self._chance.random() < 0.5:
                raise RuntimeError("the disk is gone")
            return "fine"

        return [
            "a__ok",
            MemoryTool(name="a__look", annotations={"readOnlyHint": True}),
            MemoryTool(name="a__slow", body=slow, parameters={"type": "object", "required": ["n"]}),
            MemoryTool(name="b__flaky", body=flaky, description="Where it is."),
            MemoryTool(name="b__long", body=lambda args: "so long\n" * 500),
            MemoryTool(name="c__mute", body=never),
            "c__forbidden",
        ]

    async def one_run(self, number: int) -> Run | None:
        control = RunControl()
        run_id = f"r{number}"
        emit = partial(self._emit, run_id)
        active = ActiveRun(run_id, self.bus, control, emit)
        start = RunStart(active, partial(self._options, control, emit), self._running)
        run = await played(start, control, self._chance, 300)
        assert not self._running
        if self._chance.random() < 0.1:
            events = self.bus.history(run_id)
            assert len(fold(events)) <= len(events)
            assert run_metrics(events).steps <= STEPS + 1
        if run is not None:
            self._carry(run)
        return run

    def _carry(self, run: Run) -> None:
        """Every fifth question or so begins a new conversation."""
        begins = self._chance.random() < 0.2 or len(run.messages) > 200
        self._history = () if begins else run.messages
        self._ledger = () if begins else run.ledger
        self._loaded = () if begins else carry_over(run.loaded, run.used)

    def _emit(self, run_id: str, **fields: Any) -> None:
        tell([self.tally.hear], self.bus.emit(run_id, **fields))

    def _options(self, control: RunControl, emit: Any) -> AgentLoopOptions:
        chance, tools = self._chance, MemoryToolbox(*self._tools)
        mode: Any = chance.choice(MODES)
        return AgentLoopOptions(
            self._model(mode),
            tools,
            [*self._history, {"role": "user", "content": "Where is it?"}],
            discovery=mode,
            loaded=self._loaded,
            parallel=chance.random() < 0.5,
            max_tool_iterations=STEPS,
            finish=chance.choice(["stop", "summarise"]),
            deadline=now().timestamp() + 900,
            now=now,
            max_cost=1e9,
            price=TokenPrices(prompt=1, completion=1),
            max_result_chars=chance.choice([None, 1000]),
            compact=True,
            context_length=8_000,
            max_continuations=1,
            hooks=RunHooks(run=hooks, context={"session": {"id": "s"}}),
            approve=policy_approver(ApprovalPolicy(deny=("c__forbidden",)), tools.catalogue()),
            on_event=emit,
            control=control,
            task_group=self._group,
            ledger=self._ledger,
        )

    def _model(self, mode: str) -> ScriptedModel:
        chance = self._chance

        async def answer(request: Request) -> Turn:
            if chance.random() < 0.1:
                await anyio.sleep(chance.uniform(0, 5))
            counted = TurnUsage(prompt_tokens=len(json.dumps(request.messages)) // 4)
            if not request.tools or chance.random() < 0.002:
                return saying("Here.", usage=counted)
            if chance.random() < 0.02:
                return Turn(usage=counted)
            calls = [self._call(mode) for _ in range(chance.randint(1, 3))]
            return calling(*calls, text=chance.choice(["", "Hm."]), reasoning="Let me see.")

        return ScriptedModel(answer)

    def _call(self, mode: str) -> ToolCall:
        chance = self._chance
        if mode != "eager" and chance.random() < 0.1:
            return call(LOAD_TOOLS, {"names": [chance.choice(NAMES), chance.choice(NAMES)]})
        (name,) = chance.choices(NAMES, ODDS)
        if chance.random() < 0.02:
            return call(name, "{bad")
        args = {"n": chance.randint(0, 10**6)}
        if mode == "proxied":
            return call(CALL_TOOL, {"name": name, "arguments": args})
        return call(name, args)


async def played(
    start: Any, control: RunControl, chance: random.Random, usual_seconds: float
) -> Run | None:
    """The run; None for one that was left early. Some are stopped, and some are watched."""
    fate, moment = chance.random(), chance.uniform(0, usual_seconds)
    try:
        with anyio.move_on_after(moment if fate < 0.05 else math.inf):
            async with start as active, anyio.create_task_group() as group:
                if chance.random() < 0.3:
                    group.start_soon(watch, active, chance.random() < 0.5)
                if 0.05 <= fate < 0.25:
                    group.start_soon(stop_later, control, moment)
                run: Run = await active.result()
                group.cancel_scope.cancel()
            return run
    except* RunStopped:
        pass
    return None


async def watch(active: ActiveRun, whole: bool) -> None:
    async with active.events() as events:
        async for _ in events:
            if not whole:
                return


async def stop_later(control: RunControl, seconds: float) -> None:
    await anyio.sleep(seconds)
    control.stop("by hand")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.usefixtures("traced")
def test_runs_of_the_loop_leave_nothing_behind(backend: str) -> None:
    async def main() -> tuple[Tally, dict[int, Figures]]:
        async with Background() as group:
            soak = LoopSoak(random.Random(4), group)
            return soak.tally, await measured(RUNS[backend], soak.bus, soak.tally, soak.one_run)

    judge(f"loop on {backend}", *instantly(main, backend))


# The whole house, with servers and an endpoint in this process


class HungryEndpoint:
    """A model behind HTTP that always asks for more tools, under the real openai client."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def http(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self._serve))

    async def _serve(self, request: httpx2.Request) -> httpx2.Response:
        chance = self._chance
        if not request.url.path.endswith("/chat/completions"):
            return httpx2.Response(404, request=request)
        if chance.random() < 0.02:
            await anyio.sleep(chance.uniform(0, 5))
        said: list[dict[str, Any] | str] = [text("Let me see."), *self._calls()]
        said += [finish("tool_calls"), usage(100, 10), DONE]
        return httpx2.Response(
            200,
            headers={"content-type": "text/event-stream"},
            content=b"".join(map(wire_bytes, said)),
            request=request,
        )

    def _calls(self) -> list[dict[str, Any]]:
        return [
            call_chunk(*self._call(), call_id=f"call_{index}", index=index)
            for index in range(self._chance.randint(1, 2))
        ]

    def _call(self) -> tuple[str, str]:
        chance = self._chance
        if chance.random() < 0.05:
            return LOAD_TOOLS, json.dumps({"names": ["one__*"]})
        args: dict[str, Any] = {"n": chance.randint(0, 10**6)}
        what = chance.random()
        if what < 0.02:
            args["sleepMs"] = chance.randint(1, 30_000)
        elif what < 0.1:
            args["fail"] = "the disk is gone"
        elif what < 0.15:
            args["error"] = "no"
        elif what < 0.2:
            args["repeat"] = 30_000
        return chance.choice(["one__echo", "one__read", "two__echo", "nope"]), json.dumps(args)


@asynccontextmanager
async def open_house(chance: random.Random, tally: Tally) -> AsyncIterator[tuple[Host, Servers]]:
    servers = Servers(one=EchoServer(), two=EchoServer())
    settings = AgentSettings(context_length=100_000, max_retries=0, max_tool_iterations=STEPS)
    choice = EndpointChoice(base_url="http://endpoint.test/v1", api_key="k", model="m", origin="t")
    async with (
        Endpoints(open_http=HungryEndpoint(chance).http) as endpoints,
        memory_pool(servers) as pool,
        Background() as group,
    ):
        pool.subscribe(tally.hear)
        config = HostConfig(source="test", agent=settings)
        bus = EventBus(clock=anyio.current_time)
        yield Host(config, pool, endpoints, bus, choice, [tally.hear], group), servers


@pytest.mark.usefixtures("traced")
async def test_runs_of_a_host_leave_nothing_behind(anyio_backend: tuple[str, Any]) -> None:
    chance, tally = random.Random(4), Tally()
    async with open_house(chance, tally) as (host, servers):

        async def one_run(number: int) -> Run | None:
            control = RunControl()
            start = host.start("Where is it?", control=control)
            run = await played(start, control, chance, 10)
            for server in servers.servers.values():
                server.calls.clear()
            return run

        taken = await measured(HOST_RUNS[anyio_backend[0]], host.events, tally, one_run)
    # What cut the last call off may still hold that call's two scopes.
    judge(f"host on {anyio_backend[0]}", tally, taken, spare_scopes=2)
