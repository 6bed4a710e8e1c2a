"""The one place where secrets are taken out of text.

``Redactor`` takes secrets out of any text, ``redact_url`` takes the secret parts out of an address.
Which values are secrets is said in ``host.text.secret_values``.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

REDACTED = "***"
"""What stands where a secret was. Shorter than any secret, so none can be inside it."""

MIN_SECRET_CHARS = 4
"""Shorter values are left alone: replacing them would shred text and hide nothing."""

MIN_ENCODED_BYTES = 9
"""A secret of that length is also found inside what was encoded as base64 with others."""

_ADDRESS_START = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*+:)?//")
_AUTHORITY = re.compile(r"[^/\\?#]*+")
_QUOTED = re.compile(r"input_value=.*?(?=, input_type=)", re.DOTALL)
"""How pydantic quotes."""
_URL_SAFE = str.maketrans("+/", "-_")
_PERCENT_CODE = re.compile("%[0-9A-F]{2}")


class Redactor:
    """Takes a fixed set of secrets out of texts.

    Secrets that are blank or shorter than ``MIN_SECRET_CHARS`` are ignored. Each is also found
    percent-encoded, as it stands inside a string of JSON (and that inside another) or of Python,
    and in base64, alone or with what stood round it (as in a ``Basic`` header).
    """

    __slots__ = ("_spellings",)

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spellings = {spelling for secret in secrets for spelling in _spellings(secret)}
        self._spellings = tuple(sorted(spellings, key=lambda spelling: (-len(spelling), spelling)))

    def __repr__(self) -> str:
        return f"Redactor(<{len(self._spellings)} spellings>)"

    def __bool__(self) -> bool:
        """Whether there is anything to take out."""
        return bool(self._spellings)

    def redact(self, text: str) -> str:
        """The text with ``REDACTED`` for each secret; secrets that overlap share one mark."""
        spans = sorted(
            span
            for spelling in self._spellings
            if spelling in text
            for span in _occurrences(text, spelling)
        )
        pieces: list[str] = []
        done = 0
        for start, end in spans:
            if start >= done:
                pieces += (text[done:start], REDACTED)
            done = max(done, end)
        return "".join((*pieces, text[done:]))

    def redact_values(self, value: Any) -> Any:
        """JSON with each text in it redacted, at any depth; names stay."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, Mapping):
            return {name: self.redact_values(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.redact_values(inner) for inner in value]
        return value


def without_quoted_input(text: str) -> str:
    """What a validator says, without what it quotes: cut, half a secret would not be found."""
    return _QUOTED.sub(f"input_value={REDACTED}", text)


def redact_url(url: str) -> str:
    """The address without user-info and without the values of its query; names stay.

    A query part without ``=`` may itself be a token and is hidden whole; a fragment is read like
    a query when it holds a ``=``. Never raises: what is no address is treated as one anyway.
    """
    start, user_info, place, query, fragment = address_parts(url)
    shown = start + (f"{REDACTED}@" if user_info is not None else "") + place
    if query is not None:
        shown += "?" + _hide_values(query)
    if fragment is not None:
        shown += "#" + (_hide_values(fragment) if "=" in fragment else fragment)
    return shown


def _spellings(secret: str) -> Iterator[str]:
    for value in (secret, secret.strip()):
        encoded = [quote(value, safe="", errors="replace"), quote(value, errors="replace")]
        encoded.append(quote_plus(value, errors="replace"))
        lowered = [_PERCENT_CODE.sub(lambda code: code[0].lower(), text) for text in encoded]
        in_json = [
            *_in_json(value),
            *(twice for once in _in_json(value) for twice in _in_json(once)),
        ]
        in_code = repr(value)[1:-1]
        for spelling in (value, *encoded, *lowered, *in_json, in_code, *_in_base64(value)):
            if len(value.strip()) >= MIN_SECRET_CHARS:
                yield spelling


def _in_json(text: str) -> Iterator[str]:
    for ascii_only in (True, False):
        yield json.dumps(text, ensure_ascii=ascii_only)[1:-1]


def _in_base64(secret: str) -> Iterator[str]:
    """What of its base64 does not hang on what stood round it, wherever in three bytes it began."""
    told = secret.encode("utf-8", "surrogatepass")
    if len(told) < MIN_ENCODED_BYTES:
        return
    for before in range(3):  # three bytes are four characters
        whole = base64.b64encode(bytes(before) + told).decode()
        shown = whole[-(-before * 4 // 3) : (before + len(told)) * 4 // 3]
        yield shown
        yield shown.translate(_URL_SAFE)


def _occurrences(text: str, spelling: str) -> Iterator[tuple[int, int]]:
    start = text.find(spelling)
    end = start
    while start >= 0:
        end = start + len(spelling)
        following = text.find(spelling, start + 1)
        while 0 <= following < end:
            end = following + len(spelling)
            following = text.find(spelling, following + 1)
        yield start, end
        start = following


def address_parts(url: str) -> tuple[str, str | None, str, str | None, str | None]:
    """Start (``https://``), user-info, host with path, query, fragment; None where absent."""
    matched = _ADDRESS_START.match(url)
    start = matched[0] if matched else ""
    rest = url[len(start) :]
    authority_match = _AUTHORITY.match(rest)
    authority = authority_match[0] if authority_match else ""
    at = authority.rfind("@")
    if at < 0 and not authority.startswith("["):
        _, colon, port = authority.rpartition(":")
        if colon and port and not port.isdecimal():
            at = rest.rfind("@")  # a password with an unescaped "/", "?" or "#" in it
    user_info = rest[:at] if at >= 0 else None
    rest = rest[at + 1 :]
    rest, hash_mark, fragment = rest.partition("#")
    place, question_mark, query = rest.partition("?")
    return (
        start,
        user_info,
        place,
        query if question_mark else None,
        fragment if hash_mark else None,
    )


def _hide_values(query: str) -> str:
    def hide(part: re.Match[str]) -> str:
        name, equals, value = part[0].partition("=")
        if not equals:
            return REDACTED
        return f"{name}={REDACTED}" if value else part[0]

    return re.sub("[^&;]+", hide, query)
