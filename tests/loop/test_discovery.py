"""What is declared at each step: load order, appended only, under a prompt that never changes."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from host.catalogue import LOAD_TOOLS, catalogue_prompt
from host.loop.call_reading import ReadCall
from host.loop.discovery import Discovery
from host.text.tokens import tools_tokens
from tests.fakes.loop_peers import MemoryTool, MemoryToolbox

MAIL = MemoryToolbox("mail__send", "mail__find", "mail__tags", "disk__read")


def names(discovery: Discovery) -> list[str]:
    return [tool["function"]["name"] for tool in discovery.front.tools]


def test_with_names_only_load_tools_is_declared_and_the_prompt_lists_all() -> None:
    discovery = Discovery(MAIL, on_demand=True)
    assert (discovery.on_demand, names(discovery), discovery.loaded) == (True, [LOAD_TOOLS], ())
    assert discovery.front.system("Own.") == f"Own.\n\n{catalogue_prompt(MAIL.catalogue())}"
    assert discovery.front.system("") == discovery.front.prompt
    assert discovery.callable_names == [
        "mail__send",
        "mail__find",
        "mail__tags",
        "disk__read",
        LOAD_TOOLS,
    ]


def test_eagerly_everything_is_declared_and_nothing_counts_as_loaded() -> None:
    discovery = Discovery(MAIL, on_demand=False, loaded=["mail__find"])
    assert names(discovery) == ["mail__send", "mail__find", "mail__tags", "disk__read"]
    assert (discovery.on_demand, discovery.loaded, discovery.front.prompt) == (False, (), "")
    assert discovery.front.system("Own.") == "Own."
    assert not discovery.is_blind("mail__send")
    assert discovery.callable_names == names(discovery)


def test_without_tools_names_are_as_eager() -> None:
    discovery = Discovery(MemoryToolbox(), on_demand=True)
    assert (discovery.on_demand, discovery.front.tools, discovery.front.system("S")) == (
        False,
        [],
        "S",
    )


def test_carried_tools_are_declared_from_the_start_in_their_order() -> None:
    discovery = Discovery(
        MAIL, on_demand=True, loaded=["mail__tags", "gone__tool", "mail__send", LOAD_TOOLS]
    )
    assert names(discovery) == [LOAD_TOOLS, "mail__tags", "mail__send"]
    assert discovery.loaded == ("mail__tags", "mail__send")


def test_loading_answers_and_declares_from_the_next_request_on() -> None:
    discovery = Discovery(MAIL, on_demand=True)
    shown = discovery.show()
    text, ok = discovery.answer_load({"names": ["mail__find", "nope"]})
    assert ok
    assert "mail__find: Does mail__find." in text
    assert "nope" in text
    assert shown.tools == Discovery(MAIL, on_demand=True).front.tools
    assert discovery.is_blind("mail__find")
    discovery.show()
    assert not discovery.is_blind("mail__find")
    again, ok = discovery.answer_load({"names": ["mail__find"]})
    assert ok
    assert again != text
    assert discovery.loaded == ("mail__find",)


def test_a_load_that_matches_nothing_failed() -> None:
    text, ok = Discovery(MAIL, on_demand=True).answer_load({"names": ["nope"]})
    assert not ok
    assert "nope" in text
    assert Discovery(MAIL, on_demand=True).answer_load({})[1] is False


def test_a_tool_without_a_definition_is_told_as_unknown() -> None:
    toolbox = MemoryToolbox("mail__send", "mail__find", undefined=["mail__send"])
    discovery = Discovery(toolbox, on_demand=True)
    text, ok = discovery.answer_load({"names": ["mail__*"]})
    assert ok
    assert discovery.loaded == ("mail__find",)
    assert "mail__send" in text
    assert not discovery.is_declared("mail__send")


def test_what_is_wrong_with_a_blind_call_is_told_in_bounds() -> None:
    discovery = Discovery(MAIL, on_demand=True, loaded=["mail__send"])
    told = discovery.misfit("mail__send", ["x" * 900, "y" * 90_000])
    assert '{"type":"object"}' in told
    assert len(told) < 1_500


def test_the_tool_list_is_one_object_until_something_is_loaded() -> None:
    discovery = Discovery(MAIL, on_demand=True)
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
    discovery = Discovery(toolbox, on_demand=True)
    assert [discovery.is_read_only(f"a__{n}") for n in "rixn?"] == [True, *[False] * 4]
    assert [discovery.is_repeatable(f"a__{n}") for n in "rixn?"] == [True, True, *[False] * 3]


def test_what_all_schemas_take_is_known_from_the_catalogue() -> None:
    on_demand = Discovery(MAIL, on_demand=True)
    assert on_demand.eager_tokens == sum(
        tool.tokens for server in MAIL.catalogue() for tool in server.tools
    )
    eager = Discovery(MAIL, on_demand=False)
    assert eager.eager_tokens == tools_tokens(eager.front.tools)


def test_an_exclusive_request_declares_the_chosen_tools_alone() -> None:
    discovery = Discovery(MAIL, on_demand=True, loaded=["mail__send", "mail__find"])
    front = discovery.show_only(["mail__find", "disk__read"])
    assert [tool["function"]["name"] for tool in front.tools] == ["mail__find"]
    assert front.system("Own.") == "Own."
    assert discovery.is_blind("mail__send")
    assert not discovery.is_blind("mail__find")


def test_a_stray_call_tool_is_the_call_inside() -> None:
    discovery = Discovery(MAIL, on_demand=True)
    stray = ReadCall(
        id="1", name="call_tool", raw="", args={"name": "mail__send", "arguments": {"to": "x"}}
    )
    meant = discovery.unwrapped(stray)
    assert (meant.id, meant.name, meant.args) == ("1", "mail__send", {"to": "x"})
    unknown = discovery.unwrapped(replace(stray, args={"name": "mail__gone"}))
    assert unknown.args is None
    assert "mail__gone" in unknown.problem
    own = Discovery(MemoryToolbox("call_tool"), on_demand=True)
    assert own.unwrapped(stray) is stray
    assert Discovery(MAIL, on_demand=False).unwrapped(stray) is stray


NAMES = [f"{server}__{tool}" for server in ("a", "b") for tool in ("x", "y", "z")]
ASKED = st.lists(st.sampled_from([*NAMES, "a__*", "y", "none", "load_tools"]), max_size=4)


@given(st.lists(ASKED, max_size=6), st.lists(st.sampled_from([*NAMES, "gone"]), max_size=4))
def test_declared_tools_are_only_ever_appended_under_one_prompt(
    loads: list[list[str]], carried: list[str]
) -> None:
    discovery = Discovery(MemoryToolbox(*NAMES), on_demand=True, loaded=carried)
    prompt = discovery.front.prompt
    before = discovery.show().tools
    for asked in loads:
        kept = list(before)
        discovery.answer_load({"names": asked})
        after = discovery.show().tools
        assert before == kept == after[: len(before)]
        assert len({tool["function"]["name"] for tool in after}) == len(after)
        assert discovery.front.prompt == prompt
        assert [LOAD_TOOLS, *discovery.loaded] == names(discovery)
        before = after
    assert set(discovery.loaded) <= set(NAMES)


class Waking(MemoryToolbox):
    """Hears of what is declared."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.woken: list[list[str]] = []

    def wake(self, names: list[str]) -> None:
        self.woken.append(names)


def test_a_toolbox_hears_of_each_tool_that_is_declared_and_of_no_other() -> None:
    toolbox = Waking("mail__send", "mail__find", "disk__read")
    discovery = Discovery(toolbox, on_demand=True, loaded=["disk__read", "no__such"])
    assert toolbox.woken == [["disk__read"]]
    discovery.load(["disk__read", "mail__send"])
    discovery.answer_load({"names": ["mail__find"]})
    assert toolbox.woken[1:] == [["mail__send"], ["mail__find"]]
    Discovery(toolbox, on_demand=False)
    assert toolbox.woken[3:] == [["mail__send", "mail__find", "disk__read"]]
