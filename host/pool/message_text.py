"""Lines and bodies of JSON-RPC, read as far as they can be.

The SDK's reader refuses half of a surrogate pair in an escape (``"\\ud83d"``, what a text cut in
the middle of an emoji leaves) and nesting beyond 200; JavaScript and Python write both.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from host.pool.transports import UNREADABLE

_ESCAPE = re.compile(
    rb"""\\(?:
        u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
      | (?P<open>
          (?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?
           | u[0-9a-fA-F]{0,3} )?
          \Z)
      | (?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})
      | .
    )""",
    re.VERBOSE | re.DOTALL,
)
_OPEN_BYTES = 11
"""The most of an escaped pair that is not the whole of it."""
_REPLACEMENT = rb"\ufffd"

_VERSION = r'"jsonrpc"\s*:\s*"2\.0"'
_ID = r'"id"\s*:\s*(?P<id>-?\d{1,15}|"(?:[^"\\]|\\.){0,200}")'
_OUTCOME = r'"(?:result|error)"\s*:'
_ID_FIRST = re.compile(
    rf"\s*\{{\s*(?:{_VERSION}\s*,\s*)?{_ID}\s*,\s*(?:{_VERSION}\s*,\s*)?{_OUTCOME}"
)
_ID_LAST = re.compile(rf"{_ID}\s*(?:,\s*{_VERSION}\s*)?\}}\s*\Z")
_OUTCOME_FIRST = re.compile(rf"\s*\{{\s*(?:{_VERSION}\s*,\s*)?{_OUTCOME}")
_TAIL_CHARS = 300


class EscapeMender:
    """Puts U+FFFD for each half of a surrogate pair in JSON text that comes in pieces."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """What can be told of the text so far; a piece without such escapes comes back itself."""
        if not self._held and not _needs_a_look(piece):
            return piece
        text, self._held = self._held + piece, b""
        return _ESCAPE.sub(self._mended, text)

    def close(self) -> bytes:
        """The rest, once the text has ended."""
        rest, self._held = self._held, b""
        return _REPLACEMENT if _is_half(rest) else rest

    def _mended(self, found: re.Match[bytes]) -> bytes:
        if found.group("open") is not None:
            self._held = found[0]
            return b""
        return found[0] if found.group("lone") is None else _REPLACEMENT


def whole_escapes(text: bytes) -> bytes:
    """JSON text with U+FFFD for each escaped half of a surrogate pair."""
    mender = EscapeMender()
    return mender.feed(text) + mender.close()


def read_message(line: bytes) -> JSONRPCMessage:
    """The message a line writes; a JSON-RPC error in its stead for an answer nobody can read.

    Bytes that are no UTF-8 and halves of surrogate pairs become U+FFFD; raw control characters
    in strings are let pass. An answer whose id can be told is never lost: whoever waits for it
    is told at once.

    Raises:
        ValueError: it is no message, and no answer either.
    """
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass
    text = whole_escapes(line).decode("utf-8", "replace")
    try:
        written: Any = json.loads(text, strict=False)
    except RecursionError:
        return _stand_in(_answered_id(text), "it is nested too deep")
    except ValueError:
        return _stand_in(_answered_id(text), "it is not JSON")
    try:
        return jsonrpc_message_adapter.validate_python(written, by_name=False)
    except (ValueError, RecursionError):
        return _stand_in(_id_of_answer(written), "it is not JSON-RPC")


def _needs_a_look(piece: bytes) -> bool:
    return rb"\ud" in piece or rb"\uD" in piece or b"\\" in piece[-_OPEN_BYTES:]


def _is_half(rest: bytes) -> bool:
    return len(rest) == 6 and rest[:3].lower() == rb"\ud"


def _stand_in(identifier: int | str | None, why: str) -> JSONRPCError:
    if identifier is None:
        raise ValueError("no message")
    error = ErrorData(code=PARSE_ERROR, message=f"{UNREADABLE}: {why}")
    return JSONRPCError(jsonrpc="2.0", id=identifier, error=error)


def _answered_id(text: str) -> int | str | None:
    """The id of an answer that cannot be parsed, where it stands first or last, as is usual."""
    found = _ID_FIRST.match(text)
    if found is None and _OUTCOME_FIRST.match(text):
        found = _ID_LAST.search(text[-_TAIL_CHARS:])
    if found is None:
        return None
    written = found["id"]
    return written[1:-1] if written.startswith('"') else int(written)


def _id_of_answer(written: Any) -> int | str | None:
    """The id of what claims to be an answer: a log line that has an ``id`` is none."""
    if not isinstance(written, dict) or "method" in written:
        return None
    claims = "jsonrpc" in written or "result" in written or isinstance(written.get("error"), dict)
    identifier = written.get("id")
    is_id = isinstance(identifier, int | str) and not isinstance(identifier, bool)
    return identifier if claims and is_id else None
