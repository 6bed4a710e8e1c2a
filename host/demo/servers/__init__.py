"""The bundled MCP servers: ``agent-host-demo-server NAME`` serves one of them over stdio.

They are programs of their own: the host starts them like any other server and never imports
them. Only the one that is asked for is imported, after the arguments have been read.
"""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

FOLDER_VARIABLE = "NOTES_FOLDER"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves the named server until its stdin ends; the exit status.

    Wrong arguments end the program with status 2 and say which names there are.
    """
    options = _parser().parse_args(arguments)
    # Ctrl-C ends the process as the system does: a thread that waits on stdin would hold up
    # Python's own way out, and what the servers write is whole at any moment.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server = _server(options)
    from host.demo.servers.bundled import serve_stdio

    serve_stdio(server)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agent-host-demo-server", description="Serves one bundled MCP server over stdio."
    )
    names = parser.add_subparsers(dest="name", metavar="NAME", required=True)
    names.add_parser("clock", help="times, time zones and dates")
    names.add_parser("units", help="conversion and exact arithmetic")
    notes = names.add_parser("notes", help="notes kept in a folder, also as a memory for hooks")
    folder = os.environ.get(FOLDER_VARIABLE)
    notes.add_argument(
        "--folder",
        type=Path,
        default=Path(folder) if folder else None,
        required=not folder,
        help=f"where the notes are kept (otherwise ${FOLDER_VARIABLE})",
    )
    return parser


def _server(options: argparse.Namespace) -> Server:
    if options.name == "clock":
        from host.demo.servers.clock import clock_server

        return clock_server()
    if options.name == "units":
        from host.demo.servers.units import units_server

        return units_server()
    from host.demo.note_store import NoteStore
    from host.demo.servers.notes import notes_server

    return notes_server(NoteStore(options.folder))
