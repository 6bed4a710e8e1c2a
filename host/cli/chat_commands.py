"""The commands of a chat: ``/help``, ``/prompts``, and the servers' own prompts."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

import anyio

from host.cli.run_view import shortened
from host.cli.screen import Screen
from host.cli.slash_lines import (
    CommandRefused,
    missing_arguments,
    nearest_prompts,
    prompt_turn,
    read_arguments,
    read_command,
    shown_name,
    shown_turn,
    typed_prompt,
    usage_line,
)
from host.errors import PoolError
from host.pool import ServerPool
from host.records import Message, Prompt
from host.text.terminal_text import one_line

HELP = """\
/prompts [SERVER]             lists the prompts that servers offer
/SERVER:PROMPT KEY=VALUE …    says one of them; put quotes round what has spaces: KEY="a b"
/help                         lists this
Ctrl-C stops a turn, Ctrl-D ends the chat"""

COMMANDS = ("/help", "/prompts")

_MAX_ABOUT_CHARS = 160
_MAX_SAID_CHARS = 400

T = TypeVar("T")


class Wait(Protocol):
    """Has the fleet's loop do something, and waits for what comes of it."""

    def __call__(self, act: Callable[[], Awaitable[T]], /) -> T:
        """What the act comes to; what it raises is raised."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A prompt and where it is from; ``shown`` is how it is typed."""

    server_id: str
    shown: str
    prompt: Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The prompts of some servers, and a line for each server that could not be asked."""

    prompts: list[_Known] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class ChatCommands:
    """Carries out the commands of one chat.

    Args:
        read: asks, with a text before the cursor, for what a prompt still needs; None where
            nobody types.
    """

    def __init__(
        self, pool: ServerPool, screen: Screen, wait: Wait, read: Callable[[str], str] | None
    ) -> None:
        self._pool = pool
        self._screen = screen
        self._wait = wait
        self._read = read

    def run(self, line: str) -> list[Message]:
        """Carries out a command; the messages that are to be said, [] for none.

        Raises:
            CommandRefused: it cannot be carried out.
            PoolError: the prompt's server failed.
        """
        command = read_command(line)
        if command.prompt is not None:
            return self._say(command.name, command.prompt, command.words)
        match command.name:
            case "help":
                self._screen.write(HELP)
            case "prompts":
                self._list(" ".join(command.words))
            case name:
                near = difflib.get_close_matches(f"/{name}", COMMANDS, n=1)
                hint = f"did you mean {near[0]}?" if near else "/help lists what there is"
                raise CommandRefused(f"there is no command /{one_line(name)}; {hint}")
        return []

    def _list(self, server: str) -> None:
        slugs = self._slugs()
        chosen = _named(server, slugs) if server else slugs
        if server and not chosen:
            offered = f"these do: {', '.join(slugs.values())}" if slugs else "nor does any other"
            raise CommandRefused(f"{one_line(server)} offers no prompts; {offered}")
        found = self._prompts(chosen)
        for known in found.prompts:
            self._screen.write(usage_line(known.shown, known.prompt.arguments))
            about = known.prompt.description or known.prompt.title or ""
            if about.strip():
                self._screen.write(f"    {shortened(about, _MAX_ABOUT_CHARS)}")
        for problem in found.problems:
            self._screen.warn(one_line(problem))
        if not found.prompts and not found.problems:
            self._screen.notice("no server offers a prompt")

    def _say(self, server: str, name: str, words: Sequence[str]) -> list[Message]:
        known = self._meant(server, name)
        given = read_arguments(words, known.prompt, known.shown)
        arguments = self._completed(known, given)
        filled = self._wait(
            partial(self._pool.get_prompt, known.server_id, known.prompt.name, arguments)
        )
        said = prompt_turn(filled)
        if not said:
            raise CommandRefused(f"{known.shown} came back empty")
        for line in shown_turn(said, _MAX_SAID_CHARS):
            self._screen.notice(line)
        return said

    def _meant(self, server: str, name: str) -> _Known:
        slugs = self._slugs()
        found = self._prompts(_named(server, slugs))
        for known in found.prompts:
            if known.prompt.name == name:
                return known
        if found.problems:
            raise CommandRefused(one_line(found.problems[0]))
        others = {known.shown: known.prompt.name for known in self._prompts(slugs).prompts}
        near = nearest_prompts(name, others)
        hint = f"did you mean {' or '.join(near)}?" if near else "/prompts lists what there is"
        raise CommandRefused(f"there is no prompt {typed_prompt(server, name)}; {hint}")

    def _completed(self, known: _Known, given: Mapping[str, str]) -> dict[str, str]:
        """The arguments with what is still needed, asked for one by one."""
        missing = missing_arguments(known.prompt, given)
        whole = dict(given)
        if self._read is None:
            if missing:
                raise CommandRefused(f"{usage_line(known.shown, missing)} is the least it needs")
            return whole
        for argument in missing:
            about = shortened(argument.description or argument.title or "", _MAX_ABOUT_CHARS)
            label = shown_name(argument.name) + (f" ({about})" if about else "")
            answer = ""
            while not answer:
                answer = self._read(f"{label}: ").strip()
            whole[argument.name] = answer
        return whole

    def _slugs(self) -> dict[str, str]:
        """How the servers that have prompts are typed, by id."""
        offering = self._pool.servers_declaring("prompts")
        return {state.id: state.slug for state in self._pool.state() if state.id in offering}

    def _prompts(self, slugs: Mapping[str, str]) -> _Found:
        return self._wait(partial(_listed_prompts, self._pool, slugs))


def _named(server: str, slugs: Mapping[str, str]) -> dict[str, str]:
    """The servers that a slug or an id means, capitals or not."""
    return {
        server_id: slug
        for server_id, slug in slugs.items()
        if server.casefold() in (slug.casefold(), server_id.casefold())
    }


async def _listed_prompts(pool: ServerPool, slugs: Mapping[str, str]) -> _Found:
    """The prompts of these servers, which are asked side by side."""
    listed: dict[str, list[Prompt]] = {}
    problems: dict[str, str] = {}

    async def ask(server_id: str) -> None:
        try:
            listed[server_id] = await pool.list_prompts(server_id)
        except PoolError as error:
            problems[server_id] = str(error)

    async with anyio.create_task_group() as asking:
        for server_id in slugs:
            asking.start_soon(ask, server_id)
    return _Found(
        prompts=[
            _Known(server_id=server_id, shown=typed_prompt(slug, prompt.name), prompt=prompt)
            for server_id, slug in slugs.items()
            for prompt in listed.get(server_id, ())
        ],
        problems=[problems[server_id] for server_id in slugs if server_id in problems],
    )
