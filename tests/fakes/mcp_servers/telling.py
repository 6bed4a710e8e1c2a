"""A stdio MCP server of the standard library alone that tells all it was given, wherever it can.

Started as a script. What it tells is each value of its environment, its arguments and its calls
that has ``MARK`` in it, in every spelling that servers use: on stderr, in its instructions, the
descriptions of its tools, log lines, progress, errors, questions and results; with ``--names`` it
calls a tool so.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import Any
from urllib.parse import quote, quote_plus

MARK = "c4nary"
TOLD: dict[str, None] = {}
WAITING: dict[Any, Any] = {}


def learn(value: Any) -> None:
    """Keep what is to be told."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            learn(inner)
    elif isinstance(value, str) and MARK in value:
        spelt = (value, json.dumps(value), repr(value), quote(value, safe=""), quote_plus(value))
        TOLD.update(dict.fromkeys(spelt))
        for before in ("", "me:", "user:"):
            told = (before + value).encode()
            TOLD[base64.b64encode(told).decode()] = None
            TOLD[base64.urlsafe_b64encode(told).decode()] = None


def story() -> str:
    """Everything at once."""
    return f"I was given {' and '.join(TOLD)}!"


def write(message: dict[str, Any]) -> None:
    """One message, one line."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tell() -> None:
    """The same on stderr, which is read at leisure."""
    sys.stderr.write(story() + "\n")
    sys.stderr.flush()


def result_of(method: str) -> dict[str, Any] | None:
    """What is listed and read."""
    text = {"type": "text", "text": story()}
    schema = {"type": "object", "properties": {"key": {"description": story(), "default": story()}}}
    tool = {"title": story(), "description": story(), "annotations": {"title": story()}}
    names = ("say", "fail", "error", "ask", "sample", "die", "strict", "mute")
    tools = [{**tool, "name": name, "inputSchema": schema} for name in names]
    tools[names.index("strict")]["inputSchema"] = {
        "type": "object",
        "properties": {"token": {"type": "integer"}, "note": {"type": "integer"}},
    }
    named = {**tool, "name": next(iter(TOLD), "x"), "inputSchema": schema}
    results: dict[str, dict[str, Any]] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {},
                "resources": {},
                "prompts": {},
                "logging": {},
                "experimental": {"told": {"story": story()}},
            },
            "serverInfo": {"name": "telling", "version": "1", "title": story()},
            "instructions": story(),
        },
        "tools/list": {"tools": tools + ([named] if "--names" in sys.argv else [])},
        "resources/list": {"resources": [{"uri": "a://b", "name": "b", "description": story()}]},
        "resources/templates/list": {"resourceTemplates": []},
        "resources/read": {"contents": [{"uri": "a://b", "text": story()}]},
        "prompts/list": {"prompts": [{"name": "p", "description": story()}]},
        "prompts/get": {"messages": [{"role": "user", "content": text}], "description": story()},
    }
    return results.get(method)


def call(identifier: Any, params: dict[str, Any]) -> None:
    """One call of a tool."""
    name = params["name"]
    learn(params.get("arguments"))
    tell()
    sys.stdout.write(f"noise: {story()}\n")
    line = {"level": "error", "logger": story(), "data": {"story": story()}}
    write({"method": "notifications/message", "params": line})
    token = params.get("_meta", {}).get("progressToken")
    if token is not None:
        report = {"progressToken": token, "progress": 1, "message": story()}
        write({"method": "notifications/progress", "params": report})
    if name == "die":
        sys.exit(3)
    if name == "error":
        error = {"code": -32000, "message": story(), "data": {"story": story()}}
        write({"id": identifier, "error": error})
    elif name in ("ask", "sample"):
        text = {"type": "text", "text": story()}
        schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
        form = {"mode": "form", "message": story(), "requestedSchema": schema}
        asked = {"messages": [{"role": "user", "content": text}], "systemPrompt": story()}
        WAITING["q"] = identifier
        method = "elicitation/create" if name == "ask" else "sampling/createMessage"
        write({"id": "q", "method": method, "params": form | asked | {"maxTokens": 9}})
    elif name != "mute":
        content = [{"type": "text", "text": story()}]
        write({"id": identifier, "result": {"content": content, "isError": name == "fail"}})


def respond(message: dict[str, Any]) -> None:
    """Answers one message."""
    method, identifier = message.get("method"), message.get("id")
    if method is None:
        content = [{"type": "text", "text": "asked"}]
        write({"id": WAITING.pop(identifier), "result": {"content": content}})
    elif method == "tools/call":
        call(identifier, message["params"])
    elif (result := result_of(method)) is not None:
        write({"id": identifier, "result": result})
    elif identifier is not None:
        write({"id": identifier, "error": {"code": -32601, "message": f"{method}? {story()}"}})


if __name__ == "__main__":
    learn([*os.environ.values(), *sys.argv])
    tell()
    if "--die" in sys.argv:
        sys.exit(3)
    for received in sys.stdin:
        respond(json.loads(received))
