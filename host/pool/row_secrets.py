"""What of a row must not be shown, and what takes it out of texts."""

from __future__ import annotations

from urllib.parse import urlsplit

from host.pool.rows import ServerRow, StdioServerRow
from host.text.redaction import Redactor, secret_values


def row_redactor(row: ServerRow) -> Redactor:
    """What takes the row's secrets out of texts."""
    return Redactor(row_secrets(row))


def row_secrets(row: ServerRow) -> tuple[str, ...]:
    """What of the row nobody else is to read: values of its environment, headers and address."""
    if isinstance(row, StdioServerRow):
        return tuple(secret_values(row.env))
    return (*secret_values(headers=row.headers, url=row.url), _user_info(row.url))


def _user_info(url: str) -> str:
    """``user:password`` as one secret, so that an address in a text does not name the user."""
    try:
        return urlsplit(url).netloc.rpartition("@")[0]
    except ValueError:
        return ""
