"""A model that answers from a script and a toolbox in memory: real peers for the loop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel
from jsonschema import Draft202012Validator

from host.loop.collaborators import TextSink
from host.records import (
    CatalogueServer,
    CatalogueTool,
    Message,
    ToolCall,
    ToolCallRequest,
    ToolDefinition,
    ToolFailure,
    ToolSuccess,
    Turn,
    TurnUsage,
)
from host.text.json_text import compact_json
from host.text.tokens import tools_tokens

Script: TypeAlias = Turn | Exception | Callable[["Request"], Turn | Awaitable[Turn]]
"""One answer of a scripted model: a turn, an error, or a function of the request."""

USAGE = TurnUsage(prompt_tokens=10, completion_tokens=2, total_tokens=12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a model was asked."""

    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.tools]

    @property
    def system(self) -> str:
        """The text of its system prompt; "" without one."""
        first = self.messages[0]
        return str(first["content"]) if first["role"] == "system" else ""


async def mute(request: Request) -> Turn:
    """Never answers."""
    await anyio.sleep_forever()
    raise AssertionError("unreachable")


def call(
    name: str, arguments: Mapping[str, Any] | str | None = None, call_id: str = ""
) -> ToolCall:
    """A call as a model writes it; arguments as text go out as they are."""
    raw = arguments if isinstance(arguments, str) else compact_json(arguments or {})
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": raw}}


def calling(*calls: ToolCall, text: str = "", **turn: Any) -> Turn:
    """A turn that makes these calls; those without an id get ``c0``, ``c1``, … ."""
    named = tuple(
        ToolCall(id=one["id"] or f"c{number}", type="function", function=one["function"])
        for number, one in enumerate(calls)
    )
    return Turn(content=text, tool_calls=named, usage=USAGE, finish_reason="tool_calls", **turn)


def saying(text: str, **turn: Any) -> Turn:
    """A turn that only speaks."""
    return Turn(content=text, **{"usage": USAGE, "finish_reason": "stop", **turn})


class ScriptedModel:
    """Answers from its script, one entry per request; the last entry answers ever after."""

    def __init__(self, *script: Script) -> None:
        self._script = list(script)
        self.requests: list[Request] = []

    async def turn(
        self,
        messages: list[Message],
        tools: list[ToolDefinition],
        *,
        response_schema: dict[str, Any] | None = None,
        on_thinking: TextSink | None = None,
        on_output: TextSink | None = None,
        on_notice: TextSink | None = None,
    ) -> Turn:
        await anyio.lowlevel.checkpoint()
        request = Request(messages=tuple(messages), tools=tuple(tools))
        self.requests.append(request)
        entry = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(entry, Exception):
            raise entry
        answer = entry if isinstance(entry, Turn) else entry(request)
        turn = await answer if inspect.isawaitable(answer) else answer
        if turn.reasoning and on_thinking is not None:
            on_thinking(turn.reasoning)
        if turn.content and on_output is not None:
            on_output(turn.content)
        return turn

    async def ask_json(self, system: str, user: str, schema: dict[str, Any]) -> object | None:
        await anyio.lowlevel.checkpoint()
        return None


ToolBody: TypeAlias = Callable[[dict[str, Any]], Any]
"""What a tool does with its arguments: returns a result, or an awaitable of one, or raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTool:
    """One tool of a toolbox in memory, of the server that its name begins with."""

    name: str
    body: ToolBody = compact_json
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object"})
    description: str = ""
    annotations: Mapping[str, Any] | None = None

    @property
    def definition(self) -> ToolDefinition:
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description or f"Does {self.name}.",
                "parameters": self.parameters,
            },
        }


class MemoryToolbox:
    """Tools that are functions, catalogued by the part of their names before ``__``."""

    def __init__(self, *tools: MemoryTool | str, undefined: Sequence[str] = ()) -> None:
        listed = [MemoryTool(name=one) if isinstance(one, str) else one for one in tools]
        self._tools = {tool.name: tool for tool in listed}
        self._undefined = frozenset(undefined)
        self.calls: list[ToolCallRequest] = []

    @property
    def called(self) -> list[str]:
        """The names called, in order."""
        return [request.name for request in self.calls]

    def catalogue(self) -> list[CatalogueServer]:
        servers: dict[str, list[CatalogueTool]] = {}
        for tool in self._tools.values():
            server, _, _ = tool.name.partition("__")
            servers.setdefault(server, []).append(
                CatalogueTool(
                    name=tool.name,
                    description=tool.definition["function"].get("description", ""),
                    annotations=tool.annotations,
                    tokens=tools_tokens([tool.definition]),
                )
            )
        return [
            CatalogueServer(id=name, label=name.title(), tools=tuple(tools))
            for name, tools in servers.items()
        ]

    def definitions(self, names: Sequence[str]) -> list[ToolDefinition]:
        known = (name for name in names if name in self._tools and name not in self._undefined)
        return [self._tools[name].definition for name in known]

    def check(self, name: str, args: dict[str, Any]) -> list[str]:
        validator = Draft202012Validator(self._tools[name].parameters)
        return [error.message for error in validator.iter_errors(args)]

    async def call(self, request: ToolCallRequest) -> ToolSuccess | ToolFailure:
        self.calls.append(request)
        await anyio.lowlevel.checkpoint()
        tool = self._tools.get(request.name)
        if tool is None:
            return ToolFailure(code="unknown-tool", message=f"no tool is named {request.name}")
        result = tool.body(request.args)
        if inspect.isawaitable(result):
            result = await result
        return (
            result if isinstance(result, ToolSuccess | ToolFailure) else ToolSuccess(result=result)
        )
