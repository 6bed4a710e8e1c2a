"""Starts ``agent-host`` processes quickly: imports its modules once, then forks for each.

A child is a process like any other: its own arguments, environment, folder, streams and session,
and the interpreter's whole end. Only the imports, some two seconds of work each, are shared.

``python -m tests.journeys.fork_server SOCKET``: each connection sends one JSON line with
``args``, ``cwd`` and ``env`` along with stdin, stdout and stderr; it is answered with the child's
process id, and with its exit status when it has ended.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

PRELOADED = ("ask", "call", "chat", "check", "servers", "tools")


def serve(path: str) -> list[str]:
    """Answers connections until the process is ended; returns in each child, with its arguments."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    return start_child(connection)


def start_child(connection: socket.socket) -> list[str]:
    """Starts a child, tells who it is and how it ended, and ends; returns in the child."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    line, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    wanted = json.loads(line)
    pid = os.fork()
    if pid == 0:
        return become(wanted, streams)
    for stream in streams:
        os.close(stream)
    with suppress(BrokenPipeError):  # whoever wanted to know may have gone
        connection.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def become(wanted: dict[str, Any], streams: list[int]) -> list[str]:
    """Takes on what a started program would have been given; returns its arguments."""
    os.setsid()
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
        os.close(stream)
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    args: list[str] = wanted["args"]
    sys.argv = ["agent-host", *args]
    return args


def main() -> None:
    """Imports what costs time, says so, and serves; a child goes on as ``agent-host``."""
    for name in PRELOADED:
        importlib.import_module(f"host.cli.{name}")
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries those who watch children
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    args = serve(sys.argv[1])
    from host.cli.main import main as host_main

    sys.exit(host_main(args))


if __name__ == "__main__":
    main()
