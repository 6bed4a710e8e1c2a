"""A stdio MCP server of the standard library that starts in a moment: ``python -I -S`` this file.

It speaks the session era. ``echo`` answers with its text, ``big`` with so many bytes.
With ``--mute`` it reads and never answers.
"""

from __future__ import annotations

import json
import sys

TOOLS = [
    {
        "name": name,
        "description": "Answers.",
        "inputSchema": {"type": "object", "properties": {key: {"type": kind}}, "required": [key]},
    }
    for name, key, kind in (("echo", "text", "string"), ("big", "bytes", "integer"))
]


def answer(method: str, params: dict[str, object]) -> dict[str, object] | None:
    """The result of a request; None for an error."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        args = params["arguments"]
        assert isinstance(args, dict)
        text = args["text"] if params["name"] == "echo" else "x" * args["bytes"]
        return {"content": [{"type": "text", "text": text}]}
    return None


def main() -> None:
    """Answers line by line until the input ends."""
    mute = "--mute" in sys.argv
    write, flush = sys.stdout.write, sys.stdout.flush
    for line in sys.stdin:
        message = json.loads(line)
        if mute or "id" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        told = (
            {"error": {"code": -32601, "message": "no"}} if result is None else {"result": result}
        )
        write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}) + "\n")
        flush()


if __name__ == "__main__":
    main()
