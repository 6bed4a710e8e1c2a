"""Servers written into the text of a servers file, with every other character of it kept.

Comments, order and spelling of what is there are a person's own, so nothing is written anew: new
members go before the brace that ends their object, in the file's own indentation. Only blanks
before that brace may give way to a line break.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from host.errors import ConfigError
from host.pool.foreign_keys import FOREIGN_KEYS
from host.pool.relaxed_json import (
    JsonSyntaxError,
    Token,
    meaningful_tokens,
    parse_relaxed_json,
)
from host.pool.row_import import CONTAINERS, server_bodies

_INDENT = "  "
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIRST_INDENT = re.compile(r"\n([ \t]+)\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServersText:
    """A servers file's text with what it says.

    Attributes:
        path: the keys that lead to the object with the servers.
        bodies: what stands in it.
    """

    source: str
    text: str = field(repr=False)
    path: tuple[str, ...]
    bodies: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, text: str, source: str) -> ServersText:
        """A servers file's text; one without anything is an empty file.

        Raises:
            ConfigError: it is no JSON, or has no place for servers.
        """
        text = text if text.strip("\ufeff \t\r\n") else '{\n  "mcpServers": {}\n}\n'
        written = _parsed(text, source)
        if not isinstance(written, Mapping):
            raise ConfigError(source, ['must be an object: {"mcpServers": {…}}'])
        rest = {key: value for key, value in written.items() if key != "agent"}
        if not set(rest) - FOREIGN_KEYS:
            return cls(source=source, text=text, path=("mcpServers",), bodies={})
        bodies = server_bodies(rest, source=source)
        return cls(source=source, text=text, path=_servers_path(rest, bodies), bodies=bodies)

    def with_servers(self, servers: Mapping[str, Any]) -> str:
        """The text with these servers after those that are there.

        Raises:
            ConfigError: an id is taken, or the text cannot be written into.
        """
        if not servers:
            return self.text
        if taken := set(servers) & set(self.bodies):
            raise ConfigError(self.source, [f'"{min(taken)}" is there already'])
        new = _inserted(self.text, self.path, servers)
        read = ServersText.read(new, self.source)
        if read.bodies != {**self.bodies, **servers}:
            raise ConfigError(self.source, ["cannot be added to; write the servers in by hand"])
        return new


def _parsed(text: str, source: str) -> Any:
    twice: list[str] = []
    try:
        written = parse_relaxed_json(text, on_duplicate=twice.append)
    except JsonSyntaxError as error:
        raise ConfigError(source, [str(error)]) from error
    if twice:
        problems = [f'"{key}" stands twice in one object; rename or remove one' for key in twice]
        raise ConfigError(source, problems)
    return written


def _servers_path(written: Mapping[str, Any], bodies: Mapping[str, Any]) -> tuple[str, ...]:
    """Where ``server_bodies`` has found the bodies."""
    container = next((key for key in CONTAINERS if key in written), None)
    if container is None:
        return ()
    is_direct = written[container].keys() == bodies.keys()
    return (container,) if is_direct else (container, "servers")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Object:
    """An object in a text: its braces, and the last token before the closing one."""

    opening: Token
    last: Token
    closing: Token


def _inserted(text: str, path: tuple[str, ...], members: Mapping[str, Any]) -> str:
    """The text with the members at the end of the object that the path leads to."""
    objects = _objects(text)
    while path not in objects:
        members, path = {path[-1]: members}, path[:-1]
    found = objects[path]
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = newline + _indent_of(text, found.opening.start)
    lines = json_text(members, indent=_unit(text)).split("\n")[1:-1]
    has_comma = found.last.piece == ","
    needs_comma = not has_comma and found.last is not found.opening
    end = len(text[: found.closing.start].rstrip())
    before_brace = text[end : found.closing.start]
    return "".join(
        (
            text[: found.last.end],
            "," if needs_comma else "",
            text[found.last.end : end],
            *(indent + line for line in lines),
            "," if has_comma else "",
            before_brace if "\n" in before_brace else indent,
            text[found.closing.start :],
        )
    )


def json_text(value: object, *, indent: str = _INDENT) -> str:
    """The value as JSON for people; with escapes only where UTF-8 has no place for a character."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return text if _SURROGATE.search(text) is None else json.dumps(value, indent=indent)


def _objects(text: str) -> dict[tuple[str, ...], _Object]:
    """Every object that keys alone lead to, by those keys."""
    found: dict[tuple[str, ...], _Object] = {}
    open_ones: list[tuple[tuple[str, ...] | None, Token]] = []
    key = ""
    last: Token | None = None
    for token in meaningful_tokens(text):
        if token.piece in ("{", "["):
            path = _path_below(open_ones, key)
            open_ones.append((path if token.piece == "{" else None, token))
        elif token.piece in ("}", "]"):
            path, opening = open_ones.pop()
            if path is not None and last is not None:
                found[path] = _Object(opening=opening, last=last, closing=token)
        elif token.piece == ":" and last is not None:
            key = json.loads(last.piece)
        last = token
    return found


def _path_below(
    open_ones: list[tuple[tuple[str, ...] | None, Token]], key: str
) -> tuple[str, ...] | None:
    """The path of what opens now; None inside a list."""
    if not open_ones:
        return ()
    above = open_ones[-1][0]
    return None if above is None else (*above, key)


def _indent_of(text: str, position: int) -> str:
    """The blanks with which the line of a position begins."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    indented = _FIRST_INDENT.search(text)
    return indented[1] if indented else _INDENT
