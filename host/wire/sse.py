"""Server-sent events without I/O: bytes in, the data of whole events out.

Only ``data`` matters here; ``id``, ``retry`` and names of events are read and dropped, since model
endpoints put everything into the payload. Read as the HTML standard says, but for three things: an
event whose last blank line is missing is still delivered at the end, as servers that hang up early
send it (ours), a field ``error`` is a payload that says so, as llama.cpp sent its errors before it
put them into ``data``, and so is whatever comes under the name ``error``.
"""

from __future__ import annotations

import re

from host.errors import StreamBroken
from host.text.json_text import compact_json, parse_json_strict

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""How long one event may grow before the stream is given up."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class SseDecoder:
    """Collects the bytes of one stream, wherever they were cut, into payloads.

    Args:
        max_event_bytes: the longest event: its data with line ends, and any line while it is read.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._held_bytes = 0
        self._is_error = False
        self._after_cr = False
        self._at_start = True

    def feed(self, received: bytes) -> list[str]:
        """The payloads that ``received`` completes, in order; lines of one are joined by ``\\n``.

        Bytes that are no UTF-8 become U+FFFD. Under the name ``error`` a payload is an object with
        this one field: what came, or its text in quotes.

        Raises:
            StreamBroken: an event is longer than allowed; the decoder is of no use afterwards.
        """
        if self._after_cr and received:
            received = received.removeprefix(b"\n")
            self._after_cr = False
        if not received:
            return []
        self._after_cr = received.endswith(b"\r")
        payloads: list[str] = []
        *ended, rest = _LINE_END.split(received)
        for piece in ended:
            self._hold(piece)
            payloads.extend(self._end_line())
        self._hold(rest)
        return payloads

    def finish(self) -> list[str]:
        """The payload of an event that the end of the stream cut off from its blank line, if any.

        It may be half a payload: the sender is gone.
        """
        return [*self._end_line(), *self._end_event()]

    @property
    def is_in_event(self) -> bool:
        """Whether an event has begun to arrive, and not only a comment."""
        return bool(self._data) or (bool(self._line) and not self._line[0].startswith(b":"))

    def _hold(self, piece: bytes) -> None:
        if not piece:
            return
        self._held_bytes += len(piece)
        if self._held_bytes > self._max_event_bytes:
            raise StreamBroken(f"one event is longer than {self._max_event_bytes} bytes")
        self._line.append(piece)

    def _end_line(self) -> list[str]:
        line = b"".join(self._line)
        self._line.clear()
        if self._at_start:
            self._at_start = False
            without_mark = line.removeprefix(_BOM)
            self._held_bytes -= len(line) - len(without_mark)
            line = without_mark
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"error":
            name, value = b"data", b'{"error":%b}' % value
        if name == b"data":
            self._data.append(value)
            self._held_bytes -= len(line) - len(value) - 1
        else:
            self._held_bytes -= len(line)
            if name == b"event":
                self._is_error = value == b"error"
        return []

    def _end_event(self) -> list[str]:
        lines, is_error = self._data, self._is_error
        self._data = []
        self._held_bytes = 0
        self._is_error = False
        if not lines:
            return []
        payload = b"\n".join(lines).decode(errors="replace")
        return [_error_payload(payload) if is_error else payload]


def _error_payload(payload: str) -> str:
    try:
        error = parse_json_strict(payload)
    except ValueError:
        error = payload
    return compact_json({"error": error or {"message": payload}})
