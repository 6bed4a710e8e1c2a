"""Each client's files are where it keeps them, on each platform."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.import_clients import CLIENTS, OTHER, Client, client_named
from host.config.import_places import (
    Platform,
    Surroundings,
    keeps_projects,
    place_of,
    project_places,
    same_path,
    usual_places,
)

LINUX = Surroundings(home="/home/ada", env={}, platform="linux", folder="/projects/shop")
MACOS = Surroundings(home="/Users/ada", env={}, platform="macos", folder="/projects/shop")
WINDOWS = Surroundings(
    home=r"C:\Users\ada",
    env={"APPDATA": r"D:\Roaming", "LOCALAPPDATA": r"D:\Local"},
    platform="windows",
    folder=r"C:\shop",
)
AROUND = {"linux": LINUX, "macos": MACOS, "windows": WINDOWS}
MSIX = "Claude_pzs8sxrjxfjjc"
CLINE = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"


@pytest.mark.parametrize(
    ("client", "platform", "path"),
    [
        ("claude-desktop", "linux", "/home/ada/.config/Claude/claude_desktop_config.json"),
        (
            "claude-desktop",
            "macos",
            "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("claude-desktop", "windows", "D:/Roaming/Claude/claude_desktop_config.json"),
        (
            "claude-desktop",
            "windows",
            f"D:/Local/Packages/{MSIX}/LocalCache/Roaming/Claude/claude_desktop_config.json",
        ),
        ("claude-code", "linux", "/home/ada/.claude.json"),
        ("claude-code", "windows", "C:/shop/.mcp.json"),
        ("cursor", "macos", "/Users/ada/.cursor/mcp.json"),
        ("cursor", "linux", "/projects/shop/.cursor/mcp.json"),
        ("vscode", "linux", "/home/ada/.config/Code/User/mcp.json"),
        ("vscode", "macos", "/Users/ada/Library/Application Support/Code/User/mcp.json"),
        ("vscode", "windows", "D:/Roaming/Code - Insiders/User/settings.json"),
        ("vscode", "linux", "/projects/shop/.vscode/mcp.json"),
        ("windsurf", "windows", "C:/Users/ada/.codeium/windsurf/mcp_config.json"),
        ("lm-studio", "macos", "/Users/ada/.lmstudio/mcp.json"),
        ("cline", "linux", f"/home/ada/.config/Code/User/{CLINE}"),
        ("cline", "windows", f"D:/Roaming/Cursor/User/{CLINE}"),
        ("cline", "macos", "/Users/ada/.cline/data/settings/cline_mcp_settings.json"),
        ("gemini", "linux", "/home/ada/.gemini/settings.json"),
        ("gemini", "windows", "C:/shop/.gemini/settings.json"),
        ("opencode", "linux", "/home/ada/.config/opencode/opencode.json"),
        ("opencode", "windows", "C:/Users/ada/.config/opencode/opencode.jsonc"),
        ("opencode", "linux", "/projects/shop/.opencode/opencode.json"),
        ("zed", "linux", "/home/ada/.config/zed/settings.json"),
        ("zed", "macos", "/Users/ada/.config/zed/settings.json"),
        ("zed", "windows", "D:/Roaming/Zed/settings.json"),
        ("zed", "linux", "/projects/shop/.zed/settings.json"),
    ],
)
def test_a_usual_place(client: str, platform: Platform, path: str) -> None:
    around, known = AROUND[platform], client_named(client)
    assert known is not None
    spelled = path.replace("/", "\\") if platform == "windows" else path
    assert spelled in [place.path for place in usual_places(known, around)]


@pytest.mark.parametrize(
    ("variable", "value", "client", "path"),
    [
        ("XDG_CONFIG_HOME", "/x", "zed", "/x/zed/settings.json"),
        ("XDG_CONFIG_HOME", "/x", "claude-desktop", "/x/Claude/claude_desktop_config.json"),
        ("CLAUDE_CONFIG_DIR", "/x", "claude-code", "/x/.claude.json"),
        ("CLINE_DIR", "/x", "cline", "/x/data/settings/cline_mcp_settings.json"),
        ("CLINE_DATA_DIR", "/x", "cline", "/x/settings/cline_mcp_settings.json"),
        ("OPENCODE_CONFIG", "/x/my.json", "opencode", "/x/my.json"),
    ],
)
def test_a_place_that_the_environment_moves(
    variable: str, value: str, client: str, path: str
) -> None:
    around = Surroundings(
        home="/home/ada", env={variable: value}, platform="linux", folder="/projects/shop"
    )
    known = client_named(client)
    assert known is not None
    assert path in [place.path for place in usual_places(known, around)]


@pytest.mark.parametrize(
    ("path", "client", "scope", "folder"),
    [
        ("/backup/claude_desktop_config.json", "claude-desktop", "user", None),
        ("/backup/.claude.json", "claude-code", "user", None),
        ("/projects/other/.mcp.json", "claude-code", "project", "/projects/other"),
        ("/projects/other/.vscode/mcp.json", "vscode", "project", "/projects/other"),
        ("/backup/User/mcp.json", "vscode", "user", None),
        ("/backup/mcp_config.json", "windsurf", "user", None),
        ("/backup/.lmstudio/mcp.json", "lm-studio", "user", None),
        ("/backup/cline_mcp_settings.json", "cline", "user", None),
        ("/projects/other/.gemini/settings.json", "gemini", "project", "/projects/other"),
        ("/projects/other/opencode.jsonc", "opencode", "project", "/projects/other"),
        ("/backup/zed/settings.json", "zed", "user", None),
        ("/backup/settings.json", "other", "user", None),
        ("/backup/mcp.json", "other", "user", None),
        ("/backup/servers.json", "other", "user", None),
    ],
)
def test_a_file_elsewhere_is_known_by_its_name(
    path: str, client: str, scope: str, folder: str | None
) -> None:
    place = place_of(path, LINUX)
    assert (place.client.id, place.scope, place.folder) == (client, scope, folder)


def test_a_path_of_windows_is_known_in_any_spelling() -> None:
    place = place_of("d:/roaming/code/user/MCP.json", WINDOWS)
    assert (place.client.id, place.scope) == ("vscode", "user")
    assert place_of(r"E:\x\.cursor\mcp.json", WINDOWS).folder == r"E:\x"
    assert same_path(r"C:\A\b", "c:/a/B", WINDOWS)
    assert not same_path("/A", "/a", LINUX)


def test_in_the_home_folder_a_file_is_the_users() -> None:
    around = Surroundings(home="/home/ada", env={}, platform="linux", folder="/home/ada")
    cursor = client_named("cursor")
    assert cursor is not None
    assert [place.scope for place in usual_places(cursor, around)] == ["user"]


@given(
    client=st.sampled_from(CLIENTS),
    around=st.sampled_from([LINUX, MACOS, WINDOWS]),
    doubled=st.booleans(),
)
def test_every_usual_place_is_recognised_and_told_once(
    client: Client, around: Surroundings, doubled: bool
) -> None:
    places = usual_places(client, around)
    separator = around.paths.sep
    for place in places:
        spelled = place.path[0] + place.path[1:].replace(separator, separator * (1 + doubled))
        assert place_of(spelled, around) == place
        assert place.folder == around.folder
        assert place.path.startswith((around.home, around.folder, "D:"))
    assert len({place.path for place in places}) == len(places)
    scopes = [place.scope for place in places]
    assert scopes == sorted(scopes, reverse=True)


def test_a_projects_places_are_the_projects() -> None:
    places = project_places(LINUX)
    assert {place.scope for place in places} == {"project"}
    assert [place.path for place in places if keeps_projects(place)] == ["/home/ada/.claude.json"]
    assert all(
        place.path.startswith("/projects/shop/") for place in places if not keeps_projects(place)
    )
    assert place_of("/nowhere/x", LINUX).client == OTHER
