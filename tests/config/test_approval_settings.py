"""The approve object: good values become a policy, each bad one is found where it stands."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from host.config.agent_reading import read_agent
from host.config.approval_settings import ApprovalSettings
from host.loop.approval import RULINGS, ApprovalPolicy

LISTS = ("allow", "ask", "deny")
RULES = ("readOnly", "destructive", "otherwise")

PATTERNS = st.lists(st.sampled_from(["fs__*", "fs__read", "?", "*"]), max_size=3)
GOOD = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.one_of(st.none(), PATTERNS) for name in LISTS},
        **{name: st.one_of(st.none(), st.sampled_from(RULINGS)) for name in RULES},
    },
)
BAD = {name: [[""], [" "], [3], "fs__*", {"fs": 1}, ["fs__*", "a b"]] for name in LISTS} | {
    name: ["", "Allow", "never", True, ["allow"]] for name in RULES
}


def test_the_examples_cover_every_field() -> None:
    assert set(BAD) == {to_camel(name) for name in ApprovalSettings.model_fields}


@given(GOOD)
def test_what_is_written_is_the_policy_and_null_is_absent(written: dict[str, Any]) -> None:
    kept: dict[str, Any] = {
        {"readOnly": "read_only"}.get(name, name): tuple(value) if name in LISTS else value
        for name, value in written.items()
        if value is not None
    }
    assert ApprovalSettings.model_validate(written).policy() == ApprovalPolicy(**kept)


@given(GOOD, st.data())
def test_exactly_the_bad_fields_are_found(written: dict[str, Any], data: st.DataObject) -> None:
    bad = data.draw(st.sets(st.sampled_from(sorted(BAD)), min_size=1))
    wrong = {name: data.draw(st.sampled_from(BAD[name])) for name in sorted(bad)}
    with pytest.raises(ValidationError) as caught:
        ApprovalSettings.model_validate(written | wrong)
    assert {fault["loc"][0] for fault in caught.value.errors()} == bad


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("deny all", "agent.approve must be an object"),
        ({"deny": "fs__*"}, "agent.approve.deny must be a list"),
        ({"ask": ["fs__*", 3]}, "agent.approve.ask[1] must be a text"),
        (
            {"ask": ["fs__*", ""]},
            "agent.approve.ask[1] must be a tool's name without blanks, * and ? for what may vary",
        ),
        ({"otherwise": "no"}, "agent.approve.otherwise must be one of 'allow', 'ask' or 'deny'"),
        (
            {"read_only": "ask"},
            'agent.approve.read_only is not a known field; did you mean "readOnly"?',
        ),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(written: object, problem: str) -> None:
    assert read_agent({"approve": written}, {})[3] == [problem]


def test_an_empty_object_is_the_usual_policy() -> None:
    assert ApprovalSettings.model_validate({}).policy() == ApprovalPolicy()
