"""Lines of a chat that begin with a slash, read; and a server's prompt as messages.

A command is one word behind the slash, ``/prompts``, or a prompt's name behind its server's,
``/server:prompt``. A path such as ``/etc/hosts`` is none.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from host.cli.run_view import shortened
from host.records import Message, Prompt, PromptArgument, PromptMessage, PromptMessages
from host.text.fences import neutralise, untrusted
from host.text.terminal_text import one_line

_COMMAND = re.compile(r'/[^\s/:"]+(?::|\s|$)')
_MAX_NEAR = 3
_MAX_NAME_CHARS = 60


class CommandRefused(Exception):
    """A command cannot be carried out as it was written; the text is for the person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A line with a slash, taken apart.

    Attributes:
        name: the first word without its slash, up to a colon.
        prompt: what stands behind the colon; None without one.
        words: what follows.
    """

    name: str
    prompt: str | None = None
    words: tuple[str, ...] = ()


def is_command(line: str) -> bool:
    """Whether a line begins as a command does."""
    return _COMMAND.match(line) is not None


def read_command(line: str) -> Command:
    """A command taken apart. Double quotes keep spaces together, and nothing else is special.

    Raises:
        CommandRefused: a quote is not closed.
    """
    lexer = shlex.shlex(line[1:], posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    lexer.quotes, lexer.escape = '"', ""
    try:
        first, *words = list(lexer)
    except ValueError as error:
        raise CommandRefused("a quote is not closed") from error
    name, colon, prompt = first.partition(":")
    return Command(name=name, prompt=prompt if colon else None, words=tuple(words))


def read_arguments(words: Iterable[str], prompt: Prompt, shown: str) -> dict[str, str]:
    """The arguments in ``key=value`` words.

    Args:
        shown: how the prompt is typed.

    Raises:
        CommandRefused: a word is not of that form, or the prompt takes no such argument.
    """
    known = [argument.name for argument in prompt.arguments]
    takes = ", ".join(map(shown_name, known)) or "no arguments"
    given: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign:
            wanted = f"write KEY=VALUE. {shown} takes {takes}"
            raise CommandRefused(f"{one_line(word)} is no argument; {wanted}")
        if key not in known:
            raise CommandRefused(f"{shown} takes {takes}, not {one_line(key)}")
        given[key] = value
    return given


def missing_arguments(prompt: Prompt, given: Mapping[str, str]) -> list[PromptArgument]:
    """The arguments that the prompt cannot do without and that were not given."""
    return [one for one in prompt.arguments if one.required and one.name not in given]


def nearest_prompts(name: str, others: Mapping[str, str]) -> list[str]:
    """The prompts that may have been meant, as they are typed: of the same name first.

    Args:
        others: the names of prompts, by how each is typed.
    """
    alike = difflib.get_close_matches(name, set(others.values()), n=_MAX_NEAR)
    near = [shown for one in alike for shown, other in others.items() if other == one]
    return near[:_MAX_NEAR]


def typed_prompt(server: str, prompt: str) -> str:
    """How a prompt is typed, cleaned and cut for printing."""
    return f"/{shown_name(server)}:{shown_name(prompt)}"


def usage_line(shown: str, arguments: Iterable[PromptArgument]) -> str:
    """A prompt as it is typed, with its arguments; those that may be left out in brackets."""
    named = ((f"{shown_name(one.name)}=…", one.required) for one in arguments)
    return " ".join((shown, *(text if required else f"[{text}]" for text, required in named)))


def shown_name(name: str) -> str:
    """A name of a server's as it is typed, cleaned and cut for printing."""
    line = shortened(name, _MAX_NAME_CHARS)
    return f'"{line}"' if " " in line else line


def prompt_turn(filled: PromptMessages) -> list[Message]:
    """The messages of a prompt as a conversation has them.

    Neighbours of one role are one message, since many models take none but alternating roles;
    empty ones are left out. A resource stands in a fence as text from outside, and nothing in
    them can open or close a fence of the host's.
    """
    sent = [message for message in filled.messages if message.text.strip()]
    return [
        _message(role, "\n\n".join(_blocks(list(said))))
        for role, said in groupby(sent, key=lambda message: message.role)
    ]


def _message(role: str, text: str) -> Message:
    if role == "assistant":
        return {"role": "assistant", "content": text}
    return {"role": "user", "content": text}


def _blocks(said: Sequence[PromptMessage]) -> Iterator[str]:
    """Texts and fenced resources in turn; a tag can be spelt across two texts, so they are one."""
    for is_fenced, run in groupby(said, key=_is_resource):
        if is_fenced:
            for one in run:
                text = neutralise(one.text, "context")
                yield untrusted(text, source=one_line(one.uri or "") or None)
        else:
            text = "\n\n".join(one.text for one in run)
            yield neutralise(neutralise(text, "context"), "untrusted")


def _is_resource(message: PromptMessage) -> bool:
    return message.kind == "resource" and message.blob is None


def shown_turn(messages: Sequence[Message], max_chars: int) -> list[str]:
    """A line for each message, cleaned and cut for printing."""
    return [f"{one['role']}: {shortened(str(one['content']), max_chars)}" for one in messages]
