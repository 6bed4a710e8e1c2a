"""Whom a connection tells what happens to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from mcp_types import ServerNotification, Tool

C = TypeVar("C")
"""The connection that tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring(Generic[C]):
    """Whom a connection tells what; none of them may raise.

    Attributes:
        on_gone: the server's side ended by itself; what is left is being closed.
        on_end: it is closed, for whatever reason.
        on_lost: the server has forgotten the session; answers under way may still come.
        on_locked_out: it lets no message in any more, for the reason given.
        on_tools: the tools were listed again; True when that changed something.
        on_learnt: a server whose era was known has been asked who it is, all the same.
        on_notification: the server said something of its own accord.
        on_event: kind and fields of an event about the server.
        on_notice: level and text of something worth knowing.
    """

    on_gone: Callable[[C], None]
    on_end: Callable[[C], None]
    on_lost: Callable[[C], None]
    on_locked_out: Callable[[C, str], None] = lambda _, __: None
    on_tools: Callable[[C, Sequence[Tool]], bool]
    on_learnt: Callable[[C], None] = lambda _: None
    on_notification: Callable[[ServerNotification], None]
    on_event: Callable[..., None] = lambda *_, **__: None
    on_notice: Callable[[str, str], None]
