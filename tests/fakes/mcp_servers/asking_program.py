"""A stdio MCP server of the standard library alone that asks its client in the middle of calls.

Started as a script. It speaks the session era, or 2026-07-28 with ``--modern``. The tool ``ask``
sends the request in its arguments (``method``, ``params``) and answers with what it is told; the
tool ``report`` reports progress and a log line; the tool ``page`` needs a page at first.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

MODERN = "--modern" in sys.argv
VERSION = "2026-07-28" if MODERN else "2025-11-25"
NEEDED = {
    "mode": "url",
    "message": "Sign in",
    "url": "https://auth.test/x?1",
    "elicitationId": "e",
}
WAITING: dict[Any, Any] = {}
CALLS: list[str] = []


def write(message: dict[str, Any]) -> None:
    """One message, one line."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(identifier: Any, text: str) -> None:
    """A tool's answer."""
    result = {"content": [{"type": "text", "text": text}], "resultType": "complete"}
    write({"id": identifier, "result": result})


def call(identifier: Any, params: dict[str, Any]) -> None:
    """One call of a tool."""
    name, arguments = params["name"], params.get("arguments") or {}
    CALLS.append(name)
    if name == "page" and CALLS.count("page") == 1:
        error = {"code": -32042, "message": "sign in first", "data": {"elicitations": [NEEDED]}}
        write({"id": identifier, "error": error})
    elif name == "report":
        token = params.get("_meta", {}).get("progressToken")
        for step in range(1, 4):
            report = {"progressToken": token, "progress": step, "total": 4, "message": "at it"}
            write({"method": "notifications/progress", "params": report})
            time.sleep(0.05)
        line = {"level": "warning", "logger": "disk", "data": "nearly full"}
        write({"method": "notifications/message", "params": line})
        answer(identifier, "reported")
    elif name != "ask":
        answer(identifier, name)
    elif not MODERN:
        asked = f"q{len(CALLS)}"
        WAITING[asked] = identifier
        write({"id": asked, **arguments})
    elif "inputResponses" in params:
        answer(identifier, json.dumps(params["inputResponses"]["k"]))
    else:
        result = {"resultType": "input_required", "inputRequests": {"k": arguments}}
        write({"id": identifier, "result": {**result, "requestState": "s"}})


def respond(message: dict[str, Any]) -> None:
    """Answers one message."""
    method, identifier = message.get("method"), message.get("id")
    if method is None:
        told = message.get("result", message.get("error"))
        answer(WAITING.pop(identifier), json.dumps(told))
    elif method == "server/discover" and MODERN:
        result = {"supportedVersions": [VERSION], "capabilities": {"tools": {}}}
        complete = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        write({"id": identifier, "result": result | complete})
    elif method == "initialize" and not MODERN:
        about = {"name": "asking", "version": "1"}
        result = {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": about}
        write({"id": identifier, "result": result})
    elif method == "tools/list":
        names = ("ask", "report", "page", "ping")
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
        complete = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        write({"id": identifier, "result": {"tools": tools, **(complete if MODERN else {})}})
    elif method == "tools/call":
        call(identifier, message["params"])
    elif identifier is not None:
        write({"id": identifier, "error": {"code": -32601, "message": "Method not found"}})


for received in sys.stdin:
    respond(json.loads(received))
