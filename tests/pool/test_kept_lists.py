"""A list is given out only while nothing can have changed it unheard."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from host.pool.kept_lists import CAPABILITIES, KeptLists, ListKind

KINDS: list[ListKind] = ["resources", "templates", "prompts"]
METHODS = {
    "notifications/resources/list_changed": "resources",
    "notifications/prompts/list_changed": "prompts",
    "notifications/tools/list_changed": "tools",
    "notifications/message": "",
}


class Lists(RuleBasedStateMachine):
    """Against a server whose lists are numbered by version.

    A list that is kept must be of the version that stands now, whenever every change is heard.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lists = KeptLists()
        self.watched: frozenset[str] = frozenset()
        self.version = {"resources": 0, "prompts": 0}
        self.asked: list[tuple[ListKind, int, int]] = []

    @rule(capabilities=st.sets(st.sampled_from(["resources", "prompts", "tools"])))
    def the_changes_heard_are_others(self, capabilities: set[str]) -> None:
        self.watched = frozenset(capabilities)
        self.lists.watch(capabilities)

    @rule(method=st.sampled_from(sorted(METHODS)))
    def a_change_is_heard(self, method: str) -> None:
        capability = METHODS[method]
        if capability in self.version and capability in self.watched:
            self.version[capability] += 1
        self.lists.hear(method)

    @rule(capability=st.sampled_from(["resources", "prompts"]))
    def a_change_happens_unheard(self, capability: str) -> None:
        if capability not in self.watched:
            self.version[capability] += 1

    @rule(kind=st.sampled_from(KINDS))
    def a_list_is_asked_for(self, kind: ListKind) -> None:
        self.asked.append((kind, self.lists.mark(kind), self.version[CAPABILITIES[kind]]))

    @rule(which=st.integers(0, 10))
    def an_answer_arrives(self, which: int) -> None:
        if self.asked:
            kind, mark, version = self.asked.pop(which % len(self.asked))
            self.lists.keep(kind, (version,), mark)

    @invariant()
    def what_is_kept_is_as_it_stands_now(self) -> None:
        for kind in KINDS:
            kept = self.lists.get(kind)
            capability = CAPABILITIES[kind]
            if capability not in self.watched:
                assert kept is None
            elif kept is not None:
                assert kept == (self.version[capability],)


TestLists = Lists.TestCase


def test_a_list_is_kept_once_its_changes_are_heard() -> None:
    lists = KeptLists()
    lists.keep("resources", ("a",), lists.mark("resources"))
    assert lists.get("resources") is None
    lists.watch({"resources"})
    for kind in KINDS:
        lists.keep(kind, (kind,), lists.mark(kind))
    assert [lists.get(kind) for kind in KINDS] == [("resources",), ("templates",), None]
    lists.hear("notifications/resources/list_changed")
    assert [lists.get(kind) for kind in KINDS] == [None, None, None]
