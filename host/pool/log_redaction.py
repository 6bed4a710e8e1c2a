"""Keeps a row's secrets out of what the SDK, the HTTP client and the pool itself log.

They log addresses, messages and tracebacks as they are. Their loggers belong to the process, so
a filter stands on them only while a connection of the row lives.
"""

from __future__ import annotations

import logging
from types import TracebackType

from host.text.redaction import Redactor, without_quoted_input

LOGGERS = (
    "client",
    "host.pool",
    "host.pool.fleet",
    "httpcore2.connection",
    "httpcore2.http11",
    "httpcore2.http2",
    "httpcore2.proxy",
    "httpcore2.socks",
    "httpx2",
    "mcp.client.auth.oauth2",
    "mcp.client.caching",
    "mcp.client.client",
    "mcp.client.sse",
    "mcp.client.streamable_http",
    "mcp.shared.dispatcher",
    "mcp.shared.jsonrpc_dispatcher",
    "mcp.shared.tool_name_validation",
)
"""A filter works on its own logger only, not on those below it."""

_WORDS = logging.Formatter()
_SENT = "Sending client message:"


class RowSecretsFilter(logging.Filter):
    """Lets every record pass, without the secrets in its text and its traceback."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        """True; the record's message is put together here, its traceback becomes text."""
        said = record.getMessage()
        if said.startswith(_SENT):  # it may hold what a person answered, which nobody else reads
            said = f"{_SENT} (not shown)"
        record.msg, record.args = self._redacted(said), ()
        if record.exc_info:
            record.exc_text = record.exc_text or _WORDS.formatException(record.exc_info)
            record.exc_info = None
        if record.exc_text:
            record.exc_text = self._redacted(record.exc_text)
        return True

    def _redacted(self, text: str) -> str:
        return self._redactor.redact(without_quoted_input(text))


class LogRedaction:
    """Redacts what foreign loggers say, for a block."""

    def __init__(self, redactor: Redactor) -> None:
        self._filter = RowSecretsFilter(redactor)

    def __enter__(self) -> None:
        for name in LOGGERS:
            logging.getLogger(name).addFilter(self._filter)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(self._filter)
