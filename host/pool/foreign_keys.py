"""Keys that other MCP clients write into the same files: dropped, and told once each.

Source: design §8 "Foreign keys"; the list is of the clients named beside the keys, as seen. An
import (``host.config.import_bodies``) carries over what some of them mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FOREIGN_KEYS: frozenset[str] = frozenset(
    {
        "autoApprove",  # Cline, Kiro
        "alwaysAllow",  # Roo
        "timeout",  # Cline, Roo, Gemini CLI: seconds here, milliseconds there
        "disabledTools",  # Kiro, Roo
        "name",  # Cherry Studio; the key is the name here
        "icon",
        "iconUrl",
        "logoUrl",  # Cherry Studio
        "description",
        "inputs",
        "gallery",  # VS Code
        "version",
        "dev",
        "sandbox",
        "sandboxEnabled",  # VS Code
        "envFile",  # VS Code, Cursor
        "source",  # Zed
        "settings",
        "remote",
        "tools",  # Copilot CLI
        "trust",  # Gemini CLI
        "includeTools",
        "excludeTools",
        "authProviderType",
        "targetAudience",
        "targetServiceAccount",
        "oauth",  # Gemini CLI, opencode, Zed
        "codemode",  # opencode
        "headersHelper",  # Claude Code
        "watchPaths",  # Roo
        "networkTimeout",  # Cline
        "tags",
        "provider",
        "registryUrl",
        "installedAt",
        "note",
        "notes",
        "_comment",
        "$schema",
    }
)
"""Names that are no mistake in a server's body, although they mean nothing here."""


def split_foreign_keys(body: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The body without foreign keys, and those keys in their order."""
    known = {key: value for key, value in body.items() if key not in FOREIGN_KEYS}
    return known, tuple(key for key in body if key in FOREIGN_KEYS)


OUR_EQUIVALENTS: Mapping[str, str] = {
    "timeout": "callTimeoutMs",
    "networkTimeout": "callTimeoutMs",
    "disabledTools": "hiddenTools",
    "excludeTools": "hiddenTools",
    "includeTools": "hiddenTools",
    "tools": "hiddenTools",
    "autoApprove": "agent.approve",
    "alwaysAllow": "agent.approve",
    "trust": "agent.approve",
    "envFile": "env",
    "headersHelper": "headers",
    "name": "label",
}
"""What does the same here, for those keys that anything does it for."""


def foreign_key_notice(key: str) -> str:
    """What a person is told about a dropped key; ours is named where it does the same."""
    ours = OUR_EQUIVALENTS.get(key)
    return f'"{key}" is of another client and is ignored' + (f'; ours is "{ours}"' if ours else "")
