"""What a run tells its model of the tools, step by step.

With names, the system prompt lists every tool and never changes, and definitions are declared in
the order they were loaded, appended only (design §5). Eagerly, all are declared from the start.
Proxied (``proxied_discovery``), two tools are declared and nothing else, ever.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from host.catalogue import (
    CALL_TOOL,
    LOAD_TOOLS,
    LOAD_TOOLS_DEFINITION,
    NameResolution,
    catalogue_prompt,
    expand_names,
    load_result,
    proxied_call,
    requested_names,
)
from host.loop.call_reading import ReadCall
from host.loop.collaborators import MetaToolbox, Toolbox, WakingToolbox
from host.records import CatalogueServer, CatalogueTool, Message, ToolDefinition, ToolFailure
from host.text.json_text import compact_json
from host.text.tokens import tools_tokens
from host.text.truncation import truncate_text

MAX_PROBLEM_CHARS = 1_000
"""How much of what is wrong with a blind call's arguments is told; values may be quoted in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """What a request says of tools.

    Attributes:
        prompt: the catalogue, for the system prompt; "" for none.
        tools: the declared definitions; the same list object while nothing is loaded.
    """

    prompt: str
    tools: list[ToolDefinition]

    def system(self, own: str) -> str:
        """The system prompt: the caller's own, a blank line, the catalogue."""
        return "\n\n".join(part for part in (own, self.prompt) if part)


class Discovery:
    """The tools of one run: its catalogue as it stood at the beginning, and what is declared.

    Args:
        on_demand: list the tools by name and let the model load them; without tools, or False,
            all that there is is declared.
        loaded: names to declare at once; those that are not in the catalogue are left out.

    Attributes:
        catalogue: every offered tool by server.
        tools: the same by name; of two with one name the first.
        front: what the next request says of tools, unless it is routed.
    """

    def __init__(self, toolbox: Toolbox, *, on_demand: bool, loaded: Iterable[str] = ()) -> None:
        self._toolbox = toolbox
        self.catalogue: tuple[CatalogueServer, ...] = tuple(toolbox.catalogue())
        self.tools: dict[str, CatalogueTool] = {}
        for server in self.catalogue:
            for tool in server.tools:
                self.tools.setdefault(tool.name, tool)
        self._declared: dict[str, ToolDefinition] = {}
        self._own: tuple[ToolDefinition, ...] = ()
        self.on_demand = on_demand and bool(self.tools)
        self.front = self._first_front()
        for meta_tool in toolbox.meta_tools() if isinstance(toolbox, MetaToolbox) else ():
            self.declare(meta_tool)
        self._shown: frozenset[str] = frozenset()
        self.load(loaded if self.on_demand else self.tools)
        self._offered: list[str] = []

    @property
    def loaded(self) -> tuple[str, ...]:
        """The loaded tools in load order; none in an eager run, where nothing is loaded."""
        return tuple(self._declared) if self.on_demand else ()

    @property
    def callable_names(self) -> list[str]:
        """The names a model may have meant when it wrote a call as text."""
        named = [*self.tools, LOAD_TOOLS] if self.on_demand else list(self._declared)
        return [*named, *(tool["function"]["name"] for tool in self._own)]

    @property
    def calling_tool(self) -> str:
        """The tool through which all others are called; "" where they are called themselves."""
        return ""

    @property
    def eager_tokens(self) -> int:
        """What declaring every tool takes, the host's own included, by estimate."""
        if self.on_demand:
            return sum(tool.tokens for tool in self.tools.values()) + tools_tokens(self._own)
        return tools_tokens(self.front.tools)

    def show(self) -> Front:
        """What the request that is sent now says; from here on the model knows its schemas."""
        self._shown = frozenset(self._declared)
        return self.front

    def show_only(self, names: Sequence[str]) -> Front:
        """A request that declares just these loaded tools and lists none by name."""
        named = dict.fromkeys(names)
        known = [self._declared[name] for name in named if name in self._declared]
        self._shown = frozenset(definition["function"]["name"] for definition in known)
        return Front(prompt="", tools=known)

    def load(self, names: Iterable[str]) -> list[str]:
        """Declares the catalogued tools named, from the next request on; returns the new ones.

        A tool that the toolbox has no definition for stays undeclared. The toolbox hears of the
        new ones, so that their servers are up when they are called.
        """
        wanted = [name for name in names if name in self.tools and name not in self._declared]
        found: dict[str, ToolDefinition] = {}
        for definition in self._toolbox.definitions(wanted) if wanted else ():
            found.setdefault(definition["function"]["name"], definition)
        new = {name: found[name] for name in wanted if name in found}
        if new:
            self._declared.update(new)
            self._declare(list(new.values()))
            if isinstance(self._toolbox, WakingToolbox):
                self._toolbox.wake(list(new))
        return list(new)

    def declare(self, tool: ToolDefinition) -> None:
        """Declares a tool of the host's own, behind what there is."""
        self._own = (*self._own, tool)
        self.front = replace(self.front, tools=[*self.front.tools, tool])

    def definition(self, name: str) -> ToolDefinition | None:
        """The definition of a loaded tool; None for any other."""
        return self._declared.get(name)

    def offer(self, tool: ToolDefinition) -> None:
        """Lets the model call a tool of the host's own, which it was not told of before."""
        self._offered.append(tool["function"]["name"])
        self.declare(tool)

    def reread(self, messages: Sequence[Message]) -> None:
        """Hears that the transcript is another one: what is declared does not stand in it."""

    def shortlist(
        self,
        names: Sequence[str],
        messages: Sequence[Message],
        *,
        taken_ids: Collection[str] = (),
    ) -> list[Message]:
        """What has to be appended to the messages so that the model knows these tools: nothing."""
        return []

    def answer_load(self, args: Mapping[str, Any]) -> tuple[str, bool]:
        """Loads what a ``load_tools`` call asks for; returns its result and whether any matched."""
        before = self.loaded
        resolution = expand_names(requested_names(args), self.catalogue)
        self.load(resolution.matched)
        gone = [name for name in resolution.matched if name not in self._declared]
        if gone:
            resolution = replace(
                resolution,
                matched=tuple(name for name in resolution.matched if name in self._declared),
                unknown=(*resolution.unknown, *gone),
            )
        return self._load_text(resolution, before), bool(resolution.matched)

    def unwrapped(self, call: ReadCall) -> ReadCall:
        """The call that is meant: of a ``call_tool`` call the one inside, if such a thing exists.

        A host's own tool of that name is left alone; so is an unreadable call.
        """
        if call.name != CALL_TOOL or CALL_TOOL in self.tools or not self.on_demand:
            return call
        if call.args is None:
            return call
        inner = proxied_call(call.args, self.catalogue, own=self._offered)
        if isinstance(inner, ToolFailure):
            return replace(call, args=None, problem=inner.message)
        return replace(call, name=inner.name, args=inner.args, raw=compact_json(inner.args))

    def is_blind(self, name: str) -> bool:
        """Whether the tool is catalogued and the model has not seen its definition."""
        return self.on_demand and name in self.tools and name not in self._shown

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

    def _first_front(self) -> Front:
        if not self.on_demand:
            return Front(prompt="", tools=[])
        return Front(prompt=catalogue_prompt(self.catalogue), tools=[LOAD_TOOLS_DEFINITION])

    def _declare(self, new: list[ToolDefinition]) -> None:
        self.front = replace(self.front, tools=[*self.front.tools, *new])

    def _load_text(self, resolution: NameResolution, before: tuple[str, ...]) -> str:
        return load_result(resolution, self.catalogue, loaded=before)

    def _hint(self, name: str, hint: str) -> bool:
        tool = self.tools.get(name)
        return tool is not None and (tool.annotations or {}).get(hint) is True
