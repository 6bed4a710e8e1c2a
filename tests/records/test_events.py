"""Events as JSON: camelCase keys, ISO times, absent fields left out."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from host.records import PoolEvent, RunEvent, event_json

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_a_run_event_keeps_what_it_has_and_drops_what_it_has_not() -> None:
    event = RunEvent(run_id="r", seq=3, at=AT, kind="tool-result", name="a__b", ok=False)
    assert event_json(event) == {
        "event": "run",
        "runId": "r",
        "seq": 3,
        "at": "2026-03-01T12:00:00+00:00",
        "kind": "tool-result",
        "name": "a__b",
        "ok": False,
    }


def test_a_pool_event_spells_its_keys_in_camel_case() -> None:
    event = PoolEvent(kind="close", server_id="s", at=AT, reason="crash", error="exit 1")
    assert event_json(event)["serverId"] == "s"
    assert event_json(event)["reason"] == "crash"


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "seconds": st.floats(0, 100),
            "tools": st.integers(0, 500),
            "added": st.lists(st.sampled_from(["a", "b_c"])).map(tuple),
            "cached": st.booleans(),
            "tool_name": st.sampled_from(["a__b", "c__d"]),
        },
    )
)
def test_exactly_the_given_fields_are_shown_and_they_are_json(
    given_fields: dict[str, object],
) -> None:
    event = PoolEvent(kind="call", server_id="s", at=AT, **given_fields)  # type: ignore[arg-type]
    shown = event_json(event)
    json.dumps(shown)
    assert len(shown) == len(given_fields) + 4
    assert {f.name for f in fields(PoolEvent)} >= set(given_fields)
