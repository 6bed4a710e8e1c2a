"""From arguments to an exit status: every error becomes a line or two, never a traceback."""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
from collections.abc import Sequence

from host.cli.parser import build_parser
from host.errors import ConfigError, HostError, PoolError
from host.text.terminal_text import clean_terminal, one_line

USAGE, FAILURE, INTERRUPTED = 2, 1, 130

TALKATIVE = ("client", "host", "mcp")
"""Loggers whose news a person gets as events; without this they would print them a second time."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status (design §8: 0, 1, 2 or 130)."""
    _accept_any_text()
    try:
        status = run_command(build_parser().parse_args(argv))
        sys.stdout.flush()
    except (HostError, KeyboardInterrupt, BrokenPipeError, BaseExceptionGroup) as error:
        return report(error)
    return status


def run_command(arguments: argparse.Namespace) -> int:
    """Reads the configuration, imports the command's module, and runs it."""
    for name in TALKATIVE:
        logging.getLogger(name).addHandler(logging.NullHandler())
    if arguments.command == "demo":
        from host.cli.demo import demo

        return demo(arguments)
    if arguments.command == "import":
        from host.cli.import_ import import_

        return import_(arguments)
    from host.cli.configuration import read_config

    config = read_config(arguments)
    match arguments.command:
        case "ask":
            from host.cli.ask import ask as command
        case "chat":
            from host.cli.chat import chat as command
        case "servers":
            from host.cli.servers import servers as command
        case "tools":
            from host.cli.tools import tools as command
        case "call":
            from host.cli.call import call as command
        case "login" | "logout":
            from host.cli.login import login_or_logout as command
        case _:
            from host.cli.check import check as command
    return command(config, arguments)


def report(error: BaseException) -> int:
    """Says on stderr why a command ended; returns the exit status that stands for it.

    In a group an interrupt counts first, then a reader of our output that has gone.

    Raises:
        BaseException: the error itself, when part of it is none of ours: a fault of this program.
    """
    causes = _leaves(error)
    if any(isinstance(cause, KeyboardInterrupt) for cause in causes):
        sys.stderr.write("agent-host: interrupted\n")
        return INTERRUPTED
    if any(isinstance(cause, BrokenPipeError) for cause in causes):
        return _deserted()
    ours = [cause for cause in causes if isinstance(cause, HostError)]
    if len(ours) < len(causes):
        raise error
    sys.stdout.flush()
    for line in dict.fromkeys(line for cause in ours for line in _lines(cause)):
        sys.stderr.write(f"agent-host: {line}\n")
    return USAGE if any(isinstance(cause, ConfigError) for cause in ours) else FAILURE


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for inner in error.exceptions for leaf in _leaves(inner)]


def _lines(error: HostError) -> list[str]:
    lines = clean_terminal(str(error)).splitlines()
    words = (
        error.detail.strip().splitlines() if isinstance(error, PoolError) and error.detail else []
    )
    if words and one_line(words[-1]) not in str(error):
        lines.append(f"its last words were: {one_line(words[-1])}")
    return lines


def _deserted() -> int:
    """Whoever read our output has gone; nobody is left to tell, nor may the last flush try."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return FAILURE


def _accept_any_text() -> None:
    """Lets text pass that the streams' encoding has no place for, as a replacement mark."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
