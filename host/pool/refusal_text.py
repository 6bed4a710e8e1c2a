"""What the body of an HTTP refusal says, in its first line. No I/O."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from http import HTTPStatus

from host.text.terminal_text import one_line

MAX_READ_CHARS = 4096

_TITLE = re.compile(r"<(title|h1)\b[^>]*>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)
_UNSEEN = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.I | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_TOLD_IN = ("error_description", "message", "detail", "title", "error", "msg", "reason")
"""Where services put their words, the most telling first."""


def refusal_line(body: bytes, *, status: int) -> str:
    """The first line of a refusal's body that a person can read; "" when it says no more than the
    status does.

    A JSON body tells by its usual fields, a page by its title, anything else by its first line.
    The line is not cut: what is secret in it is yet to be taken out.
    """
    text = body.decode("utf-8", "replace")[:MAX_READ_CHARS].strip()
    is_page = text.startswith("<")
    line = one_line(_page_words(text) if is_page else _json_words(text) or _first_line(text))
    return "" if _bare(line) in _said_by(status) else line


def _json_words(text: str) -> str:
    if not text.startswith("{"):
        return ""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    for _ in range(3):
        if not isinstance(told, Mapping):
            break
        inner = next((told[name] for name in _TOLD_IN if told.get(name)), "")
        if isinstance(inner, str):
            return inner
        told = inner
    return ""


def _page_words(text: str) -> str:
    seen = _UNSEEN.sub(" ", text)
    found = _TITLE.search(seen)
    words = found[2] if found else seen
    return _first_line(html.unescape(_TAG.sub("\n", words)))


def _first_line(text: str) -> str:
    return next((line for line in map(str.strip, text.splitlines()) if line), "")


def _said_by(status: int) -> set[str]:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    texts = ("", phrase, f"{status}", f"{status} {phrase}", f"{phrase} {status}", "error")
    return {_bare(text) for text in texts}


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().casefold()
