"""JSON as text: printed compactly or canonically, read strictly or with a repair.

What parses also prints: numbers too large for a float and NaN are refused when read, so every
value from here can go back on the wire.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

_LARGEST_PLAIN_INTEGER = 1e21
_STRING_OR_NUMBER = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?\d++(?:\.\d++)?(?:e[+-]\d++)?', re.DOTALL
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def compact_json(value: object) -> str:
    """The value as JSON without spaces, non-ASCII characters as they are.

    Integral floats below 1e21 print as integers (``4.0`` is ``4``), as JavaScript does. Lone
    surrogates are escaped, so that the text can always be encoded. Any Mapping is an object.

    Raises:
        ValueError: NaN or infinity, a circular value, nesting beyond the interpreter's limit.
        TypeError: a value that JSON has no form for.
    """
    return _printed(value, sort_keys=False)


def canonical_json(value: object) -> str:
    """The value as compact JSON with the keys of every object sorted by code point.

    Two values that are equal as JSON print alike, whatever the order of their keys. Raises as
    ``compact_json`` does.
    """
    return _printed(value, sort_keys=True)


def any_json(value: object) -> str:
    """The value as compact JSON, whatever it is; never raises.

    NaN and infinity are null, as JavaScript prints them. What JSON has no form for is the text
    that Python writes of it, or its type's name if that fails, too.
    """
    try:
        return compact_json(value)
    except Exception:  # noqa: BLE001  # values of any class, with methods of their own
        pass
    try:
        return compact_json(_with_form(value))
    except Exception:  # noqa: BLE001  # as above, and values nested too deeply
        return f'"<{type(value).__name__}>"'


def parse_json_strict(text: str) -> Any:
    """The value of a JSON text; of a key given twice the last counts.

    Raises:
        ValueError: not JSON, NaN or Infinity, a number no float or integer can hold, nesting
            beyond the interpreter's limit.
    """
    return _decoded(text, _STRICT)


def parse_json_loosely(text: str) -> Any:
    """The value of a text that is JSON or almost JSON, as small models write it.

    Strict first; only a text that fails is repaired: quotes, Python's literals, bare keys,
    trailing commas, raw control characters in strings. Brackets are never closed. A string that
    itself holds an object or a list is read once more and stays a string when that fails
    (agent-core §16; control characters: ours).

    Raises:
        ValueError: it does not parse after the repair either.
    """
    try:
        value = parse_json_strict(text)
    except ValueError:
        value = _decoded(_repaired(text), _LENIENT)
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            return parse_json_loosely(value)
        except ValueError:
            return value
    return value


def _printed(value: object, *, sort_keys: bool) -> str:
    try:
        text = json.dumps(
            value,
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
            sort_keys=sort_keys,
            default=_plain,
        )
    except RecursionError:
        raise ValueError("the value is nested too deeply to print as JSON") from None
    if ".0" in text or "e+" in text:
        text = _STRING_OR_NUMBER.sub(_with_plain_integers, text)
    if text.isascii():
        return text
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _with_form(value: object) -> object:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _with_form(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_form(inner) for inner in value]
    return str(value)


def _with_plain_integers(found: re.Match[str]) -> str:
    token = found[0]
    if token.startswith('"') or token.lstrip("-").isdigit():
        return token
    number = float(token)
    is_plain = number.is_integer() and abs(number) < _LARGEST_PLAIN_INTEGER
    return str(int(number)) if is_plain else token


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


_STRICT = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_LENIENT = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, strict=False)


def _decoded(text: str, decoder: json.JSONDecoder) -> Any:
    try:
        return decoder.decode(text)
    except RecursionError:
        raise ValueError("the JSON text is nested too deeply") from None


_REPAIRABLE = re.compile(
    r"""
      (?P<double>  "[^"\\]*+ (?:\\.[^"\\]*+)*+ "? )
    | (?P<single>  '[^'\\]*+ (?:\\.[^'\\]*+)*+ '? )
    | (?P<comma>   , (?=\s*[\]}]) )
    | (?P<key>     [A-Za-z_$][\w$]*+ (?=\s*:) )
    | (?P<literal> [A-Za-z_$][\w$]*+ )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_IN_SINGLE_QUOTES = re.compile(r'\\.|"', re.DOTALL)
_LITERALS = {"True": "true", "False": "false", "None": "null"}


def _repaired(text: str) -> str:
    return _REPAIRABLE.sub(_mended, text)


def _mended(found: re.Match[str]) -> str:
    token = found[0]
    match found.lastgroup:
        case "double":
            return token if _is_closed(token) else token + '"'
        case "single":
            inner = token[1:-1] if _is_closed(token) else token[1:]
            return '"' + _IN_SINGLE_QUOTES.sub(_requoted, inner) + '"'
        case "comma":
            return ""
        case "key":
            return f'"{token}"'
        case _:
            return _LITERALS.get(token, token)


def _is_closed(string: str) -> bool:
    """Whether a string token ends in its own quote; escaped quotes never end the token's match."""
    if len(string) < 2 or string[-1] != string[0]:
        return False
    body = string[1:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 0


def _requoted(found: re.Match[str]) -> str:
    return {'"': '\\"', "\\'": "'"}.get(found[0], found[0])
