"""The name-only catalogue as text: one text per catalogue, the same at every step of a run."""

from __future__ import annotations

from collections.abc import Sequence

from host.catalogue.load_tools import LOAD_TOOLS
from host.records import CatalogueServer
from host.text.terminal_text import one_line

_MAX_LABEL_CHARS = 80
_HEADING_MARKS = "#>*+-=~|<` "

_PROMPT = f"""\
# Tools, by name
You can use the tools below, but only their names are known so far. Do not tell the user which \
tool to use: call it yourself.
1. First call {LOAD_TOOLS} with the exact names of all the tools that the request needs.
2. Then, in your next step, call those tools.
If the request needs no tool, answer without one."""


def catalogue_list(catalogue: Sequence[CatalogueServer]) -> str:
    """Each server's label with a colon, then its tools' names, indented; "" for no tools.

    Servers without tools are left out. Labels and names are put on one line each and stripped of
    controls and invisible characters, labels also of what would make them a heading, so that no
    server can end this list or write its own.
    """
    lines: list[str] = []
    for server in catalogue:
        if server.tools:
            lines.append(f"{_label(server.label) or _label(server.id) or 'server'}:")
            lines.extend(f"  {one_line(tool.name)}" for tool in server.tools)
    return "\n".join(lines)


def catalogue_prompt(catalogue: Sequence[CatalogueServer]) -> str:
    """The part of a system prompt that names every tool; "" when there is nothing to list.

    Loading a tool marks nothing here and removes nothing, so that a run's prompt never changes
    (agent core §7, later form; design §5).
    """
    return prompt_over_list(_PROMPT, catalogue)


def prompt_over_list(lead: str, catalogue: Sequence[CatalogueServer]) -> str:
    """The lead, a blank line and the list; "" when there is nothing to list."""
    listed = catalogue_list(catalogue)
    return f"{lead}\n\n{listed}" if listed else ""


def _label(text: str) -> str:
    label = one_line(text).lstrip(_HEADING_MARKS)
    return label if len(label) <= _MAX_LABEL_CHARS else f"{label[:_MAX_LABEL_CHARS].rstrip()}…"
