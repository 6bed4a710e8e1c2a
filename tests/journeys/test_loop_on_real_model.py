"""The loop's ways and means with a small real model on the bundled fleet.

Structure is asserted: what is declared, called, stopped and folded. Only guided, where the host
leads, is the model held to the right tool.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.assembly import Host, open_host
from host.config import AgentSettings, EndpointChoice, HostConfig
from host.loop.stored_folds import is_summary
from host.receipt import receipt
from host.records import Message, Run
from tests.bench.discovery import fleet
from tests.journeys.model_servers import ModelServer, model_server
from tests.loop.runs import replays

pytestmark = pytest.mark.slow

ANSWER_SECONDS = 300
QUESTION = "How much is 22 percent of 1350?"


@pytest.fixture
def anyio_backend() -> str:
    """One backend: the wire's own journeys run on both."""
    return "asyncio"


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with model_server("xllamacpp", "--ctx", "8192") as running:
        yield running


@asynccontextmanager
async def house(server: ModelServer, folder: Path, **agent: Any) -> AsyncIterator[Host]:
    """The bundled fleet before the model, ready."""
    settings = {"max_tokens": 48, "temperature": 0.0, "max_tool_iterations": 3, **agent}
    config = HostConfig(
        source="the journey", rows=fleet(folder), agent=AgentSettings.model_validate(settings)
    )
    endpoint = EndpointChoice(
        base_url=server.base_url, api_key="", model=server.model, origin="the journey"
    )
    with anyio.fail_after(ANSWER_SECONDS):
        async with open_host(config, endpoint=endpoint) as host:
            await host.settle()
            yield host


def check(run: Run) -> None:
    """Whatever the model did, the run can be handed back, and its bill adds up."""
    assert replays(run.messages)
    bill = receipt(run)
    assert bill.prompt_tokens > 0
    assert bill.requests == len(run.requests) > 0
    assert bill.tool_calls + bill.loads == len(run.tool_calls)


@pytest.mark.parametrize("mode", ["names", "proxied", "keywords", "guided"])
async def test_every_way_of_discovery_ends_well(
    mode: str, server: ModelServer, tmp_path: Path
) -> None:
    async with house(server, tmp_path, discovery=mode) as host:
        run = await host.ask(QUESTION)
    check(run)
    turns = [request for request in run.requests if request.purpose == "turn"]
    if mode == "proxied":
        assert {request.tools for request in turns} == {("load_tools", "call_tool")}
    if mode == "guided":
        assert run.used == ("units__percentage",)
        assert [call.ok for call in run.tool_calls] == [True]
        assert run.stop_reason == "completed"
        assert "297" in str(run.messages[2]["content"])


async def test_calls_side_by_side_are_answered_in_the_order_asked(
    server: ModelServer, tmp_path: Path
) -> None:
    question = (
        "Call units__calculate with expression 2+2 and units__calculate with expression 3+3, "
        "both at once."
    )
    async with house(server, tmp_path, discovery="eager", parallel=True) as host:
        run = await host.ask(question)
    check(run)
    assert all(len(request.tools) == 19 for request in run.requests)


async def test_a_stop_in_mid_answer_leaves_a_transcript_that_goes_on(
    server: ModelServer, tmp_path: Path
) -> None:
    async with house(server, tmp_path, max_tokens=400) as host:
        async with host.start("Write a long poem about the sea.") as active:
            async with active.events() as events:
                async for event in events:
                    if event.kind == "output":
                        active.stop("enough")
            stopped = await active.result()
        assert stopped.stop_reason == "stopped"
        assert replays(stopped.messages)
        after = await host.ask("Say hello.", after=stopped)
    check(after)
    assert after.messages[: len(stopped.messages)] == stopped.messages


async def test_a_long_conversation_is_folded_into_a_small_window(
    server: ModelServer, tmp_path: Path
) -> None:
    said = "The garden has roses, tulips, a pond with seven fish, and an old pear tree. " * 6
    history: list[Message] = []
    for number in range(6):
        history += [
            {"role": "user", "content": f"Note {number}: {said}"},
            {"role": "assistant", "content": f"I have taken note {number}."},
        ]
    async with house(server, tmp_path, compact=True, context_length=1600) as host:
        run = await host.ask("How many fish are in the pond?", history=history)
    check(run)
    assert is_summary(run.messages[0])
    assert len(run.messages) < len(history)
    assert [request.purpose for request in run.requests][:2] == ["summary", "turn"]
