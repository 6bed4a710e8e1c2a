"""A run as a person sees it: every figure of the receipt, one line for each call, clean lines."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.cli.run_view import (
    WORRYING,
    RunView,
    pool_line,
    progress_line,
    receipt_lines,
    shortened,
)
from host.cli.screen import Screen, duration
from host.receipt import Receipt
from host.records import PoolEvent, RunEvent
from host.records.events import PoolEventKind

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

counts = st.integers(0, 10**7)
spans = st.floats(0, 5000)
receipts = st.builds(
    Receipt,
    requests=counts,
    asides=st.integers(1, 99),
    aside_tokens=counts,
    wasted_round_trips=counts,
    prompt_tokens=counts,
    completion_tokens=counts,
    cached_tokens=st.none() | counts,
    catalogue_tokens=counts,
    schema_tokens=counts,
    eager_tokens=counts,
    tool_calls=counts,
    loads=counts,
    failed_calls=counts,
    tool_seconds=spans,
    model_seconds=spans,
    seconds=spans,
)


def figures(text: str) -> list[str]:
    return re.findall(r"\d[\d,]*(?:\.\d+)?", text)


@given(receipts)
def test_a_receipt_shows_every_figure_of_the_bill(bill: Receipt) -> None:
    lines = receipt_lines(bill)
    shown = [figure.replace(",", "") for figure in figures("\n".join(lines))]
    for field in fields(bill):
        value = getattr(bill, field.name)
        if field.name.endswith("seconds"):
            assert duration(value) in lines[-1]
        elif value:  # nothing was counted, cached or failed: that needs no figure
            assert str(value) in shown, field.name
    starts = {len(line) - len(line[line.index("  ") :].lstrip()) for line in lines}
    assert len(starts) == 1, "the values stand in one column"
    assert any("estimate" in line for line in lines)


def test_an_endpoint_that_counts_nothing_is_told_apart_from_one_that_counts_none() -> None:
    bill = Receipt(
        requests=1,
        asides=0,
        prompt_tokens=0,
        completion_tokens=0,
        cached_tokens=None,
        aside_tokens=0,
        catalogue_tokens=3,
        schema_tokens=4,
        eager_tokens=0,
        wasted_round_trips=0,
        tool_calls=0,
        loads=0,
        failed_calls=0,
        tool_seconds=0,
        model_seconds=1,
        seconds=1,
    )
    assert "the endpoint counted none" in receipt_lines(bill)[1]


MARKS = ["\x1b[31m", "\x1b]0;t\x07", "\x1b", "\x9b2J", "\r\n", "\n", "\x00", "\u202e", "\u2028"]
texts = st.lists(st.sampled_from([*MARKS, "word", " ", "é"]), max_size=40).map("".join)
pool_events = st.builds(
    PoolEvent,
    kind=st.sampled_from(get_args(PoolEventKind)),
    server_id=st.none() | texts,
    at=st.just(NOON),
    tool_name=st.none() | texts,
    progress=st.none() | st.floats(-10, 1e9),
    total=st.none() | st.floats(0.1, 1e9),
    ok=st.none() | st.booleans(),
    prompt_tokens=st.none() | counts,
    source=st.sampled_from([None, "server", "pool"]),
    logger=st.none() | texts,
    seconds=st.none() | spans,
    tools=st.none() | counts,
    error=st.none() | texts,
    reason=st.sampled_from([None, "crash", "shutdown", "idle"]),
    level=st.sampled_from([None, "debug", "info", "warning", "error"]),
    text=st.none() | texts,
)


@given(pool_events)
def test_a_pool_line_is_one_clean_line_or_nothing(event: PoolEvent) -> None:
    line = pool_line(event)
    assert line.isprintable()
    told: set[tuple[PoolEventKind, str | None]] = {("connect", None), ("connect-failed", None)}
    worth = (
        (event.kind, None) in told
        or event.kind == "sampling"
        or (event.kind == "close" and event.reason == "crash")
        or (event.kind == "log" and event.level in WORRYING)
    )
    assert bool(line) == worth


@given(pool_events)
def test_how_far_a_call_is_stands_on_one_clean_line(event: PoolEvent) -> None:
    assert progress_line(event).isprintable()


def reported(seconds: float, progress: float, total: float | None = None, text: str = "") -> Any:
    return PoolEvent(
        kind="progress",
        server_id="fs",
        at=NOON + timedelta(seconds=seconds),
        tool_name="fs__index",
        progress=progress,
        total=total,
        text=text or None,
    )


def test_only_a_call_that_takes_long_says_how_far_it_is_and_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    view = RunView(Screen())
    for tenth in range(100):
        view(reported(tenth / 10, tenth, 100, "reading"))
    assert capsys.readouterr().err.splitlines() == [
        "… fs__index 30% reading",
        "… fs__index 60% reading",
        "… fs__index 90% reading",
    ]
    view(PoolEvent(kind="call", server_id="fs", at=NOON, tool_name="fs__index", ok=True))
    view(reported(20, 1))
    view(reported(22, 2))
    assert capsys.readouterr().err == ""
    view(reported(23, 3.5))
    assert capsys.readouterr().err == "… fs__index 3.5\n"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            {"kind": "log", "level": "warning", "source": "server", "text": "disk full"},
            "· fs says: disk full",
        ),
        (
            {
                "kind": "log",
                "level": "error",
                "source": "server",
                "logger": "db",
                "text": "disk full",
            },
            "· fs (db) says: disk full",
        ),
        (
            {"kind": "log", "level": "warning", "source": "pool", "text": "prints no message"},
            "· fs: prints no message",
        ),
        (
            {"kind": "sampling", "ok": True, "prompt_tokens": 1200, "completion_tokens": 30},
            "· fs asked the model: 1,200 + 30 tokens",
        ),
        (
            {"kind": "sampling", "ok": False, "error": "the user said no"},
            "· fs asked the model in vain: the user said no",
        ),
        ({"kind": "elicitation", "mode": "form", "action": "accept"}, ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_server_says_is_told_apart_from_what_is_said_of_it(
    event: dict[str, Any], line: str
) -> None:
    assert pool_line(PoolEvent(server_id="fs", at=NOON, **event)) == line


@given(texts, st.integers(1, 30))
def test_a_shortened_text_is_a_prefix_that_says_that_it_was_cut(text: str, limit: int) -> None:
    short, whole = shortened(text, limit), shortened(text, 10**6)
    assert len(short) <= limit
    if short != whole:
        assert short.endswith("…")
        assert whole.startswith(short[:-1])


class Call:
    """A call to be shown: asked at one moment, answered at a later one."""

    def __init__(self, number: int, name: str, asked: int, took: int, ok: bool) -> None:
        self.number, self.name, self.ok = number, name, ok
        self.asked, self.answered = asked, asked + took

    @property
    def arguments(self) -> str:
        return f'{{"call":{self.number}}}'

    def events(self) -> list[RunEvent]:
        common: dict[str, Any] = {"run_id": "r", "name": self.name, "id": f"id{self.number}"}
        return [
            RunEvent(seq=1, at=_at(self.asked), kind="tool-call", text=self.arguments, **common),
            RunEvent(
                seq=2, at=_at(self.answered), kind="tool-result", text="why", ok=self.ok, **common
            ),
        ]


def _at(milliseconds: int) -> datetime:
    return NOON + timedelta(milliseconds=milliseconds)


calls = st.lists(
    st.tuples(
        st.sampled_from(["a__x", "a__y"]),
        st.integers(0, 5000),
        st.integers(0, 100_000),
        st.booleans(),
    ),
    max_size=6,
).map(lambda drawn: [Call(number, *one) for number, one in enumerate(drawn)])


@given(calls)
def test_each_answer_is_shown_with_its_own_question_and_duration(drawn: list[Call]) -> None:
    out, err = io.StringIO(), io.StringIO()
    events = [event for call in drawn for event in call.events()]
    with redirect_stdout(out), redirect_stderr(err):
        view = RunView(Screen())
        for event in sorted(events, key=lambda event: (event.at, event.seq)):
            view(event)
    expected = {
        f"{'→' if call.ok else '✗'} {call.name} {call.arguments}  "
        + duration((call.answered - call.asked) / 1000)
        + ("" if call.ok else "  why")
        for call in drawn
    }
    assert set(err.getvalue().splitlines()) == expected
    assert out.getvalue() == ""


@pytest.mark.parametrize("kind", ["step", "decision", "turn", "thinking", "usage", "done"])
def test_what_a_person_need_not_see_is_passed_over(kind: Any) -> None:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        RunView(Screen())(RunEvent(run_id="r", seq=1, at=NOON, kind=kind, text="secret thought"))
    assert out.getvalue() + err.getvalue() == ""


def test_text_is_the_answer_and_notices_are_about_it() -> None:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        view = RunView(Screen())
        for kind, text in (("output", "Hel"), ("notice", "slow"), ("output", "lo")):
            view(RunEvent(run_id="r", seq=1, at=NOON, kind=kind, text=text))  # type: ignore[arg-type]  # drawn from the literals above
        view(PoolEvent(kind="connect", server_id="s", at=NOON, tools=2, seconds=0.5))
    assert out.getvalue() == "Hel\nlo\n"
    assert err.getvalue() == "· slow\n✓ s: 2 tools, 500 ms\n"
