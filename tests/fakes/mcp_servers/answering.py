"""Servers that answer from a table, whatever stands in it: in memory, or as a child process.

The table gives a ``result`` by method, as it goes over the wire; an absent method is answered
with -32601. As a script (``python -I -S answering.py TABLE.json``) only the standard library is
used, and further keys count: ``stderr`` is written there at once, ``exit`` ends the script with
that status, ``says`` holds messages to send once a session begins, and a method whose answer is
``interrupt`` is answered by a Ctrl-C for whoever started the script.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

MODERN = "2026-07-28"


def greeting(
    capabilities: dict[str, Any], *, modern: bool = False, **fields: Any
) -> dict[str, Any]:
    """The part of a table that opens a session of either era."""
    who = {"serverInfo": {"name": "answering", "version": "1"}, "capabilities": capabilities}
    if modern:
        caching = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return {"server/discover": {"supportedVersions": [MODERN], **caching, **who, **fields}}
    return {"initialize": {"protocolVersion": "2025-11-25", **who, **fields}}


def answer(table: dict[str, Any], method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The ``result`` or ``error`` member of the answer; a cursor picks from a list of pages."""
    held = table.get(method)
    if held is None:
        return {"error": {"code": -32601, "message": f"no {method} here"}}
    if callable(held):
        held = held(params)
    if isinstance(held, list):
        held = held[int(params.get("cursor") or 0)]
    return held if "error" in held else {"result": held}


def write(message: dict[str, Any]) -> None:
    """One message, one line."""
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """Serves a table on the standard streams."""
    with open(sys.argv[1], encoding="utf-8") as file:
        table = json.load(file)
    sys.stderr.buffer.write(table.get("stderr", "").encode("utf-8", "surrogatepass"))
    sys.stderr.buffer.flush()
    if "exit" in table:
        raise SystemExit(table["exit"])
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if table.get(request["method"]) == "interrupt":
            os.kill(os.getppid(), signal.SIGINT)
            continue
        if "id" in request:
            said = answer(table, request["method"], request.get("params") or {})
            write({"id": request["id"], **said})
        if request["method"] == "notifications/initialized":
            for message in table.get("says", ()):
                write(message)


if __name__ == "__main__":
    main()
