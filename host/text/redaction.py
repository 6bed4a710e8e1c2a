"""The one place where secrets are taken out of text.

``secret_values`` says which values of a row are secrets, ``Redactor`` takes those out of any
text, ``redact_url`` takes the secret parts out of an address.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus, unquote, unquote_plus

REDACTED = "***"
"""What stands where a secret was. Shorter than any secret, so none can be inside it."""

MIN_SECRET_CHARS = 4
"""Shorter values are left alone: replacing them would shred text and hide nothing."""

MIN_PART_CHARS = 6
"""The same for what is taken out of a longer value by its name alone."""

MIN_USER_CHARS = 16
"""A user name of that length in an address of an environment variable is a token."""

_PLAIN_HEADERS = frozenset(
    {"cache-control", "connection", "host", "mcp-protocol-version", "pragma", "user-agent"}
)
_PLAIN_HEADER_STARTS = ("accept", "content-")
_PLAIN_WORDS = frozenset(
    {"", "true", "false", "null", "none", "auto", "debug", "info", "warn", "warning", "error"}
)
_AUTH_SCHEME = re.compile(r"(?:basic|bearer|digest|token|apikey|negotiate)\s+(\S.*)", re.I | re.S)
_ANY_SCHEME = re.compile(r"[A-Za-z][\w-]*+\s+(\S.*)", re.S)
_AUTHORIZATIONS = ("authorization", "proxy-authorization")
_BASIC = re.compile(r"basic\s+([A-Za-z0-9+/_-]++=*)", re.I)
_COOKIES = ("cookie", "set-cookie")
_NAMED_SECRET = re.compile(
    r"""
      (?<![\w-]) (?=[\w-]*?(?:pass|pwd|secret|token|key|signature|credential)) [\w-]++
      ["']?\s*+[=:]\s*+ (?:(?:basic|bearer|token)\s++)?+
      (?: "(?P<double>(?:[^"\\]|\\.)*+)" | '(?P<single>[^']*+)' | (?P<bare>[^\s;&,"'{}]++) )
    """,
    re.I | re.S | re.X,
)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://(?:[^\s\"'<>,]|,(?![a-z]{1,30}://))++")
_ADDRESS_START = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*+:)?//")
_AUTHORITY = re.compile(r"[^/\\?#]*+")
_PERCENT_CODE = re.compile("%[0-9A-F]{2}")


class Redactor:
    """Takes a fixed set of secrets out of texts.

    Secrets that are blank or shorter than ``MIN_SECRET_CHARS`` are ignored. Each is also found
    percent-encoded and as it stands inside a JSON string.
    """

    __slots__ = ("_spellings",)

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spellings = {spelling for secret in secrets for spelling in _spellings(secret)}
        self._spellings = tuple(sorted(spellings, key=lambda spelling: (-len(spelling), spelling)))

    def __repr__(self) -> str:
        return f"Redactor(<{len(self._spellings)} spellings>)"

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


def redact_url(url: str) -> str:
    """The address without user-info and without the values of its query; names stay.

    A query part without ``=`` may itself be a token and is hidden whole; a fragment is read like
    a query when it holds a ``=``. Never raises: what is no address is treated as one anyway.
    """
    start, user_info, place, query, fragment = _address_parts(url)
    shown = start + (f"{REDACTED}@" if user_info is not None else "") + place
    if query is not None:
        shown += "?" + _hide_values(query)
    if fragment is not None:
        shown += "#" + (_hide_values(fragment) if "=" in fragment else fragment)
    return shown


def secret_values(
    env: Mapping[str, str] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    url: str | None = None,
) -> tuple[str, ...]:
    """The values of a row that must not be shown, each once, in the order given.

    Every value of ``env``; every header but those that describe content or client, without its
    scheme word (``Bearer``); the password of ``url``, or its user name when it has no password,
    and the values of its query. Blank values and switch words (``true``, ``debug``, …) are none.

    What such a value is made of may be told without the rest of it, so these are secrets too: the
    password of an address, what a name like ``password=`` or ``"token":`` stands before, the
    password in a ``Basic`` header, and each cookie's value.
    """
    found: list[str] = []
    for value in (env or {}).values():
        found += (value, *_parts(value))
    for name, value in (headers or {}).items():
        if not _is_plain_header(name):
            found += _header_secrets(name.strip().lower(), value.strip())
    found.extend(_address_secrets(url or ""))
    return tuple(
        dict.fromkeys(value for value in found if value.strip().lower() not in _PLAIN_WORDS)
    )


def _header_secrets(name: str, value: str) -> Iterator[str]:
    scheme = _AUTH_SCHEME.fullmatch(value)
    if scheme is None and name in _AUTHORIZATIONS:
        scheme = _ANY_SCHEME.fullmatch(value)
    yield scheme[1] if scheme else value
    if basic := _BASIC.fullmatch(value):
        yield from _basic_secrets(basic[1])
    if name in _COOKIES:
        for cookie in value.split(";"):
            yield from _long_enough(cookie.partition("=")[2].strip().strip('"'))
    yield from _parts(value)


def _basic_secrets(written: str) -> Iterator[str]:
    """What a ``Basic`` header says, and its password, or the user name that has none."""
    try:
        told = binascii.a2b_base64(written.translate({45: "+", 95: "/"}) + "==")
    except binascii.Error:
        return
    user, _, password = told.decode("utf-8", "replace").partition(":")
    yield f"{user}:{password}"
    yield password or user


def _parts(value: str) -> Iterator[str]:
    """The secrets in a value that is more than one."""
    for address in _ADDRESS.finditer(value):
        user, _, password = (_address_parts(address[0])[1] or "").partition(":")
        secret = password or (user if len(user) >= MIN_USER_CHARS else "")
        yield from (secret, unquote(secret))
    for named in _NAMED_SECRET.finditer(value):
        secret = named["double"] or named["single"] or named["bare"] or ""
        for spelling in (secret, unquote(secret), _unescaped(secret)):
            yield from _long_enough(spelling)


def _unescaped(written: str) -> str:
    """What stands in a JSON string; text that cannot stand in one is left as it is."""
    try:
        return str(json.loads(f'"{written}"'))
    except ValueError:
        return written


def _long_enough(part: str) -> Iterator[str]:
    """The part, if it is neither short nor a number, which both stand in ordinary text."""
    if len(part) >= MIN_PART_CHARS and not part.isdecimal():
        yield part


def _is_plain_header(name: str) -> bool:
    lowered = name.strip().lower()
    return lowered in _PLAIN_HEADERS or lowered.startswith(_PLAIN_HEADER_STARTS)


def _spellings(secret: str) -> Iterator[str]:
    for value in (secret, secret.strip()):
        encoded = [quote(value, safe="", errors="replace"), quote(value, errors="replace")]
        encoded.append(quote_plus(value, errors="replace"))
        lowered = [_PERCENT_CODE.sub(lambda code: code[0].lower(), text) for text in encoded]
        in_json = [json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)]
        for spelling in (value, *encoded, *lowered, *in_json):
            if len(value.strip()) >= MIN_SECRET_CHARS:
                yield spelling


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


def _address_parts(url: str) -> tuple[str, str | None, str, str | None, str | None]:
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


def _address_secrets(url: str) -> Iterator[str]:
    _, user_info, _, query, fragment = _address_parts(url)
    if user_info is not None:
        user, _, password = user_info.partition(":")
        yield password or user
        yield unquote(password or user)
    for part in re.split("[&;]", f"{query or ''}&{fragment if '=' in (fragment or '') else ''}"):
        name, equals, value = part.partition("=")
        yield value if equals else name
        yield unquote_plus(value if equals else name)
