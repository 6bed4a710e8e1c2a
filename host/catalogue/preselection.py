"""Asking a (small) model which tools a request needs, before the run's first step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from host.catalogue.catalogue_text import catalogue_list
from host.catalogue.frozen_json import freeze
from host.catalogue.name_resolution import MAX_PER_LOAD, expand_names
from host.records import CatalogueServer

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"tools": {"type": "array", "items": {"type": "string"}}},
    "required": ["tools"],
    "additionalProperties": False,
}

PRESELECT_SCHEMA: dict[str, Any] = freeze(_SCHEMA)
"""The shape of the answer; shared, and unchangeable at any depth."""


def preselect_system(max_per_load: int = MAX_PER_LOAD) -> str:
    """The system prompt of the question; the first thing it says is what small models keep."""
    return (
        "Name the tools that do what the request asks for. Choose from the catalogue and copy "
        f"the names exactly. Choose as few as possible, at most {max_per_load}.\n"
        'Answer with a JSON object and nothing else: {"tools": ["..."]}. If the request needs no '
        'tool: {"tools": []}.'
    )


def preselect_input(
    catalogue: Sequence[CatalogueServer], prompt: str, *, max_chars: int = 2000
) -> str:
    """The question: the catalogue, then the request, of which the first ``max_chars`` count."""
    request = prompt[: max(0, max_chars)]
    return f"# Catalogue\n{catalogue_list(catalogue)}\n\n# Request\n{request}"


def preselection(
    reply: object, catalogue: Sequence[CatalogueServer], *, max_per_load: int = MAX_PER_LOAD
) -> list[str]:
    """The catalogued names in a parsed answer, at most ``max_per_load``; [] for any other shape."""
    chosen = reply.get("tools") if isinstance(reply, Mapping) else None
    if not isinstance(chosen, list):
        return []
    names = [name for name in chosen if isinstance(name, str)]
    return list(expand_names(names, catalogue, max_per_load=max_per_load).matched)
