"""Servers of other clients beside those of a servers file: which come in, and under what id.

What is there stays as it is. A server that is there already, under whatever id, is left out; one
whose id is taken gets a suffix. So importing the same again adds nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from host.config.import_bodies import ImportedServer
from host.errors import ConfigError
from host.pool.foreign_keys import split_foreign_keys
from host.pool.naming import legal_name
from host.pool.row_import import row_from_body
from host.pool.row_validation import parse_server_row
from host.pool.rows import StdioServerRow
from host.pool.variables import one_spelling


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What becomes of one server.

    Attributes:
        id: its key in the servers file; None when it does not come in.
        body: what stands there; {} when it does not come in.
        same_as: the id of the server that it already is.
    """

    server: ImportedServer
    id: str | None
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    same_as: str | None = None


def merge(existing: Mapping[str, Any], incoming: Iterable[ImportedServer]) -> list[Outcome]:
    """What becomes of each server, in order.

    Args:
        existing: the bodies in the servers file by their ids; they may be anything.
    """
    connections = {server_id: _connection(server_id, body) for server_id, body in existing.items()}
    slugs = {_slug(server_id, body) for server_id, body in existing.items()}
    outcomes = []
    for server in incoming:
        own = _connection(server.id, server.body)
        alike = [own]
        if server.folder_is_implied:
            unfolded = {key: value for key, value in server.body.items() if key != "cwd"}
            alike.append(_connection(server.id, unfolded))
        twin = next((key for key, known in connections.items() if known in alike), None)
        if own is not None and twin is not None:
            outcomes.append(Outcome(server=server, id=None, same_as=twin))
            continue
        server_id, body = _placed(server, connections, slugs)
        connections[server_id] = own
        slugs.add(_slug(server_id, body))
        outcomes.append(Outcome(server=server, id=server_id, body=body))
    return outcomes


def _placed(
    server: ImportedServer, ids: Container[str], slugs: Container[str]
) -> tuple[str, dict[str, Any]]:
    """The id it gets, and its body, so that neither id nor namespace is another's."""
    body = dict(server.body)
    if "slug" in body:
        body["slug"] = next(slug for slug in _numbered(body["slug"]) if slug not in slugs)
        return next(key for key in _numbered(server.id) if key not in ids), body
    free = (key for key in _numbered(server.id) if key not in ids and legal_name(key) not in slugs)
    return next(free), body


def _numbered(name: str) -> Iterator[str]:
    """The name, then ``name-2``, ``name-3`` and so on."""
    yield name
    for number in count(2):
        yield f"{name}-{number}"


def _slug(server_id: str, body: object) -> str:
    slug = body.get("slug") if isinstance(body, Mapping) else None
    return slug if isinstance(slug, str) and slug else legal_name(server_id)


def _connection(server_id: str, body: object) -> tuple[object, ...] | None:
    """What tells one server from another; None for a body that is none.

    Whether it is on, how it is called and how it is used do not count.
    """
    if not isinstance(body, Mapping):
        return None
    try:
        row = parse_server_row(row_from_body(server_id, split_foreign_keys(body)[0]))
    except ConfigError:
        return None
    if isinstance(row, StdioServerRow):
        args = tuple(one_spelling(argument) for argument in row.args or ())
        env = frozenset((name, one_spelling(value)) for name, value in (row.env or {}).items())
        return "stdio", one_spelling(row.command), args, env, row.cwd or ""
    headers = row.headers or {}
    sent = frozenset((name.lower(), one_spelling(value)) for name, value in headers.items())
    return "http", one_spelling(row.url), sent, row.auth
