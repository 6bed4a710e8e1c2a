"""Which of the values that people write into a configuration are secrets.

Three kinds: under a telling name (``API_KEY``), or where only credentials stand, a value is always
a secret. Under other names it is one unless it is plainly ordinary (``us-east-1``, ``8080``, a
path). Of both, those are *sure* secrets which are not ordinary, and telling or clearly keys: what
a model reads is cleared of these only, since it cannot work with a server whose project is
``***``.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import unquote, unquote_plus

from host.text.argument_forms import read_arguments
from host.text.redaction import REDACTED, address_parts
from host.text.secret_forms import (
    is_key,
    is_ordinary,
    is_prose,
    is_switch,
    is_telling_name,
    keys_in,
)

MIN_PART_CHARS = 6
"""What is taken out of a longer value by its name alone has at least so many."""

MIN_USER_CHARS = 16
"""A user name of that length in an address inside a value is a token."""

MIN_LINE_CHARS = 20
"""Each such line of a secret of several lines is one by itself: logs are written line by line."""

Found: TypeAlias = tuple[str, bool]
"""A secret, and whether it surely is one."""

_PLAIN_HEADERS = frozenset(
    {"cache-control", "connection", "host", "mcp-protocol-version", "pragma", "user-agent"}
)
_PLAIN_HEADER_STARTS = ("accept", "content-")
_AUTH_SCHEME = re.compile(r"(?:basic|bearer|digest|token|apikey|negotiate)\s+(\S.*)", re.I | re.S)
_ANY_SCHEME = re.compile(r"[A-Za-z][\w-]*+\s+(\S.*)", re.S)
_AUTHORIZATIONS = ("authorization", "proxy-authorization")
_BASIC = re.compile(r"basic\s+([A-Za-z0-9+/_-]++=*)", re.I)
_COOKIES = ("cookie", "set-cookie")
_NAMED_SECRET = re.compile(
    r"""
      (?<![\w-]) (?=[\w-]*?(?:pass|pwd|secret|token|key|signature|credential|auth))
      (?P<name>[\w-]++)
      ["']?\s*+[=:]\s*+ (?:(?:basic|bearer|token)\s++)?+
      (?: "(?P<double>(?:[^"\\]|\\.)*+)" | '(?P<single>[^']*+)' | (?P<bare>[^\s;&,"'{}]++) )
    """,
    re.I | re.S | re.X,
)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://(?:[^\s\"'<>,]|,(?![a-z]{1,30}://))++")
_PLACEHOLDER = re.compile(r"\{\{[^{}]*\}\}")


def secret_values(
    env: Mapping[str, str] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    url: str | None = None,
    args: Iterable[str] | None = None,
    given: Mapping[str, Any] | None = None,
    only_sure: bool = False,
) -> tuple[str, ...]:
    """The values of a row that must not be shown, each once, in the order given.

    Values of ``env`` and ``headers`` (without scheme words such as ``Bearer``; not of headers that
    describe content or client), of the query of ``url`` and in ``given`` at any depth; the password
    of ``url``, or its user name when it has no password; of ``args`` those that a flag, a header or
    an address gives away, and what is clearly a key.

    What such a value is made of may be told without the rest of it, so these are secrets too: the
    password of an address, what a name like ``password=`` or ``"token":`` stands before, the
    password in a ``Basic`` header, each cookie's value, and long lines.

    Args:
        given: arguments of a tool, in JSON.
        only_sure: without what may be ordinary after all.
    """
    found = [
        *(each for name, value in (env or {}).items() for each in _under(name, value)),
        *(each for name, value in (headers or {}).items() for each in _in_header(name, value)),
        *_in_address(url or ""),
        *(each for argument in argument_secrets(args or ()) for each in argument),
        *_in_arguments(given or {}),
    ]
    kept = (value for value, sure in found if sure or not only_sure)
    return tuple(dict.fromkeys(value for value in kept if not is_switch(value)))


def argument_secrets(args: Iterable[str]) -> Iterator[tuple[Found, ...]]:
    """The secrets in each argument of a command line."""
    for argument in read_arguments(args):
        match argument.kind:
            case "secret":
                yield (*_always(argument.value), *_parts(argument.value))
            case "variable":
                yield tuple(_under(argument.name, argument.value))
            case "header":
                yield tuple(_in_header(argument.name, argument.value))
            case "address":
                yield (*_in_address(argument.value), *_keys(argument.value))
            case "plain":
                yield (*_keys(argument.value), *_parts(argument.value))


def blanked_arguments(args: Sequence[str]) -> tuple[str, ...]:
    """The arguments with ``REDACTED`` for each secret, however short."""
    shown = []
    for argument, found in zip(args, argument_secrets(args), strict=True):
        for secret, _ in sorted(found, key=lambda each: -len(each[0])):
            if not is_switch(secret):
                argument = argument.replace(secret, REDACTED)
        shown.append(argument)
    return tuple(shown)


def blanked_given(value: Any, name: str = "") -> Any:
    """Arguments of a tool with ``REDACTED`` for what stands under telling names."""
    if isinstance(value, Mapping):
        return {
            inner_name: blanked_given(inner, inner_name if is_telling_name(inner_name) else name)
            for inner_name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [blanked_given(inner, name) for inner in value]
    is_told = isinstance(value, bool | None) or is_switch(str(value))
    return value if is_told or not is_telling_name(name) else REDACTED


def _always(value: str) -> Iterator[Found]:
    """What is a secret whatever it looks like."""
    yield value, not is_ordinary(value)


def _unless_ordinary(value: str) -> Iterator[Found]:
    if not is_ordinary(value):
        yield value, is_key(value)


def _under(name: str, value: str) -> Iterator[Found]:
    yield from _always(value) if is_telling_name(name) else _unless_ordinary(value)
    yield from _parts(value)


def _in_header(name: str, value: str) -> Iterator[Found]:
    name, value = name.strip().lower(), value.strip()
    if name in _PLAIN_HEADERS or name.startswith(_PLAIN_HEADER_STARTS):
        return
    scheme = _AUTH_SCHEME.fullmatch(value)
    if scheme is None and name in _AUTHORIZATIONS:
        scheme = _ANY_SCHEME.fullmatch(value)
    if scheme or is_telling_name(name):
        yield from _always(scheme[1] if scheme else value)
    else:
        yield from _unless_ordinary(value)
    if basic := _BASIC.fullmatch(value):
        yield from _in_basic(basic[1])
    if name in _COOKIES:
        for cookie in value.split(";"):
            yield from _long_enough(cookie.partition("=")[2].strip().strip('"'))
    yield from _parts(value)


def _in_basic(written: str) -> Iterator[Found]:
    """What a ``Basic`` header says, and its password, or the user name that has none."""
    try:
        told = binascii.a2b_base64(written.translate({45: "+", 95: "/"}) + "==")
    except binascii.Error:
        return
    user, _, password = told.decode("utf-8", "replace").partition(":")
    yield f"{user}:{password}", True
    yield from _always(password or user)


def _in_address(url: str) -> Iterator[Found]:
    _, user_info, _, query, fragment = address_parts(url)
    if user_info is not None:
        user, _, password = user_info.partition(":")
        yield from _always(password or user)
        yield from _always(unquote(password or user))
    for part in re.split("[&;]", f"{query or ''}&{fragment if '=' in (fragment or '') else ''}"):
        name, equals, value = part.partition("=")
        written = value if equals else name
        for spelling in (written, unquote_plus(written)):
            telling = equals and is_telling_name(name)
            yield from _always(spelling) if telling else _unless_ordinary(spelling)


def _in_arguments(value: Any, name: str = "") -> Iterator[Found]:
    """The secrets in JSON; of a text with placeholders its other pieces."""
    if isinstance(value, Mapping):
        for inner_name, inner in value.items():
            below = inner_name if is_telling_name(inner_name) else name
            yield from _in_arguments(inner, below)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _in_arguments(inner, name)
    elif isinstance(value, str):
        for piece in _PLACEHOLDER.split(value):
            is_told = is_prose(piece) and not is_telling_name(name)
            if not is_told and (len(piece.strip()) >= MIN_PART_CHARS or piece == value):
                yield from _under(name, piece)
                yield from _keys(piece)
    elif is_telling_name(name) and not isinstance(value, bool | None):
        yield from _always(str(value))


def _keys(text: str) -> Iterator[Found]:
    return ((key, True) for key in keys_in(text))


def _parts(value: str) -> Iterator[Found]:
    """The secrets in a value that is more than one."""
    for address in _ADDRESS.finditer(value):
        user, _, password = (address_parts(address[0])[1] or "").partition(":")
        secret = password or (user if len(user) >= MIN_USER_CHARS else "")
        yield from _always(secret)
        yield from _always(unquote(secret))
    for named in _NAMED_SECRET.finditer(value):
        secret = named["double"] or named["single"] or named["bare"] or ""
        if not is_telling_name(named["name"]):
            continue
        for spelling in (secret, unquote(secret), _unescaped(secret)):
            yield from _long_enough(spelling)
    if "\n" in value.strip() and not is_ordinary(value):
        for line in value.splitlines():
            if len(line.strip()) >= MIN_LINE_CHARS and not line.startswith("-----"):
                yield line.strip(), True


def _unescaped(written: str) -> str:
    """What stands in a JSON string; text that cannot stand in one is left as it is."""
    try:
        return str(json.loads(f'"{written}"'))
    except ValueError:
        return written


def _long_enough(part: str) -> Iterator[Found]:
    """The part, if it is neither short nor a number, which both stand in ordinary text."""
    if len(part) >= MIN_PART_CHARS and not part.isdecimal():
        yield from _always(part)
