"""Keys that other MCP clients write into the same files: dropped, and told once each.

Source: design §8 "Foreign keys"; the list is of the clients named beside the keys, as seen.
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
        "sandboxEnabled",
        "envFile",  # VS Code, Cursor
        "source",  # Zed
        "settings",
        "tools",  # Copilot CLI
        "trust",  # Gemini CLI
        "includeTools",
        "excludeTools",
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


def foreign_key_notice(key: str) -> str:
    """What a person is told about a dropped key; ours is named where it does the same."""
    ours = {
        "timeout": "callTimeoutMs",
        "disabledTools": "hiddenTools",
        "excludeTools": "hiddenTools",
        "envFile": "env",
    }.get(key)
    return f'"{key}" is of another client and is ignored' + (f'; ours is "{ours}"' if ours else "")
