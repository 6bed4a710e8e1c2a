"""What is said about an import: in lines for a person, as JSON for a program, without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from host.config.import_bodies import RefusedServer
from host.config.import_merging import Outcome
from host.config.import_places import Place
from host.config.import_reading import ClientFile
from host.pool.foreign_keys import OUR_EQUIVALENTS

_OURS: Mapping[str, str] = {
    **OUR_EQUIVALENTS,
    "alwaysLoad": "alwaysLoad with the names of tools",
    "includeTools": "hiddenTools with the names of the others",
    "tools": "hiddenTools with the names of the others",
}


def outcome_lines(outcome: Outcome) -> Iterator[str]:
    """What a person has to know about one server; nothing for one that comes in as it was."""
    server = outcome.server
    name = f"{server.place.client.name} {server.id}"
    if outcome.id is None:
        alike = "is there already" if outcome.same_as == server.id else f'is "{outcome.same_as}"'
        yield f"{name}: {alike}; left out"
        return
    if outcome.id != server.id:
        yield f'{name}: comes in as "{outcome.id}", since "{server.id}" is another server'
    if server.not_carried:
        keys = ", ".join(_with_ours(key) for key in server.not_carried)
        yield f"{name}: not carried over: {keys}"
    for remark in server.remarks:
        yield f"{name}: {remark}"
    for variable, purpose in server.variables.items():
        yield f"{name}: set {variable} in the environment" + (f" ({purpose})" if purpose else "")


def _with_ours(key: str) -> str:
    ours = _OURS.get(key)
    return f"{key} (ours: {ours})" if ours else key


def refused_line(server: RefusedServer) -> str:
    """Why a server does not come in."""
    return f"{server.place.client.name} {server.id}: not imported: {'; '.join(server.problems)}"


def file_lines(files: Iterable[ClientFile]) -> Iterator[str]:
    """What is to be said about files as a whole."""
    for file in files:
        for note in file.notes:
            yield f"{file.place.path}: {note}"
        if file.elsewhere:
            count = sum(file.elsewhere.values())
            yield (
                f"{file.place.path}: {count} more of other projects; "
                f"name a project's folder for its own, or this file for all"
            )


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """The same for programs: ``status`` is ``added``, ``renamed`` or ``skipped``."""
    server = outcome.server
    told: dict[str, Any] = {**_source(server.place), "server": server.id}
    if outcome.id is None:
        return told | {"status": "skipped", "sameAs": outcome.same_as}
    return told | {
        "status": "added" if outcome.id == server.id else "renamed",
        "id": outcome.id,
        "notCarried": [
            {"key": key, **({"ours": _OURS[key]} if key in _OURS else {})}
            for key in server.not_carried
        ],
        "remarks": list(server.remarks),
        "variables": dict(server.variables),
    }


def refused_json(server: RefusedServer) -> dict[str, Any]:
    """The same for a server that does not come in."""
    told: dict[str, Any] = {**_source(server.place), "server": server.id}
    return told | {"status": "refused", "problems": list(server.problems)}


def listed(file: ClientFile) -> Iterator[tuple[Place, list[str]]]:
    """The servers of a file by whom they are for: the user, or a project."""
    by_folder: dict[tuple[str, str | None], tuple[Place, list[str]]] = {}
    for server in file.servers:
        place = server.place
        key = (place.scope, place.folder)
        by_folder.setdefault(key, (place, []))[1].append(server.id)
    yield from by_folder.values()


def listed_cells(place: Place, servers: list[str]) -> tuple[str, ...]:
    """One line of the list for people: client, for whom, how many, where."""
    whose = (place.folder or "") if place.scope == "project" else "you"
    return place.client.name, whose, f"{len(servers)}", place.path


def listed_json(place: Place, servers: list[str]) -> dict[str, Any]:
    """One line of the list for programs."""
    return {**_source(place), "servers": servers}


def _source(place: Place) -> dict[str, Any]:
    folder = place.folder if place.scope == "project" else None
    told = {"client": place.client.id, "path": place.path, "scope": place.scope}
    return told | ({"project": folder} if folder is not None else {})
