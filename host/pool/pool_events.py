"""Who watches the pool, and the telling."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from host.records.events import PoolEvent, PoolEventKind
from host.text.terminal_text import one_line
from host.text.truncation import preview

if TYPE_CHECKING:
    from mcp_types import ServerNotification

logger = logging.getLogger("host.pool")

MAX_NOTICE_CHARS = 1000

_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

PoolListener = Callable[[PoolEvent], None]
NotificationListener = Callable[[str, "ServerNotification"], None]


class PoolEvents:
    """Listeners and the way to them. They are called synchronously, in the order they came."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._listeners: dict[object, PoolListener] = {}
        self._notification_listeners: dict[object, NotificationListener] = {}

    def subscribe(self, listener: PoolListener) -> Callable[[], None]:
        """Tell the listener of every event from now on; the call returned ends that."""
        token = object()
        self._listeners[token] = listener
        return lambda: self._drop(self._listeners, token)

    def on_notification(self, listener: NotificationListener) -> Callable[[], None]:
        """Hand the listener every notification of every server; the call returned ends that."""
        token = object()
        self._notification_listeners[token] = listener
        return lambda: self._drop(self._notification_listeners, token)

    @property
    def is_heard(self) -> bool:
        """Whether anybody listens to events."""
        return bool(self._listeners)

    def emit(self, kind: PoolEventKind, server_id: str | None, **fields: Any) -> None:
        """Tell of an event; costs nothing while nobody listens."""
        if not self._listeners:
            return
        event = PoolEvent(kind=kind, server_id=server_id, at=self._now(), **fields)
        for listener in list(self._listeners.values()):
            _contained(listener, event)

    def notice(self, server_id: str | None, level: str, text: str) -> None:
        """Tell of something worth knowing, and log it; names of a server's may stand in it."""
        text = preview(one_line(text), MAX_NOTICE_CHARS)
        where = f'server "{server_id}": ' if server_id is not None else ""
        logger.log(_LEVELS.get(level, logging.INFO), "%s%s", where, text)
        self.emit("log", server_id, level=level, text=text, source="pool")

    def notified(self, server_id: str, notification: ServerNotification) -> None:
        """Hand a notification on."""
        for listener in list(self._notification_listeners.values()):
            _contained(listener, server_id, notification)

    def _drop(self, listeners: dict[object, Any], token: object) -> None:
        listeners.pop(token, None)


def _contained(listener: Callable[..., None], *said: object) -> None:
    try:
        listener(*said)
    except Exception:  # containment: a listener's fault is not the pool's
        logger.warning("a listener of the pool raised; it stays subscribed", exc_info=True)
