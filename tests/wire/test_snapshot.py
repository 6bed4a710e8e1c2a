"""Refusals written down and read again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.capabilities import AcceptedForm, Capabilities, ModelCapabilities
from host.wire.culprit_search import Finding
from host.wire.snapshot import capabilities_json, merge_capabilities, read_capabilities
from host.wire.tool_forms import remember_finding
from tests.wire.test_tool_forms import tool

NOW = datetime(2026, 5, 4, 3, 2, 1, 234000, tzinfo=UTC)

_names = st.text(alphabet="abk-", min_size=1, max_size=4)
_models = st.builds(
    ModelCapabilities,
    reasoning_effort=st.booleans(),
    legacy_token_limit=st.booleans(),
    chosen_temperature=st.booleans(),
    structured_output=st.booleans(),
    assistant_prefill=st.booleans(),
    thinking_hints=st.booleans(),
    refused_fields=st.sets(_names, max_size=3),
    refused_efforts=st.sets(_names, max_size=2),
    tools=st.booleans(),
    refused_tools=st.dictionaries(
        st.sampled_from(["a", "b", "c"]).map(lambda digit: digit * 64),
        st.sampled_from(["bare", "out"]),
        max_size=2,
    ),
    supported_efforts=st.none() | st.lists(_names, min_size=1, max_size=3).map(tuple),
)
_times = st.none() | st.integers(0, 10**10).map(lambda s: datetime.fromtimestamp(s, UTC))
_endpoints = st.builds(
    Capabilities,
    strict_schemas=st.booleans(),
    usage_in_stream=st.booleans(),
    models=st.dictionaries(_names, _models, max_size=3),
    since=_times,
)


def _refusals(capabilities: Capabilities) -> dict[str, Any]:
    """Everything that is off, as a plain value."""
    off: dict[str, Any] = {
        name: False
        for name in ("strict_schemas", "usage_in_stream")
        if not getattr(capabilities, name)
    }
    models = {
        name: model for name, model in capabilities.models.items() if model != ModelCapabilities()
    }
    return {**off, "models": models} if models else off


@given(st.dictionaries(_names, _endpoints, max_size=3))
def test_what_is_written_reads_back_as_the_same_refusals(known: dict[str, Capabilities]) -> None:
    blob = json.loads(json.dumps(capabilities_json(known, saved_at=NOW)))
    read = read_capabilities(blob)
    assert read is not None
    refused = {name: _refusals(entry) for name, entry in known.items() if _refusals(entry)}
    assert {name: _refusals(entry) for name, entry in read.items()} == refused
    assert all(read[name].since == known[name].since for name in read)


@given(_endpoints, _endpoints)
def test_merging_turns_off_the_union_and_nothing_on(
    into: Capabilities, refused: Capabilities
) -> None:
    flags = [(into.strict_schemas, refused.strict_schemas)]
    fields = {name: set(model.refused_fields) for name, model in into.models.items()}
    merge_capabilities(into, refused)
    assert into.strict_schemas == all(flags[0])
    for name, model in refused.models.items():
        assert into.models[name].refused_fields == fields.get(name, set()) | model.refused_fields
        assert into.models[name].thinking_hints <= model.thinking_hints
    merged = _refusals(into)
    merge_capabilities(into, refused)
    assert _refusals(into) == merged


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        ("bare", "bare", "bare"),
        ("bare", "out", "out"),
        ("out", "bare", "out"),
        ("out", "out", "out"),
        (None, "bare", "bare"),
        (None, "out", "out"),
        ("bare", None, "bare"),
        ("out", None, "out"),
    ],
)
def test_of_two_forms_of_a_tool_the_lesser_one_is_merged(
    ours: AcceptedForm | None, theirs: AcceptedForm | None, merged: AcceptedForm
) -> None:
    into, refused = Capabilities(), Capabilities()
    for capabilities, form in ((into, ours), (refused, theirs)):
        if form is not None:
            capabilities.for_model("m").refused_tools["d"] = form
    merge_capabilities(into, refused)
    assert into.for_model("m").refused_tools == {"d": merged}


def test_what_was_guessed_of_a_list_is_not_written() -> None:
    tools = [tool("f"), tool("g")]
    guessing, proving = Capabilities(), Capabilities()
    guess = Finding(fault="tools", out=(1,), unproven=(1,))
    remember_finding(guess, tools, guessing.for_model("m"))
    remember_finding(guess, tools, proving.for_model("m"))
    proving.for_model("m").refused_tools["a" * 64] = "bare"
    blob = capabilities_json({"guessing": guessing, "proving": proving}, saved_at=NOW)
    assert list(blob["endpoints"]) == ["proving"]
    model = blob["endpoints"]["proving"]["models"]["m"]
    assert model["refusedTools"] == {"a" * 64: "bare"}


@pytest.mark.parametrize(
    "entry",
    [{"a" * 63: "bare"}, {"A" * 64: "bare"}, {"a" * 64: "whole"}, {"a" * 64: 1}, ["a" * 64]],
)
def test_what_is_no_form_of_a_tool_is_not_read(entry: object) -> None:
    models = {"m": {"refusedTools": entry, "reasoningEffort": False}}
    read = read_capabilities({"version": 1, "endpoints": {"e": {"models": models}}})
    assert read is not None
    assert read["e"].models["m"].refused_tools == {}


def test_what_was_refused_here_stays_refused_beside_what_is_merged() -> None:
    into, refused = Capabilities(), Capabilities()
    ours, theirs = into.for_model("m"), refused.for_model("m")
    ours.refused_fields, theirs.refused_fields = {"top_k"}, {"min_p"}
    ours.refused_efforts, theirs.refused_efforts = {"low"}, {"high"}
    ours.supported_efforts, theirs.supported_efforts = ("low",), ("none", "low")
    ours.thinking_hints = theirs.assistant_prefill = False
    merge_capabilities(into, refused)
    assert ours == ModelCapabilities(
        refused_fields={"top_k", "min_p"},
        refused_efforts={"low", "high"},
        supported_efforts=("low",),
        thinking_hints=False,
        assistant_prefill=False,
    )


def test_nothing_refused_is_an_empty_snapshot() -> None:
    known = {"e": Capabilities(models={"m": ModelCapabilities()}, since=NOW)}
    assert capabilities_json(known, saved_at=NOW) == {
        "version": 1,
        "savedAt": "2026-05-04T03:02:01.234Z",
        "endpoints": {},
    }


def test_refused_fields_are_sorted_and_models_without_a_refusal_stay_out() -> None:
    model = ModelCapabilities(refused_fields={"top_k", "min_p"}, thinking_hints=False)
    known = {"e": Capabilities(models={"m": model, "n": ModelCapabilities()}, since=NOW)}
    entry = capabilities_json(known, saved_at=NOW)["endpoints"]["e"]
    assert entry["strictSchemas"] is True
    assert list(entry["models"]) == ["m"]
    assert entry["models"]["m"]["refusedFields"] == ["min_p", "top_k"]
    assert entry["models"]["m"]["thinkingHints"] is False
    assert entry["since"] == int(NOW.timestamp() * 1000)


@pytest.mark.parametrize(
    "blob",
    [
        None,
        "x",
        [],
        {},
        {"version": 0, "endpoints": {}},
        {"version": True, "endpoints": {}},
        {"version": "1", "endpoints": {}},
        {"version": 1},
        {"version": 1, "endpoints": []},
    ],
)
def test_what_is_no_snapshot_of_this_version_is_not_read(blob: object) -> None:
    assert read_capabilities(blob) is None


def test_only_false_is_a_refusal_and_odd_entries_say_nothing() -> None:
    model = {"reasoningEffort": 0, "legacyTokenLimit": None, "refusedFields": [1, "k", None]}
    endpoints = {
        "e": {
            "strictSchemas": "false",
            "usageInStream": 0,
            "models": {"m": model, "n": 7, "o": {"refusedFields": "k"}},
        },
        "f": {"strictSchemas": True, "usageInStream": True, "models": {"m": {}}},
        "g": ["strictSchemas"],
        "h": {"usageInStream": False, "models": [], "since": 10**30},
    }
    read = read_capabilities({"version": 1, "endpoints": endpoints})
    assert read is not None
    assert set(read) == {"e", "h"}
    assert read["e"].strict_schemas
    assert read["e"].usage_in_stream
    assert read["e"].models["m"] == ModelCapabilities(refused_fields={"k"})
    assert (read["h"].usage_in_stream, read["h"].since) == (False, None)


def test_the_older_moment_of_learning_wins() -> None:
    into = Capabilities(since=NOW)
    merge_capabilities(into, Capabilities(usage_in_stream=False, since=NOW - timedelta(days=1)))
    assert into.since == NOW - timedelta(days=1)
    merge_capabilities(into, Capabilities(usage_in_stream=False))
    assert into.since == NOW - timedelta(days=1)
