"""An SDK server in memory that asks its client for things in the middle of a call, in both eras."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp_types import (
    URL_ELICITATION_REQUIRED,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    CreateMessageResult,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from host.pool.rows import StdioServerRow
from tests.fakes.mcp_servers.echo import EchoServer

PROGRAM_ARGS = ("-I", "-S", str(Path(__file__).with_name("asking_program.py")))

_REQUEST: TypeAdapter[InputRequest] = TypeAdapter(InputRequest)
_RESULTS: dict[str, Any] = {
    "elicitation/create": ElicitResult,
    "sampling/createMessage": CreateMessageResult,
    "roots/list": ListRootsResult,
}


class AskingServer(EchoServer):
    """An echo server whose calls may carry what it is to ask.

    Arguments: ``ask`` (an object of requests by key, each with ``method`` and ``params``), whose
    answers are the result as JSON; ``pages`` (a list for the error -32042); ``reports`` (progress,
    total and message each); ``lines`` (level, what is logged and logger each).

    Attributes:
        capabilities: what each call's client said that it can do.
        pages_needed: how many calls with ``pages`` still fail.
        reports_wanted: whether each call asked for progress reports.
    """

    def __init__(self) -> None:
        super().__init__()
        self.capabilities: list[dict[str, Any]] = []
        self.pages_needed = 1
        self.reports_wanted: list[bool] = []

    async def _call(  # type: ignore[override]  # it may want to know something first
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        said = context.session.client_capabilities or ClientCapabilities()
        self.capabilities.append(said.model_dump(mode="json", exclude_none=True))
        self.reports_wanted.append("progress_token" in (params.meta or {}))
        arguments = params.arguments or {}
        if "pages" in arguments and self.pages_needed:
            self.pages_needed -= 1
            data = {"elicitations": arguments["pages"]}
            raise MCPError(URL_ELICITATION_REQUIRED, "open a page first", data)
        for report in arguments.get("reports", ()):
            await context.session.report_progress(*report)
        for level, said, logger in arguments.get("lines", ()):
            line = LoggingMessageNotificationParams(level=level, data=said, logger=logger)
            await context.session.send_notification(LoggingMessageNotification(params=line))
        if "ask" not in arguments:
            return await super()._call(context, params)
        self.calls.append(params.name)
        requests = {key: _REQUEST.validate_python(one) for key, one in arguments["ask"].items()}
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            if params.input_responses is None:
                return InputRequiredResult(input_requests=requests, request_state="so far")
            return _told({key: _dumped(one) for key, one in params.input_responses.items()})
        return _told({key: await _asked(context, one) for key, one in requests.items()})


async def _asked(context: ServerRequestContext[Any], request: InputRequest) -> dict[str, Any]:
    try:
        return _dumped(await context.session.send_request(request, _RESULTS[request.method]))
    except MCPError as error:
        return {"code": error.code, "message": error.message}


def _dumped(response: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = response.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {name: value for name, value in dumped.items() if name not in ("_meta", "resultType")}


def _told(answers: dict[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=json.dumps(answers))])


def program_row(identifier: str, *flags: str, **fields: Any) -> StdioServerRow:
    """A row that starts the program that asks."""
    args = (*PROGRAM_ARGS, *flags)
    return StdioServerRow(id=identifier, command=sys.executable, args=args, **fields)


def form(message: str = "Who are you?", **properties: Any) -> dict[str, Any]:
    """A request for a form; ``required`` names fields that must be filled in."""
    required = properties.pop("required", [])
    schema = {"type": "object", "properties": properties, "required": required}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def page(url: str, message: str = "Sign in.") -> dict[str, Any]:
    """A request for a page."""
    params = {"mode": "url", "message": message, "url": url, "elicitationId": "e1"}
    return {"method": "elicitation/create", "params": params}


def sample(text: str = "Say hello.", **fields: Any) -> dict[str, Any]:
    """A request for the model."""
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    params = {"messages": messages, "maxTokens": 100, **fields}
    return {"method": "sampling/createMessage", "params": params}
