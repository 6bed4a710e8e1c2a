"""``load_tools``: its definition, reading a call of it, and what the model reads back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from host.catalogue.frozen_json import freeze
from host.catalogue.name_index import name_index
from host.catalogue.name_resolution import MAX_PER_LOAD, NameResolution, refusals
from host.records import CatalogueServer, ToolDefinition
from host.text.terminal_text import one_line

LOAD_TOOLS = "load_tools"
"""The meta-tool's name."""

NOTHING_ASKED = 'No names were given. Call load_tools with {"names": [...]}, names as listed.'
"""What the model reads when it asked for nothing."""

_MAX_DESCRIPTION_CHARS = 200

_DEFINITION: ToolDefinition = {
    "type": "function",
    "function": {
        "name": LOAD_TOOLS,
        "description": (
            "Load tools from the list of tool names, with their full definitions, so that you "
            "can call them. A loaded tool can be called from the next step on, not in this one. "
            "Give exact names from the list; a beginning followed by * stands for all names "
            "that begin so. Load only what the request needs, everything in one call, at most "
            f"{MAX_PER_LOAD} tools."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "names": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Exact tool names from the list.",
                }
            },
            "required": ["names"],
            "additionalProperties": False,
        },
    },
}

LOAD_TOOLS_DEFINITION: ToolDefinition = freeze(_DEFINITION)
"""What a request declares; shared, and unchangeable at any depth (see ``frozen_json``)."""


def requested_names(args: object) -> list[str]:
    """The names in the arguments of a ``load_tools`` call, as they were written.

    The first of ``names``, ``tools`` and ``name`` that is there and not null counts; a text is
    one name, of a list the texts count, anything else is none (agent core §7).
    """
    if not isinstance(args, Mapping):
        return []
    given = next(
        (args[key] for key in ("names", "tools", "name") if args.get(key) is not None), None
    )
    if isinstance(given, str):
        return [given]
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []


def in_catalogue(catalogue: Sequence[CatalogueServer], name: str) -> bool:
    """Whether a tool has exactly this name."""
    return name in name_index(catalogue).tools


def loaded_tools(previous: Iterable[str], matched: Iterable[str]) -> list[str]:
    """The loaded names after a load: the previous ones in place, new ones behind them."""
    return list(dict.fromkeys((*previous, *matched)))


def load_result(
    resolution: NameResolution,
    catalogue: Sequence[CatalogueServer],
    *,
    loaded: Collection[str] = (),
) -> str:
    """What the model reads after ``load_tools``: what it got, and what it did not and why.

    Descriptions are put on one line each and cut: the whole ones come with the definitions.

    Args:
        loaded: names that were loaded before this call.
    """
    fresh, again = split_loaded(resolution, loaded)
    blocks: list[str] = []
    if fresh:
        lead = (
            "Loaded 1 tool. It is callable from your next step on:"
            if len(fresh) == 1
            else f"Loaded {len(fresh)} tools. They are callable from your next step on:"
        )
        tools = name_index(catalogue).tools
        described = (
            _described(name, tools[name].description if name in tools else "") for name in fresh
        )
        blocks.append(lead + "\n\n" + "\n".join(described))
    if again:
        blocks.append(f"Already loaded, call directly: {', '.join(map(one_line, again))}")
    blocks.extend(refusals(resolution, catalogue))
    return "\n\n".join(blocks) or NOTHING_ASKED


def split_loaded(
    resolution: NameResolution, loaded: Collection[str]
) -> tuple[list[str], list[str]]:
    """The matched names that were not loaded before, and those that were."""
    before = frozenset(loaded)
    fresh = [name for name in resolution.matched if name not in before]
    return fresh, [name for name in resolution.matched if name in before]


def _described(name: str, description: str) -> str:
    text = one_line(description)
    if len(text) > _MAX_DESCRIPTION_CHARS:
        text = text[: _MAX_DESCRIPTION_CHARS - 1].rstrip() + "…"
    return f"{one_line(name)}: {text}" if text else one_line(name)
