"""Roots of tool schemas, folded into one object."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.schema_folding import fold_root
from tests.wire.schemas import NAMES, roots

EMPTY = {"type": "object", "properties": {}}
STRING = {"type": "string"}
NUMBER = {"type": "number"}
STRING_HERE = {"anyOf": [STRING, {}]}
"""A string in one branch of a union, and whatever it likes in another that is silent about it."""


def obj(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return schema if required is None else {**schema, "required": required}


@pytest.mark.parametrize("parameters", [None, [], "object", True, 3, {}, EMPTY, {"type": "string"}])
def test_what_describes_no_object_is_an_empty_object(parameters: Any) -> None:
    assert fold_root(parameters) == EMPTY


def closed(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {**obj(required, **properties), "additionalProperties": False}


CASES: dict[str, tuple[Any, Any]] = {
    "a clean schema": (
        obj(["a"], a={"type": "string", "pattern": "^#[0-9a-f]{3}$", "enum": ["#fff"]}),
        obj(["a"], a={"type": "string", "pattern": "^#[0-9a-f]{3}$", "enum": ["#fff"]}),
    ),
    "keywords that no root has": ({"allOf": [{"type": "object"}], "enum": [1], "not": {}}, EMPTY),
    "a required name nothing declares": (
        {"type": "object", "oneOf": [{"type": "string"}], "required": ["k"]},
        EMPTY,
    ),
    "required names that are none": (obj(["a", 3, "b"], a=STRING), obj(["a"], a=STRING)),  # type: ignore[list-item]  # hostile
    "a required that is no list": ({**obj(a=STRING), "required": "a"}, obj(a=STRING)),
    "a union": (
        {"anyOf": [obj(["a", "id"], a=STRING, id=NUMBER), obj(["id"], b=STRING, id=NUMBER)]},
        obj(["id"], a=STRING_HERE, b=STRING_HERE, id=NUMBER),
    ),
    "a union of closed objects": (
        {"oneOf": [closed(["a"], a=STRING, kind={"const": "x"}), closed(kind={"const": "y"})]},
        obj(a=STRING, kind={"anyOf": [{"const": "x"}, {"const": "y"}]}),
    ),
    "a union whose other branch says what else there may be": (
        {"anyOf": [closed(a=STRING), {**obj(b=STRING), "additionalProperties": NUMBER}]},
        obj(a={"anyOf": [STRING, NUMBER]}, b=STRING),
    ),
    "a union in a closed object": (
        {**closed(b=NUMBER), "anyOf": [obj(a=STRING), {"required": ["b"]}]},
        closed(a=STRING, b=NUMBER),
    ),
    "a union that narrows what the root describes": (
        {**obj(["status"], status=STRING), "anyOf": [obj(status={"const": "closed"}), {}]},
        obj(["status"], status=STRING),
    ),
    "a union of which one branch is no object": (
        {"anyOf": [obj(["a"], a=STRING), {"type": "string"}, {"enum": [None]}, False]},
        obj(a=STRING),
    ),
    "a union with anything": ({"anyOf": [obj(["a"], a=STRING), True]}, obj(a=STRING_HERE)),
    "a union in a branch of a union": (
        {"anyOf": [closed(a=STRING), {"anyOf": [closed(["a"], a=NUMBER), closed(a=True)]}]},
        obj(a={"anyOf": [STRING, {"anyOf": [NUMBER, True]}]}),
    ),
    "a union in a branch of all": (
        {"allOf": [{"oneOf": [closed(["a", "k"], a=STRING, k=NUMBER), closed(["k"], k=STRING)]}]},
        obj(["k"], a=STRING, k={"anyOf": [NUMBER, STRING]}),
    ),
    "inheritance over two levels": (
        {
            "$defs": {
                "Animal": obj(["name"], name=STRING),
                "Dog": {"allOf": [{"$ref": "#/$defs/Animal"}, obj(["breed"], breed=STRING)]},
            },
            "allOf": [{"$ref": "#/$defs/Dog"}, {"properties": {"owner": STRING}}],
            "required": ["owner"],
        },
        obj(["owner", "name", "breed"], name=STRING, breed=STRING, owner=STRING),
    ),
    "inheritance in a circle": (
        {
            "$defs": {"A": {**obj(["a"], a=STRING), "allOf": [{"$ref": "#/$defs/A"}]}},
            "allOf": [{"$ref": "#/$defs/A"}],
        },
        obj(["a"], a=STRING),
    ),
    "what is not evaluated by branches that go": (
        {**obj(b={}), "unevaluatedProperties": False, "allOf": [{"patternProperties": {"x": {}}}]},
        obj(b={}),
    ),
    "what is not evaluated where no branch goes": (
        {**obj(b={}), "unevaluatedProperties": False},
        {**obj(b={}), "unevaluatedProperties": False},
    ),
    "a reference into a branch": (
        {"allOf": [obj(a=STRING), obj(b={"$ref": "#/allOf/0/properties/a"})]},
        {**obj(a=STRING, b={"$ref": "#/$defs/a"}), "$defs": {"a": STRING}},
    ),
    "a reference into a union that is merged": (
        {
            **obj(a={"anyOf": [STRING, {"type": "null"}]}, b={"$ref": "#/properties/a/anyOf/0"}),
            "$defs": {"0": NUMBER},
        },
        {
            **obj(a={**STRING, "nullable": True}, b={"$ref": "#/$defs/0_2"}),
            "$defs": {"0_2": STRING},
        },
    ),
    "a reference to the whole of what is folded": (
        {"anyOf": [obj(next={"$ref": "#"})]},
        {
            **obj(next={"$ref": "#/$defs/root"}),
            "$defs": {"root": {"anyOf": [obj(next={"$ref": "#/$defs/root"})]}},
        },
    ),
    "a reference to the whole of what is not": (obj(next={"$ref": "#"}), obj(next={"$ref": "#"})),
    "a reference to the anchor of a definition": (
        {**obj(a={"$ref": "#foo"}), "$defs": {"A/B": {"$anchor": "foo", **STRING}}},
        {**obj(a={"$ref": "#/$defs/A~1B"}), "$defs": {"A/B": {"$anchor": "foo", **STRING}}},
    ),
    "a reference to an anchor in a definition": (
        {**obj(a={"$ref": "#foo"}), "definitions": {"A": obj(x={"$anchor": "foo", **STRING})}},
        {**obj(a={"$ref": "#/$defs/foo"}), "$defs": {"foo": {"$anchor": "foo", **STRING}}},
    ),
    "a reference to an anchor that is not there": (
        obj(a={"$ref": "#foo"}),
        obj(a={"$ref": "#foo"}),
    ),
    "a union of a reference and null beside properties": (
        {**obj(b=NUMBER), "$defs": {"A": obj(a=STRING)}, "anyOf": [{"$ref": "#/$defs/A"}, "null"]},
        {**obj(a=STRING, b=NUMBER), "nullable": True},
    ),
    "a union of a reference to nothing and null": (
        {**obj(b=NUMBER), "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]},
        obj(b=NUMBER),
    ),
    "a union of one": ({"oneOf": [obj(["a"], a=STRING)]}, obj(["a"], a=STRING)),
    "a union of one and null": (
        {"anyOf": [obj(["a"], a=STRING), {"type": "null"}]},
        {**obj(["a"], a=STRING), "nullable": True},
    ),
    "a union of a reference and null": (
        {"$defs": {"A": obj(a="string")}, "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]},
        {**obj(a=STRING), "nullable": True},
    ),
    "a union of references": (
        {
            "$defs": {"A": obj(["a"], a=STRING), "B": obj(["b"], b=STRING)},
            "oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
        },
        obj(a=STRING_HERE, b=STRING_HERE),
    ),
    "a union with a reference out of the document": (
        {"anyOf": [{"$ref": "https://example.org/a.json"}, obj(["b"], b=STRING)]},
        obj(b=STRING),
    ),
    "a union that only requires": (
        {**obj(["c"], a=STRING, b=STRING, c=STRING), "anyOf": [{"required": ["a"]}, {}]},
        obj(["c"], a=STRING, b=STRING, c=STRING),
    ),
    "a union that describes one property twice": (
        {"oneOf": [obj(kind={"const": 1}), obj(kind={"const": True}), obj(kind={"const": 1})]},
        obj(kind={"anyOf": [{"const": 1}, {"const": True}]}),
    ),
    "a branch that requires what none declares": (
        {"allOf": [obj(["id"], a=STRING), {"required": ["a"]}]},
        obj(["a"], a=STRING),
    ),
    "allOf over own properties": (
        {**obj(["a"], a=STRING), "allOf": [obj(a=NUMBER), obj(["b"], b=STRING)]},
        obj(["a", "b"], a=NUMBER, b=STRING),
    ),
    "allOf with a branch that leads nowhere": (
        {"allOf": [{"$ref": "#/$defs/Missing"}, obj(["a"], a=STRING)]},
        obj(["a"], a=STRING),
    ),
    "a reference as the root": (
        {
            "$ref": "#/$defs/A",
            "title": "lost",
            "$defs": {"A": {"$ref": "#/$defs/B"}, "B": obj(b=True)},
        },
        obj(b=True),
    ),
    "a root reference to what refers on": (
        {"$ref": "#/$defs/A", "$defs": {"A": obj(b={"$ref": "#/$defs/B"}), "B": STRING}},
        {**obj(b={"$ref": "#/$defs/B"}), "$defs": {"B": STRING}},
    ),
    "a root reference into the document": ({"$ref": "#/properties/a", **obj(a=EMPTY)}, EMPTY),
    "a root reference in a circle": (
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
        EMPTY,
    ),
    "a root reference to nothing": ({"$ref": "#/definitions/X", "properties": {"a": {}}}, EMPTY),
    "an unused definition that names itself": (
        {**obj(a=STRING), "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}},
        obj(a=STRING),
    ),
    "definitions that are no map": (
        {**obj(a=STRING), "$defs": [], "definitions": {}},
        obj(a=STRING),
    ),
    "a reference inside data": (
        {**obj(a={"default": {"$ref": "#/$defs/A"}}), "$defs": {"A": STRING, "B": STRING}},
        {**obj(a={"default": {"$ref": "#/$defs/A"}}), "$defs": {"A": STRING}},
    ),
    "a reference to the inside of a definition": (
        {**obj(a={"$ref": "#/$defs/A/properties/x"}), "$defs": {"A": obj(x=STRING)}},
        {**obj(a={"$ref": "#/$defs/A/properties/x"}), "$defs": {"A": obj(x=STRING)}},
    ),
    "several types at the root": ({"type": ["object", "string"], "properties": {}}, EMPTY),
    "object or null at the root": (
        {"type": ["object", "null"], "properties": {"a": True}},
        {**obj(a=True), "nullable": True},
    ),
}


@pytest.mark.parametrize(("parameters", "folded"), CASES.values(), ids=CASES)
def test_every_known_root_is_folded_into_an_object(parameters: Any, folded: Any) -> None:
    assert fold_root(parameters) == folded


@pytest.mark.parametrize(("parameters", "folded"), CASES.values(), ids=CASES)
def test_a_frozen_root_is_folded_as_any_other(parameters: Any, folded: Any) -> None:
    assert fold_root(frozen(parameters)) == folded


def frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: frozen(inner) for key, inner in value.items()})
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def test_definitions_reached_through_others_are_kept_in_their_order() -> None:
    defs = {"Z": STRING, "B": obj(a={"$ref": "#/$defs/A"}), "A": obj(b={"$ref": "#/$defs/B"})}
    folded = fold_root({**obj(q={"$ref": "#/$defs/A"}), "$defs": defs})
    assert list(folded["$defs"]) == ["B", "A"]


@dataclass(frozen=True)
class Branch:
    """One branch of a union: what it describes, and how it is written."""

    properties: tuple[str, ...]
    required: tuple[str, ...]
    written: str

    @property
    def resolves(self) -> bool:
        return self.written in {"inline", "reference", "chain"}

    @property
    def schema(self) -> dict[str, Any]:
        properties = {name: {"type": "string"} for name in self.properties}
        return {"type": "object", "properties": properties, "required": [*self.required]}


BRANCHES = st.lists(
    st.builds(
        Branch,
        properties=st.lists(NAMES, unique=True, max_size=3).map(tuple),
        required=st.lists(NAMES, unique=True, max_size=3).map(tuple),
        written=st.sampled_from(["inline", "reference", "chain", "missing", "external", "loop"]),
    ),
    min_size=1,
    max_size=4,
)


def written(root: Branch, keyword: str, branches: list[Branch]) -> dict[str, Any]:
    defs: dict[str, Any] = {"Loop": {"$ref": "#/$defs/Loop"}}
    listed: list[Any] = []
    for at, branch in enumerate(branches):
        defs[f"D{at}"] = branch.schema
        defs[f"C{at}"] = {"$ref": f"#/$defs/D{at}"}
        listed.append(
            {
                "inline": branch.schema,
                "reference": {"$ref": f"#/$defs/D{at}"},
                "chain": {"$ref": f"#/$defs/C{at}", "title": "ignored"},
                "missing": {"$ref": "#/$defs/Missing"},
                "external": {"$ref": "other.json#/$defs/D0"},
                "loop": {"$ref": "#/$defs/Loop"},
            }[branch.written]
        )
    return {**root.schema, keyword: listed, "$defs": defs}


@given(BRANCHES, st.sampled_from(["allOf", "anyOf", "oneOf"]))
def test_a_folded_root_names_what_its_branches_name(branches: list[Branch], keyword: str) -> None:
    root, *branches = branches
    folded = fold_root(written(root, keyword, branches))
    resolved = [branch for branch in branches if branch.resolves]
    names = {name for branch in (root, *resolved) for name in branch.properties}
    required = set(root.required)
    if keyword == "allOf":
        required.update(name for branch in resolved for name in branch.required)
    elif any(branch.properties for branch in resolved):
        sets = [set(branch.required) if branch.resolves else set() for branch in branches]
        required |= set.intersection(*sets)
    assert set(folded["properties"]) == names
    assert set(folded.get("required", ())) == required & names
    assert "$defs" not in folded


@given(roots())
def test_folding_twice_is_folding_once_and_changes_no_input(parameters: dict[str, Any]) -> None:
    before = deepcopy(parameters)
    once = fold_root(parameters)
    assert parameters == before
    assert fold_root(once) == once


@given(roots())
def test_every_root_becomes_a_plain_object_with_nothing_dangling(
    parameters: dict[str, Any],
) -> None:
    folded = fold_root(parameters)
    assert folded["type"] == "object"
    assert not {"allOf", "anyOf", "oneOf", "enum", "not", "$ref"} & set(folded)
    assert set(folded.get("required", ())) <= set(folded["properties"])
    assert folded.get("required") != []
    for pool in ("$defs", "definitions"):
        assert folded.get(pool) != {}
        for name in folded.get(pool, {}):
            assert f"'#/{pool}/{name}" in repr(folded)
