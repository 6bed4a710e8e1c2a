"""What is known of eras, against a model of it: each connection on its own."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from host.pool.attempts import Attempt, KnownEra
from host.pool.era_memory import EraMemory
from host.pool.rows import HttpServerRow, ServerRow, StdioServerRow

NOW = datetime(2026, 12, 1, tzinfo=UTC)
ROWS: list[ServerRow] = [
    StdioServerRow(id="a", command="x"),
    StdioServerRow(id="b", command="y"),
    HttpServerRow(id="c", url="http://a.test"),
    StdioServerRow(id="d", command="z", era="2026-07-28"),
]
OLDER = KnownEra(mode="legacy", asked_at=NOW)
NEWER = KnownEra(mode="2026-07-28", discovered={"ttlMs": 0}, asked_at=NOW)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(ROWS),
        st.sampled_from(["recall", "spoke", "failed", "silent", "forget"]),
        st.sampled_from([OLDER, NEWER]),
    ),
    max_size=12,
)


def mode(memory: EraMemory, row: ServerRow) -> tuple[str, bool]:
    attempt = memory.first_attempt(row, 60.0)
    return attempt.mode, attempt.known is not None


class Model:
    """What ought to be known, by row."""

    def __init__(self) -> None:
        self.known: dict[str, KnownEra] = {}
        self.dumb: set[str] = set()

    def take(self, row: ServerRow, step: str, era: KnownEra) -> None:
        if row.era != "auto":
            return
        if step in ("recall", "spoke"):
            self.known[row.id] = era
        elif step == "forget":
            self.known.pop(row.id, None)
        elif step == "failed":
            self.dumb.discard(row.id)
        elif row.transport == "stdio":
            self.dumb ^= {row.id}

    def mode(self, row: ServerRow) -> tuple[str, bool]:
        if row.era != "auto":
            return row.era, False
        if row.id in self.dumb:
            return "legacy", False
        era = self.known.pop(row.id, None)  # until it is proved right
        return (era.mode, True) if era else ("auto", False)


@given(STEPS)
def test_the_next_dial_is_what_the_last_ones_taught(
    steps: list[tuple[ServerRow, str, KnownEra]],
) -> None:
    memory, model = EraMemory(), Model()
    for row, step, era in steps:
        _take(memory, row, step, era)
        model.take(row, step, era)
    for row in [*ROWS, *ROWS]:
        assert mode(memory, row) == model.mode(row)


def _take(memory: EraMemory, row: ServerRow, step: str, era: KnownEra) -> None:
    if step == "recall":
        memory.recall(row, era)
    elif step == "spoke":
        memory.spoke(row, Attempt(mode="auto"), era)
    elif step == "failed":
        memory.failed(row, Attempt(mode="legacy"))
    elif step == "silent":
        memory.fell_silent(row)
    else:
        memory.forget(row)


def test_a_server_that_was_spared_the_question_was_asked_when_it_was() -> None:
    memory, row = EraMemory(), ROWS[0]
    memory.recall(row, NEWER)
    attempt = memory.first_attempt(row, math.inf)
    now = KnownEra(mode=NEWER.mode, discovered=NEWER.discovered, asked_at=NOW + timedelta(days=3))
    assert memory.spoke(row, attempt, now) is NEWER
    assert memory.spoke(row, Attempt(mode="auto"), now) is now


def test_what_took_the_probe_badly_is_dialled_without_it_until_that_fails() -> None:
    memory, row = EraMemory(), ROWS[0]
    memory.spoke(row, Attempt(mode="legacy"), OLDER)
    assert mode(memory, row) == ("legacy", False)
    memory.failed(row, Attempt(mode="legacy"))
    memory.forget(row)
    assert mode(memory, row) == ("auto", False)


def test_nothing_is_kept_of_the_older_transport() -> None:
    memory = EraMemory()
    assert memory.spoke(ROWS[2], Attempt(mode="auto", sse=True), OLDER) is None
