"""``agent-host demo``: the main job on the bundled servers, told as it happens.

Without an endpoint the model's turns are a recording, served by an endpoint of this process;
servers, pool, hooks and loop are live all the same. Nothing of the environment is used.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import AbstractAsyncContextManager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

import anyio

from host.assembly import Host, open_host
from host.catalogue import catalogue_list
from host.cli.ask import ask_once, report_end
from host.cli.opening import endpoint_flags
from host.cli.run_view import RunView, receipt_lines
from host.cli.screen import Screen
from host.config import AgentSettings, EndpointChoice, HostConfig, ModelFile, resolve_model
from host.errors import ConfigError, RunError
from host.pool import ServerRow, StdioServerRow
from host.receipt import receipt
from host.records import PoolEvent, Run, RunEvent

SERVER_PROGRAM = "agent-host-demo-server"
QUESTION = (
    "Load add_note and convert_unit. Save a note titled oven with the text: 180 celsius. "
    "Then convert 180 celsius to fahrenheit. Answer with the fahrenheit."
)
"""What is asked unless the caller asks something else; the recording answers it."""

MODEL_PARAMS = {
    "max_tokens": 256,
    "temperature": 0.0,
    "extra_body": {"parallel_tool_calls": False},
    "max_tool_iterations": 10,
}
"""Kept on a short rein: small models write call after call in one turn when they may."""

MEMORY = ("Oven", "The oven at home is marked in fahrenheit.")
"""The note that is there when the demo begins; the recall hook finds it."""


class RecordedRun(Protocol):
    """What is known of the run a recording was made of."""

    @property
    def model(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def date(self) -> str: ...
    @property
    def question(self) -> str: ...


class RecordedEndpoint(Protocol):
    """What the entry point ``recorded-endpoint`` opens: a model's turns as they were recorded."""

    @property
    def base_url(self) -> str: ...
    @property
    def recording(self) -> RecordedRun: ...
    @property
    def mismatch(self) -> str | None: ...


def demo(arguments: argparse.Namespace) -> int:
    """Runs the demo; 1 when the run stops early or does not follow its recording."""
    if not _is_live(arguments):
        for flag in ("model", "api_key", "question", "discovery"):
            if getattr(arguments, flag):
                name = flag.replace("_", "-")
                problem = "needs --base-url or --gguf: without one a recording plays"
                raise ConfigError(f"--{name}", [problem])
    return anyio.run(_demo, arguments)


def _is_live(arguments: argparse.Namespace) -> bool:
    return arguments.base_url is not None or arguments.gguf is not None


async def _demo(arguments: argparse.Namespace) -> int:
    screen = Screen(all_to_stdout=True)
    if not _is_live(arguments):
        async with recorded_endpoint() as recorded:
            return await _play_recording(recorded, screen)
    endpoint = await resolve_model(
        HostConfig(), endpoint_flags(arguments), on_notice=screen.notice, env={}
    )
    if isinstance(endpoint, ModelFile):
        screen.notice(f"The model is {endpoint.name} in {endpoint.path}.")
    else:
        screen.notice(f"The model is {endpoint.model} at {endpoint.shown_url}.")
    settings = AgentSettings(discovery=arguments.discovery or "names")
    return await _play(arguments.question or QUESTION, endpoint, settings, screen)


async def _play_recording(recorded: RecordedEndpoint, screen: Screen) -> int:
    made = recorded.recording
    screen.notice(
        f"The model is a recording of {made.model} on {made.engine}, {made.date}; "
        "servers, pool, catalogue, hooks and loop are live."
    )
    endpoint = EndpointChoice(
        base_url=recorded.base_url, api_key="", model=made.model, origin="the recording"
    )
    # A request that does not fit the recording will not fit it the second time either.
    settings = AgentSettings(max_retries=0)
    try:
        return await _play(made.question, endpoint, settings, screen)
    except RunError:
        if recorded.mismatch is None:
            raise
        screen.warn(f"The demo left its recording: {recorded.mismatch}")
        return 1


async def _play(
    question: str, endpoint: EndpointChoice | ModelFile, settings: AgentSettings, screen: Screen
) -> int:
    agent = settings.model_copy(update=MODEL_PARAMS)
    with tempfile.TemporaryDirectory(prefix="agent-host-demo-") as folder:
        config = HostConfig(source="the demo", rows=demo_rows(Path(folder)), agent=agent)
        opened = open_host(config, DemoView(screen), endpoint=endpoint, on_notice=screen.notice)
        async with opened as host:
            await _prepare(host, screen)
            screen.write(f"\nQuestion: {question}\n", style="bold")
            try:
                run = await ask_once(host, question)
            except RunError as error:
                write_receipt(error.run, screen)
                raise
            screen.end_line()
    if run.context:
        screen.write("\nWhat the recall hook put on the question, word for word", style="bold")
        screen.write(run.context)
    write_receipt(run, screen)
    return report_end(run, screen)


def write_receipt(run: Run, screen: Screen) -> None:
    """Writes what a run cost; one that an error ended has cost something, too."""
    screen.write("\nReceipt", style="bold")
    for line in receipt_lines(receipt(run)):
        screen.write(f"  {line}")


async def _prepare(host: Host, screen: Screen) -> None:
    """Waits for the fleet, shows its names, and leaves a note for the recall hook to find."""
    await host.settle()
    catalogue = host.pool.catalogue()
    tools = sum(len(server.tools) for server in catalogue)
    screen.write(f"\nCatalogue ({tools} tools, names only)", style="bold")
    screen.write(catalogue_list(catalogue))
    title, text = MEMORY
    await host.pool.call("notes__add_note", {"title": title, "text": text})


class DemoView(RunView):
    """A run view that also shows what the hooks do."""

    def __call__(self, event: RunEvent | PoolEvent) -> None:
        """Shows one event."""
        if isinstance(event, PoolEvent) and event.kind == "call" and event.hidden:
            self._screen.notice(f"· hook called {event.tool_name}")
        super().__call__(event)


def demo_rows(folder: Path) -> tuple[ServerRow, ...]:
    """The bundled fleet, its notes kept in a folder."""
    recall = {"id": "recall", "on": "beforeTurn", "tool": "recall", "inject": True}
    remember = {"id": "remember", "on": "afterTurn", "tool": "remember"}
    notes = {
        "id": "notes",
        "label": "Notes",
        "command": SERVER_PROGRAM,
        "args": ["notes", "--folder", str(folder)],
        "hiddenTools": ["recall", "remember"],
        "hooks": [
            {**recall, "args": {"prompt": "{{ prompt }}"}},
            {**remember, "args": {"prompt": "{{ prompt }}", "reply": "{{ reply }}"}},
        ],
    }
    plain = [
        {"id": name, "label": name.capitalize(), "command": SERVER_PROGRAM, "args": [name]}
        for name in ("clock", "units")
    ]
    return tuple(StdioServerRow.model_validate(row) for row in (plain[0], notes, plain[1]))


def recorded_endpoint() -> AbstractAsyncContextManager[RecordedEndpoint]:
    """The recorded endpoint that comes with the package, not yet opened.

    Raises:
        ConfigError: the package is not installed, so that nothing names the endpoint.
    """
    for entry in entry_points(group="agent_host.demo", name="recorded-endpoint"):
        opened: AbstractAsyncContextManager[RecordedEndpoint] = entry.load()()
        return opened
    raise ConfigError("demo", ["the package is not installed; run: pip install -e ."])
