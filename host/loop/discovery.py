"""What a run tells its model of the tools, step by step.

With names, the system prompt lists every tool and never changes, and definitions are declared in
the order they were loaded, appended only (design §5). Eagerly, all are declared from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from host.catalogue import (
    LOAD_TOOLS,
    LOAD_TOOLS_DEFINITION,
    catalogue_prompt,
    expand_names,
    load_result,
    requested_names,
)
from host.loop.collaborators import Toolbox
from host.records import CatalogueTool, RequestTrace, ToolDefinition, TurnUsage
from host.text.json_text import compact_json
from host.text.tokens import estimate_tokens, tools_tokens
from host.text.truncation import truncate_text

MAX_PROBLEM_CHARS = 1_000
"""How much of what is wrong with a blind call's arguments is told; values may be quoted in it."""


class Discovery:
    """The tools of one run: its catalogue as it stood at the beginning, and what is declared.

    Args:
        loaded: names to declare at once; those that are not in the catalogue are left out.
    """

    def __init__(
        self, toolbox: Toolbox, mode: Literal["names", "eager"], loaded: Iterable[str] = ()
    ) -> None:
        self._toolbox = toolbox
        self._catalogue = tuple(toolbox.catalogue())
        self._tools: dict[str, CatalogueTool] = {}
        for server in self._catalogue:
            for tool in server.tools:
                self._tools.setdefault(tool.name, tool)
        self._declared: dict[str, ToolDefinition] = {}
        self.on_demand = mode == "names" and bool(self._tools)
        self.tools: list[ToolDefinition] = [LOAD_TOOLS_DEFINITION] if self.on_demand else []
        self.prompt = catalogue_prompt(self._catalogue) if self.on_demand else ""
        self.load(loaded if self.on_demand else self._tools)
        self._shown: frozenset[str] = frozenset()

    @property
    def loaded(self) -> tuple[str, ...]:
        """The loaded tools in load order; none in an eager run, where nothing is loaded."""
        return tuple(self._declared) if self.on_demand else ()

    @property
    def callable_names(self) -> list[str]:
        """The names a model may have meant when it wrote a call as text."""
        return [*self._tools, LOAD_TOOLS] if self.on_demand else list(self._declared)

    def system(self, own: str) -> str:
        """The system prompt: the caller's own, a blank line, the catalogue."""
        return "\n\n".join(part for part in (own, self.prompt) if part)

    def show(self) -> list[ToolDefinition]:
        """The tools of the request that is sent now; from here on it knows their schemas.

        The same list object while nothing is loaded, and never changed.
        """
        self._shown = frozenset(self._declared)
        return self.tools

    def load(self, names: Iterable[str]) -> list[str]:
        """Declares the catalogued tools named, from the next request on; returns the new ones.

        A tool that the toolbox has no definition for stays undeclared.
        """
        wanted = [name for name in names if name in self._tools and name not in self._declared]
        found: dict[str, ToolDefinition] = {}
        for definition in self._toolbox.definitions(wanted) if wanted else ():
            found.setdefault(definition["function"]["name"], definition)
        new = {name: found[name] for name in wanted if name in found}
        if new:
            self._declared.update(new)
            self.tools = [*self.tools, *new.values()]
        return list(new)

    def answer_load(self, args: Mapping[str, Any]) -> tuple[str, bool]:
        """Loads what a ``load_tools`` call asks for; returns its result and whether any matched."""
        before = self.loaded
        resolution = expand_names(requested_names(args), self._catalogue)
        self.load(resolution.matched)
        gone = [name for name in resolution.matched if name not in self._declared]
        if gone:
            resolution = replace(
                resolution,
                matched=tuple(name for name in resolution.matched if name in self._declared),
                unknown=(*resolution.unknown, *gone),
            )
        text = load_result(resolution, self._catalogue, loaded=before)
        return text, bool(resolution.matched)

    def is_blind(self, name: str) -> bool:
        """Whether the tool is catalogued and the last request did not declare it."""
        return self.on_demand and name in self._tools and name not in self._shown

    def misfit(self, name: str, problems: Sequence[str]) -> str:
        """What the model reads after a blind call whose arguments do not fit."""
        schema = self._declared[name]["function"].get("parameters", {})
        wrong = truncate_text("; ".join(problems), MAX_PROBLEM_CHARS)
        return (
            f"{name} was called before its definition was loaded, and the arguments do not fit, "
            f"so the call was not made: {wrong}. "
            f"It is loaded now. Call it again with arguments for this schema: "
            f"{compact_json(schema)}"
        )

    def is_declared(self, name: str) -> bool:
        """Whether the tool's definition is loaded."""
        return name in self._declared

    def is_read_only(self, name: str) -> bool:
        """Whether the tool says that it changes nothing."""
        return self._hint(name, "readOnlyHint")

    def is_repeatable(self, name: str) -> bool:
        """Whether the tool says that calling it twice is calling it once."""
        return self.is_read_only(name) or self._hint(name, "idempotentHint")

    def trace(
        self, step: int, tools: list[ToolDefinition], usage: TurnUsage, seconds: float
    ) -> RequestTrace:
        """The record of an answered request that declared ``tools``.

        Without tools it carried no catalogue either.
        """
        schema_tokens = tools_tokens(tools)
        eager = sum(tool.tokens for tool in self._tools.values())
        return RequestTrace(
            step=step,
            tools=tuple(tool["function"]["name"] for tool in tools),
            catalogue_tokens=estimate_tokens(self.prompt) if tools else 0,
            schema_tokens=schema_tokens,
            eager_schema_tokens=eager if self.on_demand else tools_tokens(self.tools),
            usage=usage,
            seconds=seconds,
        )

    def _hint(self, name: str, hint: str) -> bool:
        tool = self._tools.get(name)
        return tool is not None and (tool.annotations or {}).get(hint) is True
