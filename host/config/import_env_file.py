"""The variables in an ``envFile``: what VS Code and Cursor put into a server's environment."""

from __future__ import annotations

import re

_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][\w.-]*)\s*=\s*(?P<value>.*?)\s*")
_QUOTED = re.compile(r"(?P<mark>[\"'])(?P<inner>.*)(?P=mark)\s*(?:#.*)?")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def env_file_variables(text: str) -> dict[str, str]:
    """Names and values, the last of two alike; other lines are passed over.

    In double quotes ``\\n`` and the like are what they stand for; outside of quotes `` #`` begins a
    comment.
    """
    found: dict[str, str] = {}
    for line in text.lstrip("\ufeff").splitlines():
        matched = _LINE.fullmatch(line)
        if matched is not None:
            found[matched["name"]] = _value(matched["value"])
    return found


def _value(written: str) -> str:
    quoted = _QUOTED.fullmatch(written)
    if quoted is None:
        return re.sub(r"(?:^|\s+)#.*", "", written)
    if quoted["mark"] == "'":
        return quoted["inner"]
    return re.sub(r"\\(.)", lambda code: _ESCAPES.get(code[1], code[1]), quoted["inner"])
