"""The schemas of some 2,300 real tools: what is sent of them is valid and takes nothing away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, cast

import pytest

from host.records import ToolDefinition
from host.text.json_text import compact_json
from host.wire.schema_compat import relax_tools, sanitize_tools
from tests.wire import schemas
from tests.wire.instances import Candidates, judge
from tests.wire.real_schemas import fleet_tools, livemcpbench_tools

CANDIDATES_EACH = 8
TEXTS = ("title", "description")
SINGLE = frozenset(schemas.SINGLE) | frozenset(schemas.LISTS)
MAPS = frozenset(schemas.MAPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A real tool's schema, in a text of its own as it was given, and what is sent of it."""

    name: str
    given: dict[str, Any]
    given_text: str
    sanitized: ToolDefinition
    relaxed: ToolDefinition

    @property
    def all_forms(self) -> list[dict[str, Any]]:
        """The forms it is sent in, as far as they differ from each other."""
        first, second = parameters_of(self.sanitized), parameters_of(self.relaxed)
        return [first] if first == second else [first, second]

    @property
    def changed_forms(self) -> list[dict[str, Any]]:
        """Those of them that differ from what was given."""
        return [form for form in self.all_forms if form != self.given]


def parameters_of(tool: ToolDefinition) -> dict[str, Any]:
    return tool["function"]["parameters"]


@pytest.fixture(scope="module")
def tools() -> list[Sent]:
    """Every tool of both collections, sanitised and relaxed in one list each."""
    given = livemcpbench_tools() | fleet_tools()
    texts = {name: compact_json(schema) for name, schema in given.items()}
    definitions = [
        cast("ToolDefinition", {"type": "function", "function": {"name": name, "parameters": one}})
        for name, one in given.items()
    ]
    sanitized = sanitize_tools(definitions)
    relaxed = relax_tools(sanitized)
    again = sanitize_tools(definitions)
    assert all(one is other for one, other in zip(sanitized, again, strict=True)), "remembered"
    assert all(one is other for one, other in zip(relaxed, relax_tools(again), strict=True))
    return [
        Sent(
            name=name,
            given=schema,
            given_text=texts[name],
            sanitized=sanitized[at],
            relaxed=relaxed[at],
        )
        for at, (name, schema) in enumerate(given.items())
    ]


def test_both_collections_are_read_whole(tools: list[Sent]) -> None:
    from_each = [tool.name.partition("/")[0] for tool in tools]
    assert from_each.count("livemcpbench") == 527
    assert from_each.count("fleet") > 1700


def test_no_real_schema_is_changed_in_place(tools: list[Sent]) -> None:
    assert [compact_json(tool.given) for tool in tools] == [tool.given_text for tool in tools]


def test_every_real_schema_is_sent_as_valid_json_schema(tools: list[Sent]) -> None:
    known = set()
    for tool in tools:
        for form in tool.all_forms:
            for part in schemas.positions(form):
                shape = shape_of(part) if isinstance(part, dict) else part
                if (text := compact_json(shape)) not in known:
                    known.add(text)
                    problems = [*judge(judge(shape).META_SCHEMA).iter_errors(shape)]
                    assert problems == [], (tool.name, text)
    assert len(known) > 100, "they differ"


def shape_of(part: dict[str, Any]) -> dict[str, Any]:
    """One part of a schema as its metaschema judges it, without what it holds and is called.

    The parts below it are judged apart, names and texts here: so few shapes are left to judge.
    """
    shape = {key: value for key, value in part.items() if key not in TEXTS and key != "default"}
    assert all(isinstance(part.get(key, ""), str) for key in TEXTS)
    for keyword in SINGLE & shape.keys():
        shape[keyword] = [{}] if isinstance(shape[keyword], list) else {}
    for keyword in MAPS & shape.keys():
        shape[keyword] = {"name": {}} if isinstance(shape[keyword], dict) else shape[keyword]
    for keyword in ("required", "enum"):
        if is_list_of_different(shape.get(keyword), texts=keyword == "required"):
            shape[keyword] = ["text"]
    return shape


def is_list_of_different(values: Any, *, texts: bool) -> bool:
    """Whether this is a list without repetitions, of texts only where that is asked."""
    if not isinstance(values, list) or not values:
        return False
    distinct = {compact_json(value) for value in values}
    are_texts = all(isinstance(value, str) for value in values)
    return len(distinct) == len(values) and (are_texts or not texts)


def test_what_a_real_schema_accepts_its_sent_forms_accept(tools: list[Sent]) -> None:
    judged = 0
    for tool in distinct_and_changed(tools):
        candidates = Candidates(tool.given, Random(tool.name))
        original = judge(tool.given)
        sent = [judge(form, as_sent=True) for form in tool.changed_forms]
        drawn = [candidates.draw() for _ in range(CANDIDATES_EACH)]
        accepted = [value for value in drawn if original.is_valid(value)]
        for value in accepted:
            assert all(form.is_valid(value) for form in sent), (tool.name, value)
        judged += bool(accepted)
    assert judged > 370, "of 396, nearly every schema has a value to judge by"


def distinct_and_changed(tools: list[Sent]) -> Iterator[Sent]:
    """The tools whose schemas are not sent as they are, one of each schema."""
    different = {tool.given_text: tool for tool in tools if tool.changed_forms}
    yield from different.values()
