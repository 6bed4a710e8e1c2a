"""What is declared at each step: load order, appended only, under a prompt that never changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.catalogue import LOAD_TOOLS, catalogue_prompt
from host.loop.discovery import Discovery
from host.records import TurnUsage
from host.text.tokens import estimate_tokens, tools_tokens
from tests.fakes.loop_peers import MemoryTool, MemoryToolbox

MAIL = MemoryToolbox("mail__send", "mail__find", "mail__tags", "disk__read")


def names(discovery: Discovery) -> list[str]:
    return [tool["function"]["name"] for tool in discovery.tools]


def test_with_names_only_load_tools_is_declared_and_the_prompt_lists_all() -> None:
    discovery = Discovery(MAIL, "names")
    assert (discovery.on_demand, names(discovery), discovery.loaded) == (True, [LOAD_TOOLS], ())
    assert discovery.system("Own.") == f"Own.\n\n{catalogue_prompt(MAIL.catalogue())}"
    assert discovery.system("") == discovery.prompt
    assert discovery.callable_names == [
        "mail__send",
        "mail__find",
        "mail__tags",
        "disk__read",
        LOAD_TOOLS,
    ]


def test_eagerly_everything_is_declared_and_nothing_counts_as_loaded() -> None:
    discovery = Discovery(MAIL, "eager", ["mail__find"])
    assert names(discovery) == ["mail__send", "mail__find", "mail__tags", "disk__read"]
    assert (discovery.on_demand, discovery.loaded, discovery.prompt) == (False, (), "")
    assert discovery.system("Own.") == "Own."
    assert not discovery.is_blind("mail__send")
    assert discovery.callable_names == names(discovery)


def test_without_tools_names_are_as_eager() -> None:
    discovery = Discovery(MemoryToolbox(), "names")
    assert (discovery.on_demand, discovery.tools, discovery.system("S")) == (False, [], "S")


def test_carried_tools_are_declared_from_the_start_in_their_order() -> None:
    discovery = Discovery(MAIL, "names", ["mail__tags", "gone__tool", "mail__send", LOAD_TOOLS])
    assert names(discovery) == [LOAD_TOOLS, "mail__tags", "mail__send"]
    assert discovery.loaded == ("mail__tags", "mail__send")


def test_loading_answers_and_declares_from_the_next_request_on() -> None:
    discovery = Discovery(MAIL, "names")
    shown = discovery.show()
    text, ok = discovery.answer_load({"names": ["mail__find", "nope"]})
    assert ok
    assert "mail__find: Does mail__find." in text
    assert "nope" in text
    assert shown == [*Discovery(MAIL, "names").tools]
    assert discovery.is_blind("mail__find")
    discovery.show()
    assert not discovery.is_blind("mail__find")
    again, ok = discovery.answer_load({"names": ["mail__find"]})
    assert ok
    assert again != text
    assert discovery.loaded == ("mail__find",)


def test_a_load_that_matches_nothing_failed() -> None:
    text, ok = Discovery(MAIL, "names").answer_load({"names": ["nope"]})
    assert not ok
    assert "nope" in text
    assert Discovery(MAIL, "names").answer_load({})[1] is False


def test_a_tool_without_a_definition_is_told_as_unknown() -> None:
    toolbox = MemoryToolbox("mail__send", "mail__find", undefined=["mail__send"])
    discovery = Discovery(toolbox, "names")
    text, ok = discovery.answer_load({"names": ["mail__*"]})
    assert ok
    assert discovery.loaded == ("mail__find",)
    assert "mail__send" in text
    assert not discovery.is_declared("mail__send")


def test_what_is_wrong_with_a_blind_call_is_told_in_bounds() -> None:
    discovery = Discovery(MAIL, "names", ["mail__send"])
    told = discovery.misfit("mail__send", ["x" * 900, "y" * 90_000])
    assert '{"type":"object"}' in told
    assert len(told) < 1_500


def test_the_tool_list_is_one_object_until_something_is_loaded() -> None:
    discovery = Discovery(MAIL, "names")
    first = discovery.show()
    assert discovery.load([]) == discovery.load(["unknown"]) == []
    assert discovery.show() is first
    assert discovery.load(["mail__send", "mail__send"]) == ["mail__send"]
    assert discovery.show() is not first


def test_hints_are_claims_of_tools_that_say_true() -> None:
    toolbox = MemoryToolbox(
        MemoryTool(name="a__r", annotations={"readOnlyHint": True}),
        MemoryTool(name="a__i", annotations={"idempotentHint": True}),
        MemoryTool(name="a__x", annotations={"readOnlyHint": "true", "idempotentHint": 1}),
        "a__n",
    )
    discovery = Discovery(toolbox, "names")
    assert [discovery.is_read_only(f"a__{n}") for n in "rixn?"] == [True, *[False] * 4]
    assert [discovery.is_repeatable(f"a__{n}") for n in "rixn?"] == [True, True, *[False] * 3]


def test_a_trace_says_what_the_request_carried() -> None:
    discovery = Discovery(MAIL, "names", ["mail__send"])
    usage = TurnUsage(prompt_tokens=5)
    trace = discovery.trace(3, discovery.show(), usage, 1.5)
    assert (trace.step, trace.tools, trace.usage, trace.seconds) == (
        3,
        (LOAD_TOOLS, "mail__send"),
        usage,
        1.5,
    )
    assert trace.catalogue_tokens == estimate_tokens(discovery.prompt) > 0
    assert trace.schema_tokens == tools_tokens(discovery.tools)
    assert trace.eager_schema_tokens == sum(
        tool.tokens for server in MAIL.catalogue() for tool in server.tools
    )
    bare = discovery.trace(4, [], usage, 0)
    assert (bare.tools, bare.catalogue_tokens, bare.schema_tokens) == ((), 0, 0)
    assert bare.eager_schema_tokens == trace.eager_schema_tokens


def test_an_eager_trace_compares_with_itself() -> None:
    discovery = Discovery(MAIL, "eager")
    trace = discovery.trace(0, discovery.show(), TurnUsage(), 0)
    assert trace.eager_schema_tokens == trace.schema_tokens == tools_tokens(discovery.tools)
    assert trace.catalogue_tokens == 0


NAMES = [f"{server}__{tool}" for server in ("a", "b") for tool in ("x", "y", "z")]
ASKED = st.lists(st.sampled_from([*NAMES, "a__*", "y", "none", "load_tools"]), max_size=4)


@given(st.lists(ASKED, max_size=6), st.lists(st.sampled_from([*NAMES, "gone"]), max_size=4))
def test_declared_tools_are_only_ever_appended_under_one_prompt(
    loads: list[list[str]], carried: list[str]
) -> None:
    discovery = Discovery(MemoryToolbox(*NAMES), "names", carried)
    prompt = discovery.prompt
    before = discovery.show()
    for asked in loads:
        kept = list(before)
        discovery.answer_load({"names": asked})
        after = discovery.show()
        assert before == kept == after[: len(before)]
        assert len({tool["function"]["name"] for tool in after}) == len(after)
        assert discovery.prompt == prompt
        assert [LOAD_TOOLS, *discovery.loaded] == names(discovery)
        before = after
    assert set(discovery.loaded) <= set(NAMES)
