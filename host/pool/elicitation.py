"""What a server may ask of a person, and what it is answered.

Sources: MCP 2025-11-25 and 2026-07-28 "Elicitation"; pool spec §15.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from host.pool.form_fields import FormField, FormValue, form_fields
from host.text.terminal_text import clean_terminal
from host.text.truncation import preview

ElicitationMode = Literal["form", "url"]
ElicitationAction = Literal["accept", "decline", "cancel"]

MAX_MESSAGE_CHARS = 4000
MAX_URL_CHARS = 8000


@dataclass(frozen=True, slots=True, kw_only=True)
class FormElicitation:
    """A form to be filled in; never for passwords and other secrets.

    Attributes:
        message: why it is asked; lines without anything that steers a terminal.
        schema: the JSON schema of the answer, as the server wrote it.
        fields: the same, read.
    """

    message: str
    schema: Mapping[str, Any]
    fields: tuple[FormField, ...]
    mode: Literal["form"] = "form"


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlElicitation:
    """A page to be opened in a browser; it must never be opened without a person's word.

    Attributes:
        message: why; cleaned likewise.
        url: an http or https address of visible ASCII.
        host: whose page it is: the address's own host, and not what only looks like one.
        is_needed: a call has failed for want of what is done there, and is made once more when
            this is accepted. So ``accept`` means that it has been done; else, that it was agreed
            to.
    """

    message: str
    url: str
    host: str
    is_needed: bool = False
    mode: Literal["url"] = "url"


ElicitationRequest: TypeAlias = FormElicitation | UrlElicitation


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitationAnswer:
    """What a person answered: yes, no, or nothing.

    Attributes:
        content: values by field for an accepted form. Fields left out get their defaults; what
            does not fit the form is not sent. None for none.
    """

    action: ElicitationAction
    content: Mapping[str, FormValue] | None = field(default=None, repr=False)


OnElicit: TypeAlias = Callable[[str, ElicitationRequest], Awaitable[ElicitationAnswer]]
"""Asks a person what a server, named by its row's id, wants to know."""

DECLINE = ElicitationAnswer(action="decline")
CANCEL = ElicitationAnswer(action="cancel")


def form_request(message: str, schema: Mapping[str, Any]) -> FormElicitation:
    """A server's form, fit to be shown.

    Raises:
        ValueError: the schema is no flat form.
    """
    return FormElicitation(
        message=_shown_message(message), schema=schema, fields=form_fields(schema)
    )


def url_request(message: str, url: str, *, is_needed: bool = False) -> UrlElicitation:
    """A server's address, fit to be shown.

    Raises:
        ValueError: it is no address of a web page, or has in it what a person cannot see.
    """
    if len(url) > MAX_URL_CHARS or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("not an address that can be shown")
    parts = urlsplit(url)
    _ = parts.port  # raises ValueError for a port that is none
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname or "\\" in url:
        raise ValueError("not the address of a web page")
    return UrlElicitation(
        message=_shown_message(message), url=url, host=parts.hostname, is_needed=is_needed
    )


def _shown_message(message: str) -> str:
    return preview(clean_terminal(message), MAX_MESSAGE_CHARS)


class PageNeeded(Exception):
    """A call needs something to be done on a web page first, and it has not been.

    Args:
        hosts: whose pages; empty where the server named none that can be shown. The addresses
            themselves may hold what is for one person only.
    """

    def __init__(self, hosts: Sequence[str]) -> None:
        where = f", at {' and at '.join(dict.fromkeys(hosts))}" if hosts else ""
        super().__init__(f"wants a person to do something in a browser first{where}")
