"""Where the clients keep their servers, on each platform, and whose file a path is.

Paths are texts in the spelling of the platform they are for, so that those of Windows can be told
on Linux. Sources: the clients' documentation and sources of 2025 and 2026; for Claude Desktop on
Windows also the folder of its MSIX package, which is where present installations keep the file.
"""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Literal

from host.config.import_clients import (
    CLAUDE_CODE,
    CLAUDE_DESKTOP,
    CLIENTS,
    CLINE,
    CURSOR,
    GEMINI,
    LM_STUDIO,
    OPENCODE,
    OTHER,
    VSCODE,
    WINDSURF,
    ZED,
    Client,
)

Platform = Literal["linux", "macos", "windows"]
Scope = Literal["user", "project"]

_EDITORS = ("Code", "Code - Insiders", "VSCodium")
_CLINE_FILE = ("globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")
_DESKTOP_FILE = "claude_desktop_config.json"
_MSIX = ("Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude")

_USER_FILES: tuple[tuple[Client, str, tuple[str, ...]], ...] = (
    (CLAUDE_DESKTOP, "local", (*_MSIX, _DESKTOP_FILE)),
    (CLAUDE_DESKTOP, "settings", ("Claude", _DESKTOP_FILE)),
    (CLAUDE_CODE, "claude", (".claude.json",)),
    (CURSOR, "home", (".cursor", "mcp.json")),
    *((VSCODE, "settings", (editor, "User", "mcp.json")) for editor in _EDITORS),
    *((VSCODE, "settings", (editor, "User", "settings.json")) for editor in _EDITORS),
    (WINDSURF, "home", (".codeium", "windsurf", "mcp_config.json")),
    (WINDSURF, "home", (".codeium", "mcp_config.json")),
    (LM_STUDIO, "home", (".lmstudio", "mcp.json")),
    (LM_STUDIO, "home", (".cache", "lm-studio", "mcp.json")),
    *(
        (CLINE, "settings", (editor, "User", *_CLINE_FILE))
        for editor in (*_EDITORS, "Cursor", "Windsurf")
    ),
    (CLINE, "cline", ("settings", "cline_mcp_settings.json")),
    (GEMINI, "home", (".gemini", "settings.json")),
    (OPENCODE, "xdg", ("opencode", "opencode.json")),
    (OPENCODE, "xdg", ("opencode", "opencode.jsonc")),
    (OPENCODE, "xdg", ("opencode", "config.json")),
    (OPENCODE, "opencode", ()),
    (ZED, "zed", ("zed", "settings.json")),
    (ZED, "roaming", ("Zed", "settings.json")),
)
"""A user's files: whose, below which of ``_bases``, and where."""

_COMMON_NAMES = ("mcp.json", "settings.json", "config.json")
"""Names that say nothing about whose file it is without the folder's."""

_PROJECT_FILES: tuple[tuple[Client, tuple[str, ...]], ...] = (
    (CLAUDE_CODE, (".mcp.json",)),
    (CURSOR, (".cursor", "mcp.json")),
    (VSCODE, (".vscode", "mcp.json")),
    (VSCODE, (".vscode", "settings.json")),
    (GEMINI, (".gemini", "settings.json")),
    (OPENCODE, ("opencode.json",)),
    (OPENCODE, ("opencode.jsonc",)),
    (OPENCODE, (".opencode", "opencode.json")),
    (OPENCODE, (".opencode", "opencode.jsonc")),
    (ZED, (".zed", "settings.json")),
)
"""The files that clients read in a project's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The machine and the folder that places are told for.

    Attributes:
        home: the user's home folder.
        folder: the project's folder, absolute.
    """

    home: str
    env: Mapping[str, str]
    platform: Platform
    folder: str

    @property
    def paths(self) -> ModuleType:
        """The rules of the platform's paths."""
        return ntpath if self.platform == "windows" else posixpath

    def below(self, base: str, *parts: str) -> str:
        """A path below a folder, in the platform's spelling."""
        return str(self.paths.join(base, *parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file in which a client keeps servers.

    Attributes:
        scope: whether its servers are for all of a user's work or for one project.
        folder: the project's folder; for a user's file, the project at hand; None for unknown.
    """

    client: Client
    path: str
    scope: Scope
    folder: str | None


def usual_places(client: Client, around: Surroundings) -> list[Place]:
    """Where the client looks, the user's files before the project's; each path once."""
    bases = _bases(around)
    found: list[tuple[str, Scope]] = [
        (around.below(bases[base], *parts), "user")
        for whose, base, parts in _USER_FILES
        if whose == client and base in bases
    ]
    found += [
        (around.below(around.folder, *parts), "project")
        for whose, parts in _PROJECT_FILES
        if whose == client
    ]
    places: dict[str, Place] = {}
    for path, scope in found:
        place = Place(client=client, path=path, scope=scope, folder=around.folder)
        places.setdefault(_comparable(path, around), place)
    return list(places.values())


def project_places(around: Surroundings) -> list[Place]:
    """Every file in which a client may keep servers for the folder at hand alone."""
    return [
        replace(place, scope="project")
        for client in CLIENTS
        for place in usual_places(client, around)
        if place.scope == "project" or keeps_projects(place)
    ]


def keeps_projects(place: Place) -> bool:
    """Whether the file holds servers of all projects beside those of the user."""
    return place.client == CLAUDE_CODE and place.path.endswith(".claude.json")


def place_of(path: str, around: Surroundings) -> Place:
    """Whose file an absolute path is: by the usual places, else by its last names, else unknown."""
    for client in CLIENTS:
        for place in usual_places(client, around):
            if same_path(place.path, path, around):
                return place
    names = tuple(path.replace("\\", "/").split("/") if around.paths is ntpath else path.split("/"))
    for client, parts in _PROJECT_FILES:
        if names[-len(parts) :] == parts:
            folder = path
            for _ in parts:
                folder = around.paths.dirname(folder)
            return Place(client=client, path=path, scope="project", folder=folder)
    for client, _, parts in _USER_FILES:
        telling = parts[-2:] if parts and parts[-1] in _COMMON_NAMES else parts[-1:]
        if telling and names[-len(telling) :] == telling:
            return Place(client=client, path=path, scope="user", folder=None)
    return Place(client=OTHER, path=path, scope="user", folder=None)


def same_path(a: str, b: str, around: Surroundings) -> bool:
    """Whether two paths name one file, as far as their texts tell."""
    return _comparable(a, around) == _comparable(b, around)


def _comparable(path: str, around: Surroundings) -> str:
    return str(around.paths.normcase(around.paths.normpath(path)))


def _bases(around: Surroundings) -> dict[str, str]:
    """The folders that the user's files lie in."""
    env, home, below = around.env, around.home, around.below
    xdg = env.get("XDG_CONFIG_HOME") or below(home, ".config")
    cline = env.get("CLINE_DATA_DIR") or below(
        env.get("CLINE_DIR") or below(home, ".cline"), "data"
    )
    bases = {
        "home": home,
        "xdg": xdg,
        "settings": xdg,
        "zed": xdg,
        "claude": env.get("CLAUDE_CONFIG_DIR") or home,
        "cline": cline,
    }
    if opencode := env.get("OPENCODE_CONFIG"):
        bases["opencode"] = opencode
    if around.platform == "macos":
        bases["settings"] = below(home, "Library", "Application Support")
        bases["zed"] = below(home, ".config")
    elif around.platform == "windows":
        bases["roaming"] = env.get("APPDATA") or below(home, "AppData", "Roaming")
        bases["settings"] = bases["roaming"]
        bases["local"] = env.get("LOCALAPPDATA") or below(home, "AppData", "Local")
        del bases["zed"]
    return bases
