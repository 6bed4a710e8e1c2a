"""Keeps a row's secrets out of what the SDK and the HTTP client log.

They log addresses, messages and tracebacks as they are. Their loggers belong to the process, so
a filter stands on them only while a connection of the row lives.
"""

from __future__ import annotations

import logging
import re
from types import TracebackType

from host.text.redaction import REDACTED, Redactor

FOREIGN_LOGGERS = (
    "client",
    "httpcore2.connection",
    "httpcore2.http11",
    "httpcore2.http2",
    "httpx2",
    "mcp.client.client",
    "mcp.client.sse",
    "mcp.client.streamable_http",
    "mcp.shared.jsonrpc_dispatcher",
)
"""A filter works on its own logger only, not on those below it."""

_WORDS = logging.Formatter()
_QUOTED = re.compile(r"input_value=.*?(?=, input_type=)", re.DOTALL)
"""What a validator quotes; it has cut it, so that half a secret may stand there."""


class RowSecretsFilter(logging.Filter):
    """Lets every record pass, without the secrets in its text and its traceback."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        """True; the record's message is put together here, its traceback becomes text."""
        record.msg, record.args = self._redacted(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = record.exc_text or _WORDS.formatException(record.exc_info)
            record.exc_info = None
        if record.exc_text:
            record.exc_text = self._redacted(record.exc_text)
        return True

    def _redacted(self, text: str) -> str:
        return self._redactor.redact(_QUOTED.sub(f"input_value={REDACTED}", text))


class LogRedaction:
    """Redacts what foreign loggers say, for a block."""

    def __init__(self, redactor: Redactor) -> None:
        self._filter = RowSecretsFilter(redactor)

    def __enter__(self) -> None:
        for name in FOREIGN_LOGGERS:
            logging.getLogger(name).addFilter(self._filter)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for name in FOREIGN_LOGGERS:
            logging.getLogger(name).removeFilter(self._filter)
