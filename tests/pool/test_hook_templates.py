from __future__ import annotations

import copy
import math
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.hook_templates import (
    COMMON_PLACEHOLDERS,
    EVENT_PLACEHOLDERS,
    VETO_EVENTS,
    expand_args,
    validate_hooks,
)
from host.records import HOOK_EVENTS, INJECT_EVENTS, HookEvent
from host.text.json_text import compact_json

CONTEXT: dict[str, Any] = {
    "session": {"id": "s-1"},
    "prompt": "hello {{ host }}",
    "turn": {"index": 3, "messages": [{"text": "a"}]},
    "vars": {"flag": True, "nothing": None, "name": "é", "ratio": 4.0, "a.b": "dotted key"},
}


@pytest.mark.parametrize(
    ("written", "expanded"),
    [
        ("{{session.id}}", "s-1"),
        ("{{ \n session.id\t}}", "s-1"),
        ("{{ turn.index }}", 3),
        ("{{ turn.messages }}", [{"text": "a"}]),
        ("{{ vars.nothing }}", None),
        ("{{ vars.flag }}", True),
        ("n {{ turn.index }}/{{ vars.flag }}/{{vars.nothing}}", "n 3/true/null"),
        ("{{ turn.messages }}.", '[{"text":"a"}].'),
        ("= {{ vars.ratio }}", "= 4"),
        ("{{ vars.name }} {{ vars.name }}", "é é"),
        ("{{ prompt }}", "hello {{ host }}"),
        ("{{ session id }}", "{{ session id }}"),
        ("{{ séssion }}", "{{ séssion }}"),
        ("{session.id}", "{session.id}"),
        ("{{}}", "{{}}"),
        ({"{{ prompt }}": ["{{ turn.index }}", 5, None]}, {"{{ prompt }}": [3, 5, None]}),
        (7, 7),
    ],
)
def test_values_are_expanded_and_keys_are_not(written: object, expanded: object) -> None:
    assert expand_args({"x": written}, CONTEXT) == ({"x": expanded}, [])


@pytest.mark.parametrize(
    "path",
    [
        "reply",
        "turn.index.deeper",
        "turn.messages.0",
        "turn.messages.0.text",
        "prompt.length",
        "vars.a.b",
        "vars.nothing.x",
        "session.__class__",
        "session.keys",
        ".session",
        "session.",
    ],
)
def test_a_path_without_a_value_is_missing(path: str) -> None:
    args = {"a": f"{{{{ {path} }}}}", "b": [f"see {{{{{path}}}}} and {{{{ host }}}}"]}

    assert expand_args(args, CONTEXT) == (args, [path, "host"])


def test_a_value_that_is_no_json_does_not_stop_a_hook() -> None:
    context = {"vars": {"day": date(2026, 11, 30), "nan": math.nan}}

    expanded, missing = expand_args({"a": "on {{ vars.day }}, {{ vars.nan }}"}, context)

    assert (expanded, missing) == ({"a": "on 2026-11-30, nan"}, [])


@pytest.mark.parametrize("args", [None, {}])
def test_no_arguments_are_an_empty_object(args: dict[str, Any] | None) -> None:
    assert expand_args(args, CONTEXT) == ({}, [])


LEAVES = st.none() | st.booleans() | st.integers() | st.sampled_from(["", "é", "{{", "}}", "{{ x"])
PLAIN = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["k", "{{ a }}"]), inner, max_size=2)
    ),
    max_leaves=6,
)


@given(context=st.dictionaries(st.sampled_from(["a", "b"]), PLAIN), plain=PLAIN)
def test_a_placeholder_gives_the_value_and_text_gives_its_json(
    context: dict[str, Any], plain: Any
) -> None:
    args = {"whole": "{{ a }}", "text": "<{{ b }}>", "plain": plain}
    kept = copy.deepcopy((args, context))

    expanded, missing = expand_args(args, context)

    assert missing == [name for name in ("a", "b") if name not in context]
    assert expanded["plain"] == plain
    assert expanded["whole"] == context.get("a", "{{ a }}")
    b = context.get("b", "{{ b }}")
    assert expanded["text"] == f"<{b if isinstance(b, str) else compact_json(b)}>"
    assert (args, context) == kept


def hook(**fields: object) -> dict[str, object]:
    return {"id": "h", "on": "afterTurn", "tool": "t"} | fields


@pytest.mark.parametrize(
    ("hooks", "problems"),
    [
        (None, []),
        ([], []),
        ((hook(),), []),
        ({}, ["hooks must be a list"]),
        ("x", ["hooks must be a list"]),
        ([3, hook(), None], ["hook 1 must be an object", "hook 3 must be an object"]),
        ([hook(id=None)], ["hook 1: id is missing"]),
        ([hook(id="  ")], ["hook 1: id is missing"]),
        ([hook(id=5, tool="")], ["hook 1: id is missing", "hook 1: tool is missing"]),
        ([hook(tool=None)], ['hook "h": tool is missing']),
        ([hook(), hook()], ['hook "h": the id is used twice']),
        ([hook(inject=1)], ['hook "h": inject must be true or false']),
        ([hook(enabled="no")], ['hook "h": enabled must be true or false']),
        ([hook(veto=0)], ['hook "h": veto must be true or false']),
        ([hook(maxTokens=0)], ['hook "h": maxTokens must be a whole number']),
        ([hook(maxTokens=True)], ['hook "h": maxTokens must be a whole number']),
        ([hook(timeoutMs=1.5)], ['hook "h": timeoutMs must be a whole number']),
        ([hook(timeoutMs="5")], ['hook "h": timeoutMs must be a whole number']),
        ([hook(timeoutMs=float("inf"))], ['hook "h": timeoutMs must be a whole number']),
        ([hook(timeoutMs=5.0, maxTokens=1, args=None)], []),
        ([hook(args=[])], ['hook "h": args must be an object']),
        ([hook(on="later", inject=True, args={"x": "{{ y }}"})], ['hook "h": on must be one of']),
        ([hook(on=None)], ['hook "h": on must be one of']),
        ([hook(on=["afterTurn"])], ['hook "h": on must be one of']),
        ([hook(inject=True)], ['hook "h": inject does nothing on afterTurn']),
        ([hook(veto=True)], ['hook "h": veto does nothing on afterTurn']),
        ([hook(on="beforeCompact", veto=True)], []),
        ([hook(args={"a": ["{{ compacting }} {{ vars.x.y }}"]})], ["{{ compacting }} is not"]),
        ([hook(args={"a": "{{ turn }}"})], ["{{ turn }} is not offered on afterTurn"]),
        ([hook(args={"a": "{{ vars }}"})], ["{{ vars }} is not offered"]),
        ([hook(args={"{{ nope }}": "{{ session.id }} {{now}} {{host}}"})], []),
    ],
)
def test_each_fault_is_told_with_hook_and_remedy(hooks: object, problems: list[str]) -> None:
    found = validate_hooks(hooks)

    assert len(found) == len(problems), found
    for text, expected in zip(found, problems, strict=True):
        assert expected in text


@given(
    event=st.sampled_from(HOOK_EVENTS),
    flags=st.fixed_dictionaries({}, optional={"inject": st.booleans(), "veto": st.booleans()}),
    path=st.sampled_from(
        [path for paths in EVENT_PLACEHOLDERS.values() for path in paths]
        + [*COMMON_PLACEHOLDERS, "vars.x", "turn", "vars"]
    ),
)
def test_only_what_the_event_offers_is_accepted(
    event: HookEvent, flags: dict[str, bool], path: str
) -> None:
    problems = validate_hooks([hook(on=event, args={"x": f"a {{{{{path}}}}}"}, **flags)])

    offered = path in (*COMMON_PLACEHOLDERS, *EVENT_PLACEHOLDERS[event], "vars.x")
    wrong_inject = flags.get("inject", False) and event not in INJECT_EVENTS
    wrong_veto = flags.get("veto", False) and event not in VETO_EVENTS
    assert len(problems) == [offered, not wrong_inject, not wrong_veto].count(False)
