"""Choosing tools before a request: by the caller, by words, or by asking a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from host.catalogue import (
    PRESELECT_SCHEMA,
    KeywordChoice,
    preselect_by_keywords,
    preselect_input,
    preselect_system,
    preselection,
)
from host.loop.agent_options import AgentLoopOptions, Preselect
from host.loop.asking import Asking
from host.loop.discovery import Discovery, Front
from host.loop.proxied_discovery import ProxiedDiscovery
from host.loop.run_control import Interrupted
from host.loop.run_events import RunEvents
from host.loop.tool_batch import error_message

MAX_DOUBTFUL = 3
"""How many tools the words of a question choose where they choose none clearly."""


@dataclass(slots=True, kw_only=True)
class Routing:
    """The choice of tools for the first request of a run on demand."""

    options: AgentLoopOptions
    discovery: Discovery
    asking: Asking
    events: RunEvents
    _exclusive: tuple[str, ...] = field(default=(), init=False)

    async def choose(self, question: str) -> list[str]:
        """The tools to begin with, not loaded yet; [] where nothing is to be chosen.

        A question that nobody could answer costs a notice and chooses nothing.

        Raises:
            Interrupted: the run was stopped, or its time is up.
        """
        options = self.options
        if not self.discovery.on_demand:
            return []
        if options.preselected is not None:
            named = dict.fromkeys(options.preselected)
            return [name for name in named if name in self.discovery.tools]
        if not question.strip():
            return []
        if options.discovery == "keywords":
            return self._by_keywords(question)
        if options.discovery == "preselect" or options.preselect is not None:
            return await self._by_asking(question, options.preselect or Preselect())
        return []

    def begin_with(self, names: Sequence[str]) -> None:
        """Loads the chosen tools; routed exclusively, the first request has no others."""
        self.discovery.load(names)
        chosen = tuple(name for name in names if self.discovery.is_declared(name))
        if chosen:
            self.events.tell("decision", 0, text=f"begins with {', '.join(chosen)}", ok=True)
        if self.options.preselect_routing == "exclusive":
            self._exclusive = chosen

    def front(self, step: int) -> Front:
        """What the request of this step says of tools."""
        if step == 0 and self._exclusive:
            return self.discovery.show_only(self._exclusive)
        return self.discovery.show()

    def _by_keywords(self, question: str) -> list[str]:
        choice = self._choice(question, self.options.preselect or Preselect())
        if choice.confident:
            return list(choice.names)
        doubtful = [name for name, _ in choice.ranked[:MAX_DOUBTFUL]]
        if self.discovery.load(doubtful):  # beside the catalogue: the words may be wrong
            self.events.tell("decision", 0, text=f"also loads {', '.join(doubtful)}", ok=False)
        return []

    async def _by_asking(self, question: str, how: Preselect) -> list[str]:
        if how.keywords and (choice := self._choice(question, how)).confident:
            return list(choice.names)
        catalogue = self.discovery.catalogue
        try:
            reply = await self.asking.aside_json(
                self.options.select_model or self.options.model,
                0,
                preselect_system(how.max_per_load),
                preselect_input(catalogue, question),
                PRESELECT_SCHEMA,
            )
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001  # a run can go on without a choice
            self._say(f"choosing tools: {error_message(error)}")
            return []
        return preselection(reply, catalogue, max_per_load=how.max_per_load)

    def _choice(self, question: str, how: Preselect) -> KeywordChoice:
        choice = clearest_choice(self.discovery, question, how.max_per_load)
        if choice.confident:
            self._say(f"{_counted(choice.names)} chosen by the words of the question")
        return choice

    def _say(self, text: str) -> None:
        self.events.tell("notice", 0, text=text)


def opened_discovery(options: AgentLoopOptions) -> Discovery:
    """The way the options tell a model of tools."""
    if options.discovery == "proxied":
        return ProxiedDiscovery(options.toolbox)
    on_demand = options.discovery != "eager"
    return Discovery(options.toolbox, on_demand=on_demand, loaded=options.loaded)


def clearest_choice(discovery: Discovery, question: str, most: int) -> KeywordChoice:
    """The shortest confident choice by keywords, or the longest where none is."""
    choice = KeywordChoice()
    for size in range(1, max(1, most) + 1):
        choice = preselect_by_keywords(discovery.catalogue, question, max_per_load=size)
        if choice.confident:
            break
    return choice


def _counted(names: Sequence[str]) -> str:
    return "1 tool" if len(names) == 1 else f"{len(names)} tools"
