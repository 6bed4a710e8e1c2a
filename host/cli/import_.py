"""``agent-host import``: servers of other MCP clients, shown or put into a servers file.

What is printed has variables in the place of secrets that stand in plain text; a file gets them as
they are, since only there they are where they were: in a file of the user's.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from host.cli.import_words import (
    file_lines,
    listed,
    listed_cells,
    listed_json,
    outcome_json,
    outcome_lines,
    refused_json,
    refused_line,
)
from host.cli.screen import Screen, counted
from host.cli.table import table_lines
from host.config.import_bodies import ImportedServer, RefusedServer
from host.config.import_clients import CLIENTS, client_named
from host.config.import_files import (
    Findings,
    ServersFile,
    imported_servers,
    read_places,
    surroundings,
)
from host.config.import_merging import Outcome, merge
from host.config.import_places import Place, Surroundings, place_of, project_places, usual_places
from host.config.import_secrets import SecretsTaken
from host.config.import_text import json_text
from host.errors import ConfigError
from host.text.terminal_text import clean_terminal

ALL = "all"

COLUMNS = ("client", "for", "servers", "file")


def import_(arguments: argparse.Namespace) -> int:
    """Lists what there is, prints the servers asked for, or puts them into a file.

    1 when some of what was asked for cannot come along.

    Raises:
        ConfigError: something named is not there.
        ExceptionGroup: of ConfigError; something named cannot be read.
    """
    sources: list[str] = arguments.source
    if arguments.into is not None and not sources:
        raise ConfigError("--into", [f"name what to import: a client, a file, or {ALL}"])
    around = surroundings(Path.cwd(), os.environ)
    found = _together([_found(source, around) for source in sources or [ALL]])
    if arguments.list or not sources:
        return _list(found, as_json=arguments.json)
    if found.problems and ALL not in sources:
        raise ExceptionGroup("files that cannot be read", found.problems)
    taken, refused = imported_servers(found.files, around)
    told = _Told(found=found, refused=refused, as_json=arguments.json)
    if arguments.into is None:
        _print(taken, told)
    else:
        _put(taken, Path(arguments.into), told)
    return 1 if refused or found.problems else 0


def _found(source: str, around: Surroundings) -> Findings:
    """What a word of the command line names.

    Raises:
        ConfigError: nothing, or something without servers.
    """
    if source == ALL:
        places = [place for client in CLIENTS for place in usual_places(client, around)]
        return read_places(places, around)
    client = client_named(source)
    path = Path(os.path.abspath(source))
    if client is not None:
        places = usual_places(client, around)
        missing = f"{client.name} has no servers at {_paths(places)}"
    elif path.is_dir():
        around = replace(around, folder=str(path))
        places = project_places(around)
        missing = f"no client has servers for this folder at {_paths(places)}"
    elif path.exists():
        places, missing = [place_of(str(path), around)], "there are no servers in it"
    else:
        names = ", ".join(client.id for client in CLIENTS)
        raise ConfigError(source, [f"is neither a client nor a file; clients are {names}"])
    is_named = client is None and not path.is_dir()
    found = read_places(places, around, named=is_named)
    if not found.problems and not any(file.servers for file in found.files):
        raise ConfigError(source, [missing])
    return found


def _paths(places: Iterable[Place]) -> str:
    return ", ".join(place.path for place in places)


def _together(findings: Iterable[Findings]) -> Findings:
    """All of them, what is for every project before what is for one."""
    findings = list(findings)
    files = [file for each in findings for file in each.files]
    return Findings(
        files=tuple(sorted(files, key=lambda file: file.place.scope == "project")),
        problems=tuple(problem for each in findings for problem in each.problems),
    )


def _list(found: Findings, *, as_json: bool) -> int:
    screen = Screen()
    lines = [each for file in found.files for each in listed(file)]
    if as_json:
        whole = {"found": [listed_json(place, servers) for place, servers in lines]}
        _write(json.dumps(whole | _beside(found), ensure_ascii=False, indent=1))
        return 0
    rows = [(listed_cells(place, servers), "") for place, servers in lines]
    if rows:
        for number, line in enumerate(table_lines(COLUMNS, rows)):
            screen.write(line, style="" if number else "bold")
    else:
        screen.notice(f"no servers of {', '.join(client.name for client in CLIENTS)} here")
    for line in file_lines(found.files):
        screen.notice(line)
    for problem in found.problems:
        screen.warn(str(problem))
    return 0


class _Told:
    """What is said beside the servers themselves."""

    def __init__(self, *, found: Findings, refused: list[RefusedServer], as_json: bool) -> None:
        self._found = found
        self._refused = refused
        self._as_json = as_json
        self._screen = Screen()

    def result(
        self, outcomes: list[Outcome], last: Iterable[str], facts: Mapping[str, Any], text: str = ""
    ) -> None:
        """Writes everything; ``text`` and ``facts`` to stdout, and to stderr what is for people."""
        if self._as_json:
            report = [*map(outcome_json, outcomes), *map(refused_json, self._refused)]
            whole = {**facts, "report": report, **_beside(self._found)}
            _write(json.dumps(whole, ensure_ascii=False, indent=1))
            return
        if text:
            _write(text)
        for problem in self._found.problems:
            self._screen.warn(str(problem))
        for server in self._refused:
            self._screen.warn(refused_line(server))
        for line in file_lines(self._found.files):
            self._screen.notice(line)
        for outcome in outcomes:
            for line in outcome_lines(outcome):
                self._screen.notice(line)
        for line in last:
            self._screen.notice(line)


def _beside(found: Findings) -> dict[str, Any]:
    """What is to be told of the files themselves, for programs."""
    return {
        "notes": [*file_lines(found.files)],
        "problems": [str(problem) for problem in found.problems],
    }


def _print(taken: list[ImportedServer], told: _Told) -> None:
    outcomes = merge({}, taken)
    secrets = SecretsTaken()
    bodies = {each.id: secrets.body(each.id, each.body) for each in outcomes if each.id}
    hints = [f"{where} is not shown; set {name} to it" for name, where in secrets.variables.items()]
    if hints:
        hints.append("--into FILE carries such values over as they are")
    facts = {"mcpServers": bodies, "secrets": secrets.variables}
    told.result(outcomes, hints, facts, json_text({"mcpServers": bodies}))


def _put(taken: list[ImportedServer], path: Path, told: _Told) -> None:
    file = ServersFile(path)
    outcomes = merge(file.text.bodies, taken)
    added = {each.id: each.body for each in outcomes if each.id}
    kept = file.add(added)
    skipped = len(outcomes) - len(added)
    summary = f"{path}: {counted(len(added), 'server')} added, {skipped} left out"
    if kept is not None:
        summary += f"; as it was: {kept}"
    facts = {"file": str(path), "backup": None if kept is None else str(kept)}
    told.result(outcomes, [summary], facts)


def _write(text: str) -> None:
    """Writes JSON to stdout, with escapes for what would steer a terminal."""
    if clean_terminal(text) != text:
        text = json.dumps(json.loads(text), indent=1)
    sys.stdout.write(f"{text}\n")
