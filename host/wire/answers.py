"""What the text of a small model's answer means: a JSON value, or a list of lines."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from host.text.json_text import parse_json_loosely, parse_json_strict

_FENCE = "```"
_TAG = re.compile(r"[\w+.-]*", re.A)
_OPENING = re.compile(r"[\[{]")
_BULLET = re.compile(r"(?:-(?![-.\d])|\*(?!\*)|•|\d+[.)](?!\d))\s*", re.A)
_QUOTES = "\"'`“”‘’„«»"


def parse_json(text: str) -> Any:
    """The JSON object or array in a model's answer, or None when there is none to be read.

    The first fenced block that is tagged ``json`` or not at all counts, else the whole text; in
    it, everything from the first opening bracket to the last closing one, repaired where models
    commonly slip (agent-core §11, §16). A text that is JSON already is read as it is, and a block
    that a fence within a string has cut short from the whole text (ours).
    """
    with suppress(ValueError):
        if isinstance(whole := parse_json_strict(text), dict | list):
            return whole
    body = _fenced_json(text)
    value = None if body is None else _value_in(body)
    is_cut = body is None or (value is None and _OPENING.search(body) is not None)
    return _value_in(text) if is_cut else value


def _value_in(body: str) -> Any:
    start = min((at for at in (body.find("["), body.find("{")) if at >= 0), default=-1)
    end = max(body.rfind("]"), body.rfind("}"))
    if start < 0 or end < start:
        return None
    try:
        return parse_json_loosely(body[start : end + 1])
    except ValueError:
        return None


def clean(line: str) -> str:
    """A line without what models wrap around an item: one bullet, quotes, closing periods."""
    line = line.strip()
    if bullet := _BULLET.match(line):
        line = line[bullet.end() :]
    return line.lstrip(_QUOTES).rstrip(_QUOTES + ".").strip()


def list_lines(text: str, max_lines: int, max_chars: int) -> list[str]:
    """The first ``max_lines`` items of an answer with one item a line, cleaned.

    Empty lines and those longer than ``max_chars`` are left out and do not count.
    """
    lines = (clean(line) for line in text.split("\n"))
    return [line for line in lines if 0 < len(line) <= max_chars][: max(0, max_lines)]


def _fenced_json(text: str) -> str | None:
    blocks = text.split(_FENCE)[1::2]
    if text.count(_FENCE) % 2:
        blocks.pop()
    for block in blocks:
        tag = _TAG.match(block)
        if tag and tag[0].lower() in {"", "json"}:
            return block[tag.end() :]
    return None
