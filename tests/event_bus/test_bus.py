from __future__ import annotations

import gc
import itertools
import math
import threading
import weakref
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.event_bus import EventBus, fold
from host.records import RunEvent

MOMENT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LOCK = threading.Lock()
"""Something that cannot be copied."""


class Clock:
    """Seconds that move when a test says so."""

    def __init__(self) -> None:
        self.reading = 1000.0

    def __call__(self) -> float:
        return self.reading


def bus_of(clock: Clock | None = None, **limits: Any) -> EventBus:
    return EventBus(**limits, now=lambda: MOMENT, clock=clock or Clock())


def seqs(events: list[RunEvent]) -> list[int]:
    return [event.seq for event in events]


async def drained(bus: EventBus, run_id: str) -> list[RunEvent]:
    with anyio.fail_after(5):
        async with bus.watch(run_id) as events:
            return [event async for event in events]


def test_each_run_counts_its_own_events_from_one() -> None:
    bus = bus_of()
    bus.emit("a", kind="turn")
    bus.emit("b", kind="turn")
    event = bus.emit("a", kind="output", text="hi", step="1", id="x")
    assert event == RunEvent(
        run_id="a", seq=2, at=MOMENT, kind="output", text="hi", step="1", id="x"
    )
    assert seqs(bus.history("a")) == [1, 2]
    assert seqs(bus.history("b")) == [1]


def test_an_event_may_bring_its_own_time() -> None:
    bus = bus_of()
    earlier = MOMENT - timedelta(hours=1)
    assert bus.emit("a", kind="turn", at=earlier).at == earlier


def test_history_of_an_unknown_run_is_empty_and_does_not_make_it_known() -> None:
    bus = bus_of()
    assert bus.history("nobody") == []
    assert bus.emit("nobody", kind="turn").seq == 1


def test_history_is_a_new_list_of_the_same_events() -> None:
    bus = bus_of()
    event = bus.emit("a", kind="turn")
    bus.history("a").clear()
    assert bus.history("a")[0] is event


def test_running_totals_edited_later_do_not_reach_history() -> None:
    bus = bus_of()
    usage: dict[str, Any] = {"promptTokens": 1, "turn": {"promptTokens": 1}}
    bus.emit("a", kind="usage", usage=usage)
    usage["promptTokens"] = 2
    usage["turn"]["promptTokens"] = 2
    assert bus.history("a")[0].usage == {"promptTokens": 1, "turn": {"promptTokens": 1}}


class Unreadable(Mapping[str, Any]):
    """Usage of a class that breaks."""

    def __getitem__(self, key: str) -> Any:
        raise OSError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(["promptTokens"])

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("usage", "filed"),
    [
        (MappingProxyType({"promptTokens": 1}), {"promptTokens": 1}),
        ({"turn": MappingProxyType({"n": (1, 2)})}, {"turn": {"n": [1, 2]}}),
        (Unreadable(), {}),
        ({"lock": LOCK}, {"lock": LOCK}),
        ({}, {}),
        (None, None),
    ],
)
def test_usage_of_any_kind_is_filed_and_folded(usage: Any, filed: object) -> None:
    bus = bus_of()
    event = bus.emit("a", kind="usage", usage=usage)
    assert event.usage == filed
    assert fold(bus.history("a")) == [event]


@pytest.mark.parametrize(
    ("emitted", "held"),
    [(1256, range(1, 1257)), (1257, range(258, 1258))],
)
def test_the_backlog_is_cut_back_once_it_is_over_the_slack(emitted: int, held: range) -> None:
    bus = bus_of()
    for _ in range(emitted):
        bus.emit("a", kind="thinking")
    assert seqs(bus.history("a")) == list(held)


@pytest.mark.parametrize(
    ("emitted", "held"),
    [(7, range(1, 8)), (8, range(4, 9)), (18, range(13, 19)), (20, range(16, 21))],
)
def test_a_small_backlog_is_cut_the_same_way(emitted: int, held: range) -> None:
    bus = bus_of(max_events=5, trim_slack=2)
    for _ in range(emitted):
        bus.emit("a", kind="thinking")
    assert seqs(bus.history("a")) == list(held)


@pytest.mark.parametrize("unusable", [0, -1, math.nan, True, "5", None])
def test_a_limit_that_is_no_positive_number_counts_as_not_given(unusable: Any) -> None:
    clock = Clock()
    bus = bus_of(clock, max_events=unusable, trim_slack=unusable, retain_seconds=unusable)
    for _ in range(1257):
        bus.emit("a", kind="thinking")
    assert seqs(bus.history("a")) == list(range(258, 1258))
    bus.emit("a", kind="done", ok=True)
    clock.reading += 59
    assert bus.history("a")
    clock.reading += 1
    assert bus.history("a") == []


def test_an_unlimited_backlog_keeps_everything() -> None:
    bus = bus_of(max_events=math.inf)
    for _ in range(3000):
        bus.emit("a", kind="thinking")
    assert seqs(bus.history("a")) == list(range(1, 3001))


@given(
    st.integers(1, 12),
    st.integers(1, 6),
    st.lists(st.sampled_from(["emit", "done"]), max_size=60),
)
def test_history_is_always_the_newest_events_without_a_hole(
    max_events: int, slack: int, kinds: list[str]
) -> None:
    bus = bus_of(max_events=max_events, trim_slack=slack)
    for count, kind in enumerate(kinds, start=1):
        bus.emit("a", kind="done" if kind == "done" else "output")
        held = seqs(bus.history("a"))
        assert held == list(range(held[0], count + 1))
        assert min(count, max_events) <= len(held) <= max_events + slack


async def test_a_watch_reads_the_backlog_and_then_what_comes_and_ends_after_done() -> None:
    bus = bus_of()
    bus.emit("a", kind="turn")
    read: list[RunEvent] = []

    async def follow(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with bus.watch("a") as events:
            task_status.started()
            read.extend([event async for event in events])

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            await group.start(follow)
            bus.emit("a", kind="output", text="x")
            await anyio.sleep(1)
            bus.emit("a", kind="done", ok=True)
            bus.emit("a", kind="notice", text="late")
    assert [event.kind for event in read] == ["turn", "output", "done"]


async def test_a_watch_on_a_run_not_known_yet_waits_for_it() -> None:
    bus = bus_of()
    async with bus.watch("a") as events:
        bus.emit("a", kind="done", ok=True)
        with anyio.fail_after(5):
            assert [event.kind async for event in events] == ["done"]


async def test_a_watch_left_on_a_run_that_never_came_leaves_nothing_behind() -> None:
    bus = bus_of()
    async with bus.watch("a") as events:
        with anyio.move_on_after(1) as scope:
            await anext(events)
        assert scope.cancelled_caught
    assert bus._streams == {}


async def test_cancelling_in_the_middle_of_a_backlog_stops_at_the_next_event() -> None:
    bus = bus_of()
    for _ in range(10):
        bus.emit("a", kind="output")
    read = []
    with anyio.CancelScope() as scope:
        async with bus.watch("a") as events:
            async for event in events:
                read.append(event.seq)
                if event.seq == 3:
                    scope.cancel()
    assert read == [1, 2, 3]
    assert seqs(bus.history("a")) == list(range(1, 11))


async def test_a_cancelled_wait_loses_no_event() -> None:
    bus = bus_of()
    async with bus.watch("a") as events:
        with anyio.move_on_after(1):
            await anext(events)
        bus.emit("a", kind="turn")
        bus.emit("a", kind="done")
        with anyio.fail_after(5):
            assert [event.seq async for event in events] == [1, 2]


async def test_a_watch_outside_its_context_has_nothing_to_read() -> None:
    bus = bus_of()
    bus.emit("a", kind="turn")
    watch = bus.watch("a")
    assert [event async for event in watch] == []
    async with watch:
        pass
    assert [event async for event in watch] == []


async def test_a_late_watcher_of_a_long_run_reads_contiguous_numbers_and_one_notice() -> None:
    bus = bus_of()
    for _ in range(4000):
        bus.emit("a", kind="thinking", step="2")
    bus.emit("a", kind="done", ok=True)
    read = await drained(bus, "a")
    assert seqs(read) == list(range(read[0].seq, 4002))
    assert [event.kind for event in read if event.kind == "notice"] == ["notice"]
    notice, following = read[:2]
    assert str(following.seq - 1) in notice.text
    assert (notice.step, notice.at) == (following.step, following.at)


async def test_a_watcher_that_falls_behind_is_told_once_how_many_it_lost() -> None:
    bus = bus_of()
    async with bus.watch("a") as events:
        bus.emit("a", kind="turn", step="1")
        read = [await anext(events)]
        for _ in range(3000):
            bus.emit("a", kind="thinking", step="1")
        bus.emit("a", kind="done", ok=True)
        with anyio.fail_after(5):
            read += [event async for event in events]
    assert len(set(seqs(read))) == len(read) < 1500
    notices = [event for event in read if event.kind == "notice"]
    assert len(notices) == 1
    following = read[2]
    assert notices[0] == read[1]
    assert notices[0].seq == following.seq - 1
    assert notices[0].text.split()[0] == str(following.seq - 2)
    assert seqs(read)[1:] == list(range(following.seq - 1, 3003))


async def test_events_dropped_for_a_slow_watcher_are_released() -> None:
    bus = bus_of(max_events=2, trim_slack=1)

    class Marker(str):
        __slots__ = ("__weakref__",)

    async with bus.watch("a"):
        marker = Marker("big")
        released = weakref.ref(marker)
        bus.emit("a", kind="output", text=marker)
        del marker
        for _ in range(5):
            bus.emit("a", kind="output")
        gc.collect()
        assert released() is None


@given(
    st.integers(1, 6),
    st.integers(1, 4),
    st.lists(st.one_of(st.integers(0, 9), st.just("read")), max_size=40),
)
def test_a_watcher_reads_rising_numbers_and_notices_account_for_every_gap(
    max_events: int, slack: int, script: list[int | str]
) -> None:
    """Model: the reader knows the last number it read; each gap is one notice of that size."""

    async def play() -> list[RunEvent]:
        bus = bus_of(max_events=max_events, trim_slack=slack)
        read: list[RunEvent] = []
        async with bus.watch("a") as events:
            for action in script:
                if not isinstance(action, int):
                    if events._unread:
                        read.append(await anext(events))
                    continue
                for _ in range(action):
                    bus.emit("a", kind="output")
            bus.emit("a", kind="done", ok=True)
            return read + [event async for event in events]

    last = 0
    for event in anyio.run(play):
        if event.kind == "notice":
            assert event.seq == last + int(event.text.split()[0])
        else:
            assert event.seq == last + 1
        last = event.seq


async def test_the_backlog_of_a_finished_run_goes_with_its_last_watcher() -> None:
    bus = bus_of()
    bus.emit("a", kind="done", ok=True)
    async with bus.watch("a"):
        await drained(bus, "a")
        assert seqs(bus.history("a")) == [1]
    assert bus.history("a") == []


async def test_the_backlog_of_a_live_run_stays_when_its_watcher_leaves() -> None:
    bus = bus_of()
    bus.emit("a", kind="turn")
    async with bus.watch("a"):
        pass
    assert seqs(bus.history("a")) == [1]


async def test_a_leaving_watcher_does_not_take_a_newer_run_of_the_same_name() -> None:
    bus = bus_of()
    async with bus.watch("a"):
        bus.emit("a", kind="done", ok=True)
        bus.end_run("a")
        bus.emit("a", kind="turn", text="new")
    assert [event.text for event in bus.history("a")] == ["new"]


def test_events_after_done_are_filed_and_numbered() -> None:
    bus = bus_of()
    bus.emit("a", kind="done", ok=True)
    assert bus.emit("a", kind="notice").seq == 2
    assert seqs(bus.history("a")) == [1, 2]


async def test_a_watch_ends_even_when_the_done_was_cut_from_the_backlog() -> None:
    bus = bus_of(max_events=2, trim_slack=1)
    bus.emit("a", kind="done", ok=True)
    for _ in range(5):
        bus.emit("a", kind="notice")
    assert seqs(await drained(bus, "a"))[-1] == 6


async def test_ending_a_run_lets_a_parked_watcher_finish_with_a_failed_done() -> None:
    bus = bus_of()
    read: list[RunEvent] = []

    async def follow(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with bus.watch("a") as events:
            task_status.started()
            read.extend([event async for event in events])

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            await group.start(follow)
            await anyio.sleep(1)
            bus.end_run("a")
    assert [(event.kind, event.ok) for event in read] == [("done", False)]
    assert bus.history("a") == []


def test_ending_an_unknown_run_does_nothing() -> None:
    bus = bus_of()
    bus.end_run("nobody")
    assert bus._streams == {}


async def test_reset_drops_every_run_and_lets_every_watcher_finish() -> None:
    bus = bus_of()
    bus.emit("b", kind="turn")
    async with bus.watch("a") as events:
        bus.reset()
        with anyio.fail_after(5):
            assert [event.kind async for event in events] == ["done"]
    assert bus.history("b") == []
    assert bus.emit("b", kind="turn").seq == 1


@pytest.mark.parametrize(("ended", "retained"), [(True, 60), (False, 1800)])
def test_a_run_is_kept_for_its_time_after_its_last_event(ended: bool, retained: int) -> None:
    clock = Clock()
    bus = bus_of(clock)
    bus.emit("a", kind="turn")
    clock.reading += 50
    bus.emit("a", kind="done" if ended else "output")
    clock.reading += retained - 1
    assert len(bus.history("a")) == 2
    clock.reading += 1
    assert bus.history("a") == []


@pytest.mark.parametrize("touch", ["emit", "history", "end_run"])
def test_any_touch_of_the_bus_drops_other_runs_that_are_due(touch: str) -> None:
    clock = Clock()
    bus = bus_of(clock)
    bus.emit("old", kind="done")
    clock.reading += 60
    if touch == "emit":
        bus.emit("new", kind="turn")
    elif touch == "history":
        bus.history("new")
    else:
        bus.end_run("new")
    assert "old" not in bus._streams


def test_a_live_run_quiet_for_five_minutes_keeps_its_count() -> None:
    clock = Clock()
    bus = bus_of(clock)
    bus.emit("a", kind="turn")
    clock.reading += 300
    assert bus.emit("a", kind="turn").seq == 2


async def test_a_watched_run_is_never_dropped() -> None:
    clock = Clock()
    bus = bus_of(clock)
    bus.emit("a", kind="turn")
    async with bus.watch("a"):
        clock.reading += 10_000
        assert bus.emit("a", kind="turn").seq == 2
        clock.reading += 10_000
        assert seqs(bus.history("a")) == [1, 2]
    assert bus.history("a") == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(0, 900)), max_size=30))
def test_exactly_the_runs_that_are_due_are_gone(
    script: list[tuple[str, bool, int]],
) -> None:
    """Model: a dictionary of last emits, filtered in full at every step."""
    clock = Clock()
    bus = bus_of(clock)
    kept: dict[str, tuple[float, bool]] = {}
    for run_id, done, pause in script:
        kept = _undue(kept, clock.reading)
        bus.emit(run_id, kind="done" if done else "output")
        kept[run_id] = (clock.reading, done or kept.get(run_id, (0, False))[1])
        clock.reading += pause
        kept = _undue(kept, clock.reading)
        assert {name for name in "abc" if bus.history(name)} == set(kept)


def _undue(kept: dict[str, tuple[float, bool]], now: float) -> dict[str, tuple[float, bool]]:
    return {
        run_id: (touched, ended)
        for run_id, (touched, ended) in kept.items()
        if now < touched + (60 if ended else 1800)
    }


async def test_two_watchers_each_read_everything() -> None:
    bus = bus_of()
    bus.emit("a", kind="turn")
    async with bus.watch("a") as one, bus.watch("a") as two:
        bus.emit("a", kind="done", ok=True)
        with anyio.fail_after(5):
            assert [event.seq async for event in one] == [1, 2]
            assert [event.seq async for event in two] == [1, 2]


def test_the_default_times_are_aware_and_real() -> None:
    before = datetime.now(UTC)
    event = EventBus().emit("a", kind="turn")
    assert before <= event.at <= datetime.now(UTC)


def test_run_ids_do_not_share_a_stream() -> None:
    bus = bus_of()
    for run_id, _ in itertools.product("abc", range(3)):
        bus.emit(run_id, kind="output")
    assert [seqs(bus.history(run_id)) for run_id in "abc"] == [[1, 2, 3]] * 3


# Runs that are held, and runs that are over


async def test_what_is_held_outlives_its_watchers_and_its_time() -> None:
    clock = Clock()
    bus = bus_of(clock)
    with bus.held("a"):
        bus.emit("a", kind="output", text="x")
        bus.emit("a", kind="done", ok=True)
        assert len(await drained(bus, "a")) == 2
        clock.reading += 10_000
        bus.emit("b", kind="turn")
        assert len(await drained(bus, "a")) == 2
    assert len(bus.history("a")) == 0  # its time was over long ago
    with bus.held("a"), bus.held("a"):
        bus.emit("a", kind="done", ok=True)
    assert len(bus.history("a")) == 1
    clock.reading += 61
    assert bus.history("a") == []


async def test_a_hold_on_nothing_leaves_nothing_and_one_on_a_dropped_run_drops_no_other() -> None:
    bus = bus_of()
    with bus.held("a"):
        pass
    assert bus._streams == {}
    with bus.held("a"):
        bus.emit("a", kind="turn")
        bus.end_run("a")
        bus.emit("a", kind="output")
    assert [event.kind for event in bus.history("a")] == ["output"]


async def test_nobody_waits_for_a_run_that_is_known_to_be_over() -> None:
    bus = bus_of()
    with anyio.fail_after(5):
        async with bus.watch("gone", is_over=lambda: True) as events:
            assert [event async for event in events] == []
        assert bus._streams == {}
        bus.emit("a", kind="output", text="x")  # what there is, is read all the same
        async with bus.watch("a", is_over=lambda: True) as events:
            assert [event.kind async for event in events] == ["output"]
