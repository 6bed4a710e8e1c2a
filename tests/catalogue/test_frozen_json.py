"""A frozen value is equal, encodes alike, and nobody can change it."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.frozen_json import freeze

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def plain(value: object) -> bool:
    """Whether every container in the value is an ordinary one."""
    if isinstance(value, dict):
        return type(value) is dict and all(map(plain, value.values()))
    return not isinstance(value, list) or (type(value) is list and all(map(plain, value)))


@given(JSON)
def test_a_frozen_value_is_the_same_to_every_reader(value: Any) -> None:
    frozen = freeze(value)
    assert frozen == value
    assert json.dumps(frozen) == json.dumps(value)
    assert freeze(frozen) == value


@given(JSON)
def test_copies_are_ordinary_and_can_be_changed(value: Any) -> None:
    for copied in (copy.deepcopy(freeze(value)), pickle.loads(pickle.dumps(freeze(value)))):
        assert copied == value
        assert plain(copied)


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.__setitem__("k", 1),
        lambda value: value.__delitem__("k"),
        lambda value: value.update(k=1),
        lambda value: value.setdefault("new", 1),
        lambda value: value.pop("k"),
        lambda value: value.popitem(),
        lambda value: value.clear(),
        lambda value: value.__ior__({"k": 1}),
        lambda value: value["k"].append(1),
        lambda value: value["k"].extend([1]),
        lambda value: value["k"].insert(0, 1),
        lambda value: value["k"].pop(),
        lambda value: value["k"].remove({}),
        lambda value: value["k"].clear(),
        lambda value: value["k"].sort(),
        lambda value: value["k"].reverse(),
        lambda value: value["k"].__setitem__(0, 1),
        lambda value: value["k"].__delitem__(0),
        lambda value: value["k"].__iadd__([1]),
        lambda value: value["k"].__imul__(2),
        lambda value: value["k"][0].update(a=1),
    ],
)
def test_every_change_is_refused_at_every_depth(change: Any) -> None:
    frozen: dict[str, Any] = freeze({"k": [{}]})
    with pytest.raises(TypeError, match="shared"):
        change(frozen)
    assert frozen == {"k": [{}]}


def test_a_frozen_value_shares_nothing_with_what_it_was_made_from() -> None:
    source: dict[str, Any] = {"k": [1]}
    frozen = freeze(source)
    source["k"].append(2)
    assert frozen == {"k": [1]}
