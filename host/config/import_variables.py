"""Placeholders of other clients in what a server is started with, turned into what we read.

``${VAR}``, ``${VAR:-default}``, ``${env:VAR}`` and ``{env:VAR}`` stay as written, since a servers
file has them too. What another client would ask its user for becomes a variable to be set; what
it knows of its own (the folder that is open in it) becomes the text it stands for, where that is
known here.

Sources: variables reference of VS Code; MCP pages of Cursor, Windsurf, Claude Code, Gemini CLI and
opencode, as of 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_PLACEHOLDER = re.compile(r"\$\{(?P<name>[^{}]*)\}|\{file:[^{}]*\}")
_BARE_DOLLAR = re.compile(r"\$(?P<name>[A-Za-z_][A-Za-z0-9_]*)")
_VARIABLE = re.compile(r"(?:env:)?[A-Za-z_][A-Za-z0-9_]*(?::-[^{}]*)?")
_WORD = re.compile(r"[A-Za-z0-9]+")

EDITOR_NAMES = frozenset(
    {
        "workspaceFolder",
        "workspaceRoot",
        "workspaceFolderBasename",
        "userHome",
        "pathSeparator",
        "/",
        "cwd",
        "execPath",
        "file",
        "fileWorkspaceFolder",
        "relativeFile",
        "fileDirname",
        "fileBasename",
    }
)
"""Names that editors fill in themselves, and never from the environment."""


@dataclass(slots=True, kw_only=True)
class PlaceholderFilling:
    """The placeholders of one server: how each is filled, and what came of them.

    Attributes:
        server_id: the server's key, for the names of variables.
        values: names -> texts that are known here.
        inputs: what the client would ask for, by id (VS Code's ``inputs``).
        bare_dollar: ``$VAR`` is a variable, too.
        variables: those that have to be set -> what they are for, in the client's words.
        foreign: placeholders that only the client can fill; they stay in the text.
    """

    server_id: str
    values: Mapping[str, str]
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bare_dollar: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, None] = field(default_factory=dict)
    _asked: dict[str, str] = field(default_factory=dict)  # variable -> input id

    def fill(self, value: Any) -> Any:
        """The value with the placeholders filled in its texts, however deep; keys are no texts."""
        if isinstance(value, str):
            return self._filled(value)
        if isinstance(value, Mapping):
            return {key: self.fill(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.fill(inner) for inner in value]
        return value

    def _filled(self, text: str) -> str:
        if self.bare_dollar:
            text = _BARE_DOLLAR.sub(r"${\g<name>}", text)
        return _PLACEHOLDER.sub(self._replacement, text)

    def _replacement(self, match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:  # opencode's {file:…}
            return self._left(match)
        plain = name.partition(":")[0]
        if name in self.values or (plain in self.values and not name.startswith("env:")):
            return self.values.get(name, self.values.get(plain, ""))
        if name.startswith("input:"):
            return self._input(name.removeprefix("input:"))
        if name not in EDITOR_NAMES and _VARIABLE.fullmatch(name):
            return match[0]
        return self._left(match)

    def _left(self, match: re.Match[str]) -> str:
        self.foreign[match[0]] = None
        return match[0]

    def _input(self, input_id: str) -> str:
        asked = self.inputs.get(input_id, {})
        name = variable_for_input(self.server_id, input_id)
        while self._asked.setdefault(name, input_id) != input_id:
            name += "_2"
        description = asked.get("description")
        self.variables[name] = description if isinstance(description, str) else ""
        default = asked.get("default")
        if (
            isinstance(default, str)
            and default
            and "}" not in default
            and not asked.get("password")
        ):
            return f"${{{name}:-{default}}}"
        return f"${{{name}}}"


def variable_for_input(server_id: str, input_id: str) -> str:
    """The environment variable that stands for what a client asks its user for.

    It begins with the server's words unless the input's have them (``notion`` and ``api-key``:
    ``NOTION_API_KEY``), so that inputs of two files that are called alike stay apart.
    """
    own = _upper(input_id)
    server = _upper(server_id)
    name = own if server in own else f"{server}_{own}"
    name = name.strip("_") or "INPUT"
    return f"_{name}" if name[0].isdecimal() else name


def _upper(text: str) -> str:
    return "_".join(_WORD.findall(text)).upper()
