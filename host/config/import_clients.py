"""The clients whose configuration can be imported, and what each means by what it writes.

Seen in the clients' documentation and sources of 2025 and 2026: what a unit of ``timeout`` is in
Claude Code, LM Studio, Gemini CLI and opencode (milliseconds), Cline and Zed (seconds); who tries
the older HTTP transport by itself; who reads ``$VAR``.
"""

from __future__ import annotations

from dataclasses import dataclass

from host.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that keeps MCP servers in a file of its own.

    Attributes:
        id: what it is called on the command line.
        name: what people call it.
        timeout_ms: a unit of its servers' ``timeout`` in milliseconds; None for unknown.
        tries_sse: the types (None for no type) with which an address may be one of the older HTTP
            transport, since the client tries both.
        bare_dollar: ``$VAR`` is a variable, too.
        addresses: where a remote server's address stands; the first that is there counts.
    """

    id: str
    name: str
    timeout_ms: int | None = None
    tries_sse: tuple[str | None, ...] = ()
    bare_dollar: bool = False
    addresses: tuple[str, ...] = ("url", "serverUrl", "httpUrl")


_MILLISECOND, _SECOND = 1, 1000

CLAUDE_DESKTOP = Client(id="claude-desktop", name="Claude Desktop")
CLAUDE_CODE = Client(id="claude-code", name="Claude Code", timeout_ms=_MILLISECOND)
CURSOR = Client(id="cursor", name="Cursor", tries_sse=(None,))
VSCODE = Client(id="vscode", name="VS Code", tries_sse=(None, "http"))
WINDSURF = Client(
    id="windsurf", name="Windsurf", tries_sse=(None,), addresses=("serverUrl", "url", "httpUrl")
)
LM_STUDIO = Client(id="lm-studio", name="LM Studio", timeout_ms=_MILLISECOND, tries_sse=(None,))
CLINE = Client(id="cline", name="Cline", timeout_ms=_SECOND, tries_sse=(None,))
GEMINI = Client(
    id="gemini",
    name="Gemini CLI",
    timeout_ms=_MILLISECOND,
    tries_sse=(None,),
    bare_dollar=True,
    addresses=("httpUrl", "url", "serverUrl"),
)
OPENCODE = Client(
    id="opencode", name="opencode", timeout_ms=_MILLISECOND, tries_sse=(None, "remote")
)
ZED = Client(id="zed", name="Zed", timeout_ms=_SECOND)

CLIENTS = (
    CLAUDE_DESKTOP,
    CLAUDE_CODE,
    CURSOR,
    VSCODE,
    WINDSURF,
    LM_STUDIO,
    CLINE,
    GEMINI,
    OPENCODE,
    ZED,
)

OTHER = Client(id="other", name="another client")
"""Whoever wrote a file that tells nothing about its writer."""


def client_named(text: str) -> Client | None:
    """The client that is called so, however it is spelled (``LM Studio``, ``lmstudio``).

    None where no client is called so.

    Raises:
        ConfigError: it is the beginning that several share (``claude``).
    """
    plain = _plain(text)
    for client in CLIENTS:
        if plain in (_plain(client.id), _plain(client.name)):
            return client
    meant = [client.id for client in CLIENTS if plain and _plain(client.id).startswith(plain)]
    if len(meant) > 1 and all(client.startswith(f"{plain}-") for client in meant):
        raise ConfigError(text, [f"may be {' or '.join(meant)}; name one"])
    return None


def _plain(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
