"""Discovery by two tools that never change: the whole prompt prefix stays cached.

Definitions are what ``load_tools`` answers with, and calls go through ``call_tool`` (agent-core
§18, later form). What the model has read stands in the transcript, so a transcript that is
rewritten takes the definitions with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from host.catalogue import (
    CALL_TOOL,
    LOAD_TOOLS,
    PROXY_TOOLS,
    NameResolution,
    defined_names,
    proxy_catalogue_prompt,
    proxy_load_result,
)
from host.loop.collaborators import Toolbox
from host.loop.discovery import Discovery, Front
from host.loop.hook_context import message_text
from host.loop.transcript import (
    answers_of,
    assistant_message,
    free_id,
    ids_in,
    tool_call,
    tool_message,
)
from host.records import Message, ToolDefinition


class ProxiedDiscovery(Discovery):
    """The tools of a proxied run; without any it declares none."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._read: dict[str, None] = {}
        super().__init__(toolbox, on_demand=True)

    @property
    def callable_names(self) -> list[str]:
        """As for any run, and ``call_tool`` if there is anything to call."""
        proxy = [CALL_TOOL] if self.on_demand else []
        return [*super().callable_names, *proxy, *self._offered]

    @property
    def calling_tool(self) -> str:
        """``call_tool``, unless there is nothing to call or the name means a tool of the host's."""
        return CALL_TOOL if self.on_demand and CALL_TOOL not in self.tools else ""

    def offer(self, tool: ToolDefinition) -> None:
        """Lets ``call_tool`` call it; nothing is declared, and nothing that was sent changes."""
        self._offered.append(tool["function"]["name"])

    @property
    def loaded(self) -> tuple[str, ...]:
        """The tools whose definitions stand in the transcript, in the order they were shown.

        A tool that was called blindly is known to the host and not shown to the model.
        """
        return tuple(self._read)

    def show(self) -> Front:
        """What every request says."""
        self._shown = frozenset(self._read)
        return self.front

    def show_only(self, names: Sequence[str]) -> Front:
        """What every request says: what was chosen is read, not declared."""
        return self.show()

    def answer_load(self, args: Mapping[str, Any]) -> tuple[str, bool]:
        """Shows the definitions asked for; returns the result and whether any matched."""
        text, ok = super().answer_load(args)
        self._read.update(dict.fromkeys(defined_names(text)))
        return text, ok

    def reread(self, messages: Sequence[Message]) -> None:
        """Takes for loaded what answers of ``load_tools`` hold definitions of, and nothing else."""
        self._read.clear()
        for index in answers_of(LOAD_TOOLS, messages):
            defined = defined_names(message_text(messages[index]))
            names = [name for name in defined if name in self.tools]
            self.load(names)
            self._read.update(dict.fromkeys(names))

    def shortlist(
        self,
        names: Sequence[str],
        messages: Sequence[Message],
        *,
        taken_ids: Collection[str] = (),
    ) -> list[Message]:
        """The exchange in which the model reads these definitions without having asked.

        To be appended to the messages; [] when there is nothing to show. Its call's id tells where
        it stands: ``preselect-`` and the number of messages before it.

        Args:
            taken_ids: ids that are not in the messages, and still not free.
        """
        self.load(names)
        wanted = dict.fromkeys(name for name in names if self.is_declared(name))
        shown = tuple(name for name in wanted if name not in self._read)
        if not shown:
            return []
        call_id = free_id(f"preselect-{len(messages)}", ids_in(messages).union(taken_ids))
        text = self._load_text(NameResolution(matched=shown), ())
        self._read.update(dict.fromkeys(shown))
        call = tool_call(call_id, LOAD_TOOLS, {"names": list(shown)})
        return [assistant_message("", [call]), tool_message(call_id, text)]

    def _first_front(self) -> Front:
        if not self.on_demand:
            return Front(prompt="", tools=[])
        return Front(prompt=proxy_catalogue_prompt(self.catalogue), tools=list(PROXY_TOOLS))

    def _declare(self, new: list[ToolDefinition]) -> None:
        """Nothing: the two tools are all that is ever declared."""

    def _load_text(self, resolution: NameResolution, before: tuple[str, ...]) -> str:
        definitions = [self._declared[name] for name in resolution.matched]
        return proxy_load_result(resolution, self.catalogue, definitions, loaded=before)
