"""``agent-host ask``: one question, the answer streamed as it comes."""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Callable
from typing import TypeAlias

import anyio

from host.assembly import Host, open_host
from host.cli.eliciting import person_at_terminal
from host.cli.opening import (
    connecting_line,
    endpoint_flags,
    missing_lines,
    saved_listings,
    text_or_stdin,
)
from host.cli.run_view import RunView
from host.cli.screen import Screen, json_text
from host.config import HostConfig, resolve_model
from host.errors import ConfigError, RunError
from host.loop import PersonAsker, RunControl
from host.records import PoolEvent, Run, RunEvent, event_json

View: TypeAlias = Callable[[RunEvent | PoolEvent], None]

WHY_STOPPED = {
    "backstop": "it used all its tool iterations (agent.maxToolIterations)",
    "stuck-loop": "the model repeated the same call",
    "deadline": "its time was up (agent.deadlineSeconds)",
    "budget": "its budget was spent",
    "stopped": "it was stopped",
}


def ask(config: HostConfig, arguments: argparse.Namespace) -> int:
    """Asks and shows; 0 when the run completed, 1 for any other end (design §8)."""
    question = text_or_stdin(arguments.question)
    if not question.strip():
        raise ConfigError("QUESTION", ["is empty; say what to ask"])
    return anyio.run(_ask, config, arguments, question)


async def _ask(config: HostConfig, arguments: argparse.Namespace, question: str) -> int:
    screen = Screen(quiet=arguments.quiet)
    view: View = RunView(screen)
    if arguments.json:
        view = EventLines()
    elif arguments.quiet:
        view = _drop
    watched = WhileRead(view)
    may_ask = not (arguments.json or arguments.quiet)
    person = person_at_terminal(config.agent.approve, screen, may_ask=may_ask)
    tell = screen.notice
    endpoint = await resolve_model(config, endpoint_flags(arguments), on_notice=tell)
    try:
        opened = open_host(
            config,
            watched,
            endpoint=endpoint,
            on_notice=tell,
            **person.for_servers(),
            **saved_listings(arguments),
        )
        async with opened as host:
            await start_together(host, config, screen)
            run = await ask_once(host, question, watched.control, person.ask_person)
            if watched.is_deserted:
                raise BrokenPipeError
            if arguments.quiet:
                screen.write(run.answer)
            return report_end(run, screen)
    finally:
        screen.end_line()


async def ask_once(
    host: Host,
    question: str,
    control: RunControl | None = None,
    ask_person: PersonAsker | None = None,
) -> Run:
    """The run of a question that is a conversation of its own; its end is told to the hooks.

    Args:
        control: the run's stop button; None for none.
        ask_person: asked about calls that need a person's word; None denies them.

    Raises:
        RunFailed: an error ended it.
    """
    session_id = str(uuid.uuid4())
    try:
        run = await host.ask(
            question, session_id=session_id, control=control, ask_person=ask_person
        )
    except RunError as error:
        await host.end_session(session_id, status="error", reply=error.run.answer)
        raise
    status = "ok" if run.stop_reason == "completed" else "stopped"
    await host.end_session(session_id, status=status, reply=run.answer)
    return run


async def start_together(host: Host, config: HostConfig, screen: Screen) -> None:
    """Waits for the fleet and the model, and says what the run starts without."""
    if line := connecting_line(host.pool):
        screen.notice(line)
    await host.settle()
    for line in missing_lines(host.pool, config):
        screen.warn(line)


def report_end(run: Run, screen: Screen) -> int:
    """Says why a run stopped short, if it did; returns the exit status it means."""
    if run.stop_reason == "completed":
        return 0
    screen.fail(f"the run stopped early: {WHY_STOPPED[run.stop_reason]}")
    return 1


class WhileRead:
    """A subscriber that stops the run when nobody reads any more what a view writes of it.

    Attributes:
        control: what the run must be started with.
        is_deserted: whether that has happened.
    """

    def __init__(self, view: View) -> None:
        self.control = RunControl()
        self.is_deserted = False
        self._view = view

    def __call__(self, event: RunEvent | PoolEvent) -> None:
        """Shows one event."""
        try:
            self._view(event)
        except BrokenPipeError:
            self.is_deserted = True
            self.control.stop("nobody reads the answer any more")


class EventLines:
    """A subscriber that writes each event as a JSON line, the run's ``done`` being the last."""

    def __init__(self) -> None:
        self._done = False

    def __call__(self, event: RunEvent | PoolEvent) -> None:
        """Writes one event."""
        if self._done:
            return  # the fleet's own end is no part of the run
        self._done = event.kind == "done"
        sys.stdout.write(json_text(event_json(event)) + "\n")
        sys.stdout.flush()


def _drop(event: RunEvent | PoolEvent) -> None:
    """Shows nothing."""
