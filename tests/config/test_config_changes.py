"""What an edit means for a running host is told by its rows and by its fields."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.agent_settings import AgentSettings
from host.config.config_changes import (
    RESTART_FIELDS,
    RowChanges,
    restart_fields,
    row_changes,
    unset_remedy,
    with_overrides,
)
from host.config.host_config import HostConfig
from host.pool.rows import StdioServerRow

ROW = st.builds(
    StdioServerRow,
    id=st.sampled_from("abcde"),
    command=st.sampled_from(["x", "y"]),
    label=st.sampled_from([None, "L"]),
)
ROWS = st.lists(ROW, unique_by=lambda row: row.id)


@given(ROWS, ROWS)
def test_every_row_is_new_gone_connected_anew_edited_or_as_it_was(
    before: list[StdioServerRow], after: list[StdioServerRow]
) -> None:
    old, new = {row.id: row for row in before}, {row.id: row for row in after}
    changes = row_changes(before, after)
    assert set(changes.added) == new.keys() - old.keys()
    assert set(changes.removed) == old.keys() - new.keys()
    for row_id in old.keys() & new.keys():
        was, now = old[row_id], new[row_id]
        assert (row_id in changes.restarted) == (was.command != now.command)
        only_label = was.command == now.command and was.label != now.label
        assert (row_id in changes.edited) == only_label
    assert bool(changes.text) == (before != after and changes != RowChanges())


@given(ROWS)
def test_the_same_rows_in_another_order_are_no_change(rows: list[StdioServerRow]) -> None:
    assert row_changes(rows, rows[::-1]).text == ""


def test_changes_are_told_by_kind() -> None:
    changes = RowChanges(added=("a", "b"), removed=("c",), restarted=("d",), edited=("e",))
    assert changes.text == "new: a, b; gone: c; connected anew: d; edited: e"


VALUES: dict[str, Any] = {
    "base_url": "http://127.0.0.1:9/v1",
    "api_key": "k",
    "model": "m",
    "system_prompt": "Be brief.",
    "deadline_seconds": 5.0,
    "context_length": 100,
}


@given(st.sets(st.sampled_from(sorted(VALUES))))
def test_only_what_names_the_endpoint_waits_for_a_restart(changed: set[str]) -> None:
    now = AgentSettings(**{name: VALUES[name] for name in changed})
    waiting = restart_fields(AgentSettings(), now)
    names = {"base_url": "baseUrl", "api_key": "apiKey", "model": "model"}
    assert waiting == tuple(
        f"agent.{names[name]}" for name in RESTART_FIELDS if name in changed and name in names
    )
    assert restart_fields(now, now) == ()


def test_the_window_of_an_engine_of_ours_waits_for_a_restart_too() -> None:
    opened = AgentSettings(gguf="m.gguf")
    now = AgentSettings(gguf="m.gguf", context_length=5)
    assert restart_fields(opened, now) == ("agent.contextLength",)


@pytest.mark.parametrize("overrides", [{}, {"discovery": "keywords"}])
def test_what_flags_set_outlasts_an_edit(overrides: dict[str, Any]) -> None:
    config = HostConfig(agent=AgentSettings(model="m"))
    shown = with_overrides(config, overrides)
    assert shown.agent.discovery == overrides.get("discovery", "names")
    assert (shown.agent.model, shown.overrides) == ("m", overrides)


def test_the_remedy_names_every_variable() -> None:
    assert unset_remedy(["A", "B"]).startswith("A, B is not set; ")
