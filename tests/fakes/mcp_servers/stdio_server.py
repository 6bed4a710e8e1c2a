"""A stdio MCP server of the standard library alone, as bad as its flags ask for.

Started as a script (``python -I -S stdio_server.py --mute``), since it must be up in a few
milliseconds. It speaks the session era, and 2026-07-28 as well with ``--modern``.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

MODERN = "2026-07-28"
TOLD_LAST = "ModuleNotFoundError: No module named 'warehouse'"


def parsed_flags() -> argparse.Namespace:
    """What the test asked for."""
    flags = argparse.ArgumentParser()
    flags.add_argument("--modern", action="store_true", help="answer server/discover")
    flags.add_argument("--exit-at-start", metavar="WORDS", help="say so on stderr and exit 3")
    flags.add_argument("--exit-on-discover", action="store_true", help="die of the probe")
    flags.add_argument("--mute-on-discover", action="store_true", help="never answer again")
    flags.add_argument("--strict", action="store_true", help="list nothing before initialize")
    flags.add_argument("--mute", action="store_true", help="read, and answer nothing")
    flags.add_argument("--exit-after", type=float, metavar="SECONDS", help="mute, then exit 3")
    flags.add_argument("--exit-code", type=int, default=0, help="with which it ends when told to")
    flags.add_argument("--ignore-eof", action="store_true", help="go on when the input ends")
    flags.add_argument("--start-seconds", type=float, default=0, help="be slow to start")
    flags.add_argument("--deaf", action="store_true", help="ignore the input's end and SIGTERM")
    flags.add_argument("--stop-reading", action="store_true", help="for a while, after the listing")
    flags.add_argument("--close-input", action="store_true", help="before the listing")
    flags.add_argument("--grandchild", action="store_true", help="start another process")
    flags.add_argument("--garbage", action="store_true", help="print what is no JSON-RPC")
    flags.add_argument("--garbage-line", action="store_true", help="print a long one")
    flags.add_argument("--garbage-at-end", action="store_true", help="print some when told to end")
    flags.add_argument("--bad-utf8", action="store_true", help="bytes that are no UTF-8")
    flags.add_argument("--shout", type=int, default=0, metavar="BYTES", help="fill stderr first")
    flags.add_argument("--colours", action="store_true", help="escape codes on stderr")
    flags.add_argument("--stderr", default="", metavar="TEXT", help="words there at once")
    flags.add_argument("--traceback", type=int, default=0, metavar="FRAMES", help="on stderr")
    flags.add_argument("--tools", default="", metavar="NAMES", help="list these alone, MORE too")
    flags.add_argument("--listing-bytes", type=int, default=0, help="length of the listing's line")
    flags.add_argument("--pages", type=int, default=1, help="pages of the listing")
    flags.add_argument("--loop-pages", action="store_true", help="repeat a cursor for ever")
    flags.add_argument("--bad-tool", action="store_true", help="list one that is none")
    flags.add_argument("--task-tool", action="store_true", help="list one that needs tasks")
    flags.add_argument("--ask-roots", action="store_true", help="ask for roots before listing")
    flags.add_argument("--roots-ids", default="[]", metavar="JSON", help="ask, list when answered")
    flags.add_argument("--mark", default="", help="answered by the tool `mark`")
    flags.add_argument("--fail-list", action="store_true", help="answer tools/list with an error")
    flags.add_argument("--chatter", action="store_true", help="log without end, answer nothing")
    flags.add_argument("--diary", metavar="FILE", help="note calls of `echo` and `sleep`")
    return flags.parse_args()


FLAGS = parsed_flags()
WRITING = threading.Lock()
CANCELLED: dict[Any, threading.Event] = {}
SEEN: list[str] = []
ROOTS: list[Any] = []
ROOTS_IDS: list[Any] = json.loads(FLAGS.roots_ids)
ANSWERED: list[Any] = []
HELD: list[Any] = []
UNLISTED: list[Any] = []


def write(message: dict[str, Any]) -> None:
    """One message, one line."""
    with WRITING:
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        sys.stdout.buffer.flush()


def tell(text: str) -> None:
    """Words on stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def text_result(text: str) -> dict[str, Any]:
    """A tool's answer."""
    return {"content": [{"type": "text", "text": text}], "resultType": "complete"}


TOOLS = {
    "echo": {"text": {"type": "string"}},
    "sleep": {"seconds": {"type": "number"}},
    "crash": {},
    "exit": {"code": {"type": "integer"}},
    "environment": {"name": {"type": "string"}},
    "folder": {},
    "mark": {},
    "seen": {},
    "roots": {},
    "repeat": {"count": {"type": "integer"}},
    "refuse": {},
    "change": {},
}
MORE: dict[str, Any] = {
    "hold": {},
    "held": {},
    "release": {},
    "babble": {},
    "flood": {"count": {"type": "integer"}},
    "answered": {},
}
if FLAGS.tools:
    TOOLS = {name: (TOOLS | MORE)[name] for name in FLAGS.tools.split(",")}


def listing(cursor: str | None) -> dict[str, Any]:
    """One page of the tools."""
    names = list(TOOLS)
    page, size = int(cursor or 0), -(-len(names) // FLAGS.pages)
    tools: list[Any] = [
        {"name": name, "inputSchema": {"type": "object", "properties": TOOLS[name]}}
        for name in names[page * size : (page + 1) * size]
    ]
    if FLAGS.bad_tool:
        tools.insert(0, {"name": "bad", "inputSchema": None})
    if FLAGS.task_tool:
        execution = {"taskSupport": "required"}
        tools.append({"name": "task", "inputSchema": {"type": "object"}, "execution": execution})
    result: dict[str, Any] = {"tools": tools}
    if FLAGS.modern:
        result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if FLAGS.loop_pages:
        result["nextCursor"] = "1"
    elif page + 1 < FLAGS.pages:
        result["nextCursor"] = str(page + 1)
    return result


def call(identifier: Any, name: str, args: dict[str, Any]) -> None:
    """Answer one tools/call; ``sleep`` in a thread of its own, so that others go on."""
    if name == "crash":
        tell("the tool crashed")
        os.kill(os.getpid(), args.get("signal", signal.SIGKILL))
    if name == "exit":
        tell("leaving on request")
        os._exit(args.get("code", 1))
    if FLAGS.diary and name in ("echo", "sleep"):
        with open(FLAGS.diary, "a", encoding="utf-8") as diary:
            diary.write(f"{args.get('text', name)}\n")
    if name == "sleep":
        threading.Thread(target=sleep, args=(identifier, args["seconds"]), daemon=True).start()
    elif name == "hold":
        HELD.append(identifier)
    elif name == "refuse":
        write({"id": identifier, "error": {"code": -32000, "message": "not today"}})
    else:
        write({"id": identifier, "result": text_result(answer(name, args))})


def sleep(identifier: Any, seconds: float) -> None:
    """Wait, unless cancelled."""
    if not CANCELLED.setdefault(identifier, threading.Event()).wait(seconds):
        write({"id": identifier, "result": text_result("slept")})


def answer(name: str, args: dict[str, Any]) -> str:
    """What the plain tools say."""
    if name == "repeat":
        return "x" * int(args["count"])
    if name == "change":
        TOOLS["added"] = {}
        for _ in range(5):
            write({"method": "notifications/tools/list_changed"})
    if name == "release":
        while HELD:
            write({"id": HELD.pop(), "result": text_result("held")})
    if name == "babble":
        sys.stdout.write("[WARN] No configuration file found\n")
        sys.stdout.flush()
    if name == "flood":
        sys.stdout.write("y" * int(args["count"]))
        sys.stdout.flush()
    answers: dict[str, str] = {
        "echo": str(args.get("text")),
        "environment": os.environ.get(str(args.get("name")), "(unset)"),
        "folder": os.getcwd(),
        "mark": FLAGS.mark,
        "seen": " ".join(SEEN),
        "roots": json.dumps(ROOTS),
        "held": str(len(HELD)),
        "answered": json.dumps(ANSWERED),
    }
    return answers.get(name, "done")


def respond(request: dict[str, Any]) -> None:
    """Answer one request or take note of one notification."""
    method, identifier = request.get("method"), request.get("id")
    params = request.get("params") or {}
    SEEN.append(str(method))
    if method is None:
        take_roots(identifier, request.get("result"))
    elif method == "server/discover":
        discover(identifier)
    elif method == "initialize":
        write({"id": identifier, "result": handshake()})
    elif method == "tools/list":
        listed(identifier, params.get("cursor"))
    elif method == "tools/call":
        call(identifier, params["name"], params.get("arguments") or {})
    elif method == "notifications/cancelled":
        CANCELLED.setdefault(params["requestId"], threading.Event()).set()
    elif method == "notifications/initialized":
        if FLAGS.ask_roots:
            write({"id": 0, "method": "roots/list"})
    elif identifier is not None:
        write({"id": identifier, "error": {"code": -32601, "message": "Method not found"}})


def take_roots(identifier: Any, roots: Any) -> None:
    """An answer to a question of ours; the last of them lets the listing go."""
    ROOTS.append(roots)
    ANSWERED.append(identifier)
    if UNLISTED and len(ANSWERED) == len(ROOTS_IDS):
        write({"id": UNLISTED.pop(), "result": listing(None)})


def discover(identifier: Any) -> None:
    """The probe for the newer era."""
    if FLAGS.exit_on_discover:
        tell("what is server/discover?")
        os._exit(1)
    if FLAGS.mute_on_discover:
        FLAGS.mute = True
    elif FLAGS.modern:
        result = {
            "supportedVersions": [MODERN],
            "capabilities": {"tools": {"listChanged": True}},
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
        }
        write({"id": identifier, "result": result})
    else:
        write({"id": identifier, "error": {"code": -32601, "message": "Method not found"}})


def handshake() -> dict[str, Any]:
    """What initialize is answered with."""
    return {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "plain", "version": "1"},
        "instructions": "be plain",
    }


def listed(identifier: Any, cursor: str | None) -> None:
    """Answer tools/list, as the flags want it."""
    if FLAGS.fail_list:
        write({"id": identifier, "error": {"code": -32603, "message": "fetch failed"}})
        return
    if FLAGS.strict and "initialize" not in SEEN:
        write({"id": identifier, "error": {"code": -32602, "message": "not initialized"}})
        return
    if ROOTS_IDS and not ANSWERED:
        UNLISTED.append(identifier)
        for root in ROOTS_IDS:
            write({"id": root, "method": "roots/list"})
        return
    if FLAGS.close_input:
        os.close(0)
    result = listing(cursor)
    if FLAGS.listing_bytes:
        line = json.dumps({"jsonrpc": "2.0", "id": identifier, "result": result})
        result["tools"][0]["description"] = "d" * (FLAGS.listing_bytes - len(line) - 20)
    write({"id": identifier, "result": result})
    if FLAGS.stop_reading or FLAGS.close_input:
        time.sleep(1.2)


def chatter() -> None:
    """Log lines, one after the other."""
    while True:
        params = {"level": "info", "data": "still working on it"}
        write({"method": "notifications/message", "params": params})
        time.sleep(0.05)


def say_first() -> None:
    """What stands on stderr before the first message."""
    if FLAGS.shout:
        sys.stderr.buffer.write(b"e" * FLAGS.shout + b"\n")
        sys.stderr.flush()
    if FLAGS.colours:
        sys.stderr.buffer.write(b"\x1b[31mred\x1b[0m \xff alert\n")
        sys.stderr.flush()
    if FLAGS.traceback:
        frames = (
            f'  File "/srv/{n}.py", line {n}, in f\n    g()\n' for n in range(FLAGS.traceback)
        )
        tell(f"Traceback (most recent call last):\n{''.join(frames)}{TOLD_LAST}")
    if FLAGS.stderr:
        sys.stderr.buffer.write(os.fsencode(FLAGS.stderr) + b"\n")
        sys.stderr.flush()


def begin() -> None:
    """What happens before the first message."""
    say_first()
    if FLAGS.exit_after is not None:
        time.sleep(FLAGS.exit_after)
        sys.exit(3)
    if FLAGS.exit_at_start:
        tell(FLAGS.exit_at_start)
        sys.exit(3)
    if FLAGS.chatter:
        FLAGS.mute = True
        threading.Thread(target=chatter, daemon=True).start()
    if FLAGS.deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if FLAGS.grandchild:
        code = (
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
        )
        subprocess.Popen([sys.executable, "-I", "-S", "-c", code])
    time.sleep(FLAGS.start_seconds)
    if FLAGS.garbage:
        sys.stdout.write("Starting server\n\n" + "y" * 500 + "\n[1, 2]\n")
        sys.stdout.flush()
    if FLAGS.garbage_line:
        sys.stdout.write("y" * 500 + "\n")
        sys.stdout.flush()
    if FLAGS.bad_utf8:
        sys.stdout.buffer.write(b"caf\xe9\n")
        sys.stdout.flush()


def main() -> None:
    """Read requests until the input ends, and longer when deaf."""
    begin()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if not FLAGS.mute:
            respond(request)
    if FLAGS.garbage_at_end:
        sys.stdout.write("Goodbye!\n")
    while FLAGS.deaf or FLAGS.ignore_eof:
        time.sleep(3600)
    sys.exit(FLAGS.exit_code)


if __name__ == "__main__":
    main()
