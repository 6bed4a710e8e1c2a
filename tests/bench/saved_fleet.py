"""A configured fleet with saved listings, as a person's machine has them, made up from a seed."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from host.pool import ListingFiles, SavedListing, StdioServerRow, tools_fingerprint
from host.pool.attempts import KnownEra
from host.pool.fingerprint import connection_digest

TOOLS_OF_A_SERVER = (3, 5, 7, 9, 11, 13, 14, 18, 26, 48)
"""Half of all public servers have 13 tools or fewer."""

TOOLS_OF_A_GIANT = 200
"""Of every fiftieth server; there are some."""

_WORDS = """
a all an any archive before by calendar changed contains date default each entry every field file
filter first for found from given group has identifier in is issue item its label last length limit
list matches message more name newest note number of on only or order owner page part path person
project query range record result returned search sorted space state such text that the this time
title to until updated user value when where which with work
""".split()  # noqa: SIM905 - a text is easier to read


class _Author:
    """Writes tools the way people do."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def tool(self, number: int) -> dict[str, Any]:
        """A tool on the wire: 1.5 kB, more or less."""
        pick = self._random
        properties = dict(self._property(place) for place in range(pick.randint(1, 8)))
        tool: dict[str, Any] = {
            "name": f"{pick.choice(_WORDS)}_{pick.choice(_WORDS)}_{number}",
            "description": self._description(),
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": list(properties)[: pick.randint(0, 2)],
                "$schema": "http://json-schema.org/draft-07/schema#",
                "additionalProperties": False,
            },
        }
        if pick.random() < 0.8:
            tool["annotations"] = {"readOnlyHint": pick.random() < 0.5, "openWorldHint": True}
        if pick.random() < 0.5:
            tool["title"] = self._sentence(4)
        if pick.random() < 0.3:
            shape = dict(self._property(place) for place in range(4))
            tool["outputSchema"] = {"type": "object", "properties": shape}
        if pick.random() < 0.2:
            tool["_meta"] = {"_fastmcp": {"tags": []}}
        return tool

    def _description(self) -> str:
        lines = [self._sentence(self._random.randint(6, 14)) for _ in range(3)]
        arguments = [f"    {self._sentence(9)}" for _ in range(self._random.randint(0, 5))]
        return "\n".join([lines[0], "", *lines[1:], "", "    Args:", *arguments])

    def _property(self, place: int) -> tuple[str, dict[str, Any]]:
        pick = self._random
        shape: dict[str, Any] = pick.choice(
            [
                {"type": "string"},
                {"type": "string", "enum": pick.sample(_WORDS, 4)},
                {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
                {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                {"type": "array", "items": {"type": "string"}},
                {"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}}},
            ]
        )
        described = {"description": self._sentence(pick.randint(5, 15)), **shape}
        return f"{pick.choice(_WORDS)}_{place}", described

    def _sentence(self, words: int) -> str:
        return " ".join(self._random.choices(_WORDS, k=words)).capitalize() + "."


def rows(servers: int) -> Iterator[StdioServerRow]:
    """Rows whose commands exist and must not be run."""
    for number in range(servers):
        yield StdioServerRow(
            id=f"server-{number}",
            label=f"Server {number}",
            command=sys.executable,
            args=("-c", "raise SystemExit('started for nothing')", str(number)),
            env={"SERVICE_TOKEN": f"token-of-server-{number}", "REGION": "north"},
        )


def listing(row: StdioServerRow, number: int) -> SavedListing:
    """What is saved of one of them."""
    author = _Author(number)
    count = TOOLS_OF_A_SERVER[number % len(TOOLS_OF_A_SERVER)]
    count = count if (number + 1) % 50 else TOOLS_OF_A_GIANT
    tools = tuple(author.tool(place) for place in range(count))
    now = datetime.now(UTC)
    return SavedListing(
        connection=connection_digest(row),
        tools=tools,
        fingerprint=tools_fingerprint(tools),
        instructions="Use the search before anything else.",
        capabilities={"tools": {"listChanged": True}, "logging": {}},
        era=KnownEra(mode="legacy", asked_at=now),
        saved_at=now,
    )


async def configure(folder: Path, servers: int) -> dict[str, int]:
    """Write ``servers.json`` and the listings of its servers into a folder; what was written."""
    files, tools, size = ListingFiles(folder / "listings"), 0, 0
    written: dict[str, Any] = {}
    for number, row in enumerate(rows(servers)):
        saved = listing(row, number)
        await files.save(row.id, saved)
        tools += len(saved.tools)
        size += (files.folder / f"{saved.connection}.json").stat().st_size
        written[row.id] = row.model_dump(by_alias=True, exclude={"id"}, exclude_none=True)
    (folder / "servers.json").write_text(json.dumps({"mcpServers": written}))
    return {"tools": tools, "listing_bytes": size}
