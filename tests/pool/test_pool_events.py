"""Listeners are told in order; one that raises harms nobody."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from mcp_types import ToolListChangedNotification

from host.pool.pool_events import PoolEvents
from host.records.events import PoolEvent

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def never() -> datetime:
    raise AssertionError("asked for the time though nobody listens")


def test_every_listener_is_told_until_it_unsubscribes() -> None:
    events = PoolEvents(lambda: NOW)
    first: list[PoolEvent] = []
    second: list[PoolEvent] = []
    leave = events.subscribe(first.append)
    events.subscribe(second.append)
    events.emit("connect", "a", tools=3)
    leave()
    leave()
    events.emit("close", "a", reason="stop")
    assert [event.kind for event in first] == ["connect"]
    assert [(event.kind, event.at, event.tools, event.reason) for event in second] == [
        ("connect", NOW, 3, None),
        ("close", NOW, None, "stop"),
    ]


def test_an_event_costs_nothing_while_nobody_listens() -> None:
    PoolEvents(never).emit("connect", "a")


def test_a_listener_that_raises_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    def raising(*_: object) -> None:
        raise RuntimeError("listener")

    told: list[object] = []
    events = PoolEvents(lambda: NOW)
    events.subscribe(raising)
    events.subscribe(told.append)
    events.on_notification(raising)
    events.on_notification(lambda server_id, said: told.append((server_id, said.method)))
    events.emit("connect", "a")
    events.notified("a", ToolListChangedNotification())
    assert told[1:] == [("a", "notifications/tools/list_changed")]
    assert len(caplog.records) == 2


def test_a_listener_may_unsubscribe_while_it_is_told() -> None:
    events = PoolEvents(lambda: NOW)
    told: list[str] = []

    def once(event: PoolEvent) -> None:
        told.append(event.kind)
        leave()

    leave = events.subscribe(once)
    events.emit("connect", "a")
    events.emit("connect", "a")
    assert told == ["connect"]


def test_a_notice_is_an_event_and_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    events = PoolEvents(lambda: NOW)
    told: list[PoolEvent] = []
    events.subscribe(told.append)
    events.notice("a", "warning", "odd")
    assert [(event.kind, event.level, event.text) for event in told] == [("log", "warning", "odd")]
    assert caplog.messages == ['server "a": odd']
