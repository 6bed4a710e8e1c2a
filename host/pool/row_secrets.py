"""What of a row must not be shown, and what takes it out of texts."""

from __future__ import annotations

from urllib.parse import urlsplit

from host.pool.rows import ServerRow, StdioServerRow
from host.text.redaction import Redactor, secret_values


def row_redactor(row: ServerRow) -> Redactor:
    """What takes the row's secrets out of texts."""
    if isinstance(row, StdioServerRow):
        return Redactor(secret_values(row.env))
    return Redactor((*secret_values(headers=row.headers, url=row.url), _user_info(row.url)))


def _user_info(url: str) -> str:
    """``user:password`` as one secret, so that an address in a text does not name the user."""
    try:
        return urlsplit(url).netloc.rpartition("@")[0]
    except ValueError:
        return ""
