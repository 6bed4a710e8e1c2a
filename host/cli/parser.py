"""The arguments of ``agent-host``. Nothing heavy is imported here: ``--help`` stays fast."""

from __future__ import annotations

import argparse

import host
from host.cli.flag_values import at_least_one, positive_seconds, web_address
from host.records import DISCOVERY_MODES

ABOUT = "Point a model at a fleet of MCP servers: names first, schemas on demand."
EXIT_STATUSES = (
    "Exit status: 0 done; 1 the run or a server failed; 2 wrong usage or configuration; "
    "130 interrupted."
)


def build_parser() -> argparse.ArgumentParser:
    """The whole command line as one parser; ``command`` names what was asked for."""
    parser = argparse.ArgumentParser(
        prog="agent-host", description=ABOUT, epilog=EXIT_STATUSES, allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"agent-host {host.__version__}")
    _add_config(parser, default=None)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_demo(commands)
    _add_ask(commands)
    _add_chat(commands)
    _add_servers(commands)
    _add_tools(commands)
    _add_call(commands)
    _add_check(commands)
    _add_import(commands)
    _add_login(commands)
    _add_logout(commands)
    return parser


Commands = argparse._SubParsersAction


def _command(
    commands: Commands[argparse.ArgumentParser], name: str, help_text: str, *, config: bool = True
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=help_text, description=help_text, allow_abbrev=False)
    if config:
        _add_config(parser, default=argparse.SUPPRESS)
    return parser


def _add_config(parser: argparse.ArgumentParser, *, default: str | None) -> None:
    parser.add_argument(
        "--config",
        metavar="FILE",
        default=default,
        help="the servers file (default: ./servers.json, then ~/.config/agent-host/servers.json)",
    )


def _add_endpoint(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("endpoint")
    place = group.add_mutually_exclusive_group()
    place.add_argument(
        "--base-url", type=web_address, metavar="URL", help="an OpenAI-compatible endpoint, …/v1"
    )
    place.add_argument(
        "--gguf", metavar="FILE", help="a model's file, served here by xllamacpp (extra: local)"
    )
    group.add_argument("--model", metavar="NAME", help="the model to ask")
    group.add_argument("--api-key", metavar="KEY", help="its key (better: OPENAI_API_KEY)")


def _add_discovery(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--discovery",
        choices=DISCOVERY_MODES,
        help="how the model learns of tools (default: agent.discovery, else names)",
    )


def _add_fresh(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="start every server and ask for its tools, even where they are saved from last time",
    )


def _add_json(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def _add_demo(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "demo",
        "run the main job on three bundled servers; needs no key, no model and no network",
        config=False,
    )
    _add_endpoint(parser)
    _add_discovery(parser)
    parser.add_argument(
        "--question", metavar="TEXT", help="your own question (needs --base-url or --gguf)"
    )


def _add_ask(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "ask", "ask one question and stream the answer")
    parser.add_argument("question", metavar="QUESTION", help="the question; - reads it from stdin")
    _add_endpoint(parser)
    _add_discovery(parser)
    _add_fresh(parser)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="print every event as one JSON line")
    group.add_argument("--quiet", action="store_true", help="print the answer only")


def _add_chat(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "chat", "talk in turns; Ctrl-C stops the turn, Ctrl-D ends")
    _add_endpoint(parser)
    _add_discovery(parser)
    _add_fresh(parser)


def _add_servers(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "servers", "connect to every server and show how it is")
    parser.add_argument("--watch", action="store_true", help="keep showing, until Ctrl-C")
    _add_json(parser, "the states")


def _add_tools(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "tools", "list, search or show the tools of the fleet")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = _command(actions, "list", "every tool's name, by server")
    search = _command(actions, "search", "the tools that fit some words, best first")
    search.add_argument("query", metavar="WORDS", nargs="+")
    search.add_argument(
        "--limit", type=at_least_one, default=10, metavar="N", help="at most N (default 10)"
    )
    show = _command(actions, "show", "one tool's description and schema")
    show.add_argument("name", metavar="NAME", help="the qualified name, as `tools list` prints it")
    for parser in (listing, search, show):
        _add_fresh(parser)
        _add_json(parser, "what is found")


def _add_call(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "call", "call one tool and print its result")
    parser.add_argument(
        "name", metavar="NAME", help="the qualified name, as `tools list` prints it"
    )
    parser.add_argument(
        "arguments", metavar="JSON", nargs="?", default="{}", help="its arguments; - reads stdin"
    )
    parser.add_argument(
        "--timeout",
        type=positive_seconds,
        metavar="SECONDS",
        help="give up after this long (default 60)",
    )
    _add_fresh(parser)
    _add_json(parser, "the result as the protocol has it")


def _add_check(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands, "check", "check the file, dial every server, ask the endpoint for its models"
    )
    _add_endpoint(parser)
    _add_json(parser, "what was found")


def _add_import(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "import",
        "take over servers from other MCP clients; without a source, list what they have",
        config=False,
    )
    parser.add_argument(
        "source",
        metavar="CLIENT|PATH",
        nargs="*",
        help="a client (claude-desktop, claude-code, cursor, vscode, windsurf, lm-studio, cline, "
        "gemini, opencode, zed), a file, a project's folder, or all",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--list", action="store_true", help="only list what is there")
    group.add_argument("--into", metavar="FILE", help="add the servers to this servers file")
    _add_json(parser, "what is found and done")


def _add_login(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "login", "log in to a server over http, in your browser")
    parser.add_argument("server", metavar="SERVER", help="its name in the servers file")
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address and open nothing"
    )
    parser.add_argument(
        "--timeout",
        type=positive_seconds,
        metavar="SECONDS",
        default=300.0,
        help="wait for you this long (default 300)",
    )
    _add_json(parser, "what came of it")


def _add_logout(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "logout", "forget the login of a server")
    parser.add_argument("server", metavar="SERVER", help="its name in the servers file")
    _add_json(parser, "what came of it")
