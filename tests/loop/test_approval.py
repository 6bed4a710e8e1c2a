"""Which calls may be made: lists before hints, the strict before the mild, claims in doubt."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.approval import (
    FORBIDDEN_TEXT,
    NOBODY_ASKED_TEXT,
    RULINGS,
    ApprovalPolicy,
    Ruling,
    declined_text,
    first_match,
    policy_approver,
)
from host.records import CatalogueServer, CatalogueTool, ToolCallRequest

READS = {"readOnlyHint": True}
DESTROYS = {"destructiveHint": True}

NAMES = st.text("aA_[.\n", max_size=6)
PATTERNS = st.text("aA_[.\n*?", min_size=1, max_size=6).filter(lambda one: one == one.strip())
RULES = st.sampled_from(RULINGS)
HINTS = st.one_of(
    st.none(),
    st.dictionaries(
        st.sampled_from(["readOnlyHint", "destructiveHint", "title"]),
        st.sampled_from([True, False, None, 1, "true"]),
    ),
)
LISTS = st.lists(PATTERNS, max_size=3).map(tuple)
POLICIES = st.builds(
    ApprovalPolicy,
    allow=LISTS,
    ask=LISTS,
    deny=LISTS,
    read_only=RULES,
    destructive=RULES,
    otherwise=RULES,
)


def fits(pattern: str, name: str) -> bool:
    """The same question, character by character."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return fits(pattern[1:], name) or (bool(name) and fits(pattern, name[1:]))
    return bool(name) and pattern[0] in ("?", name[0]) and fits(pattern[1:], name[1:])


def in_list(patterns: tuple[str, ...], name: str) -> bool:
    return any(fits(pattern, name) for pattern in patterns)


@given(st.lists(PATTERNS, max_size=4), NAMES)
def test_the_first_fitting_pattern_is_found(patterns: list[str], name: str) -> None:
    fitting = [pattern for pattern in patterns if fits(pattern, name)]
    assert first_match(patterns, name) == (fitting[0] if fitting else None)


@pytest.mark.parametrize(
    ("pattern", "name", "fitting"),
    [
        ("*", "fs__read", True),
        ("fs__*", "fs__read", True),
        ("fs__*", "fs__", True),
        ("fs__*", "Fs__read", False),
        ("fs__rea?", "fs__read", True),
        ("fs__read?", "fs__read", False),
        ("read", "fs__read", False),
        ("*__read", "fs__read", True),
        ("[fr]s__read", "fs__read", False),
        ("[!x]", "[!x]", True),
    ],
)
def test_patterns_by_example(pattern: str, name: str, fitting: bool) -> None:
    assert (first_match([pattern], name) is not None) is fitting


def test_a_pattern_full_of_stars_is_no_trap() -> None:
    assert first_match(["*a" * 40 + "b"], "a" * 5_000) is None


@given(POLICIES, NAMES, HINTS, st.booleans())
def test_a_list_decides_and_the_strictest_list_first(
    policy: ApprovalPolicy, name: str, hints: dict[str, Any] | None, trusted: bool
) -> None:
    ruling = policy.verdict(name, hints, trusted=trusted)
    if in_list(policy.deny, name):
        assert ruling == "deny"
    elif in_list(policy.ask, name):
        assert ruling == "ask"
    elif in_list(policy.allow, name):
        assert ruling == "allow"
    else:
        bare = ApprovalPolicy(
            read_only=policy.read_only, destructive=policy.destructive, otherwise=policy.otherwise
        )
        assert ruling == bare.verdict(name, hints, trusted=trusted)


@pytest.mark.parametrize(("claimed", "otherwise"), list(product(RULINGS, RULINGS)))
def test_a_claim_is_believed_unless_it_asks_an_untrusted_servers_tool_to_be_let_through(
    claimed: Ruling, otherwise: Ruling
) -> None:
    reading = ApprovalPolicy(read_only=claimed, destructive="deny", otherwise=otherwise)
    destroying = ApprovalPolicy(destructive=claimed, read_only="allow", otherwise=otherwise)
    for policy, hints in ((reading, READS), (destroying, DESTROYS), (destroying, READS | DESTROYS)):
        believed = policy.verdict("a__b", hints, trusted=True)
        doubted = policy.verdict("a__b", hints)
        assert believed == claimed
        assert RULINGS.index(doubted) == max(RULINGS.index(claimed), RULINGS.index(otherwise))


@pytest.mark.parametrize(
    "hints",
    [None, {}, {"readOnlyHint": False}, {"destructiveHint": False}, {"readOnlyHint": "true"}],
)
@pytest.mark.parametrize("trusted", [True, False])
def test_a_tool_that_says_nothing_is_judged_as_the_rest(
    hints: dict[str, Any] | None, trusted: bool
) -> None:
    policy = ApprovalPolicy(read_only="allow", destructive="deny", otherwise="ask")
    assert policy.verdict("a__b", hints, trusted=trusted) == "ask"


def test_without_any_word_of_the_user_only_destruction_is_asked_about() -> None:
    policy = ApprovalPolicy()
    assert policy.verdict("a__b", READS) == policy.verdict("a__b", None) == "allow"
    assert policy.verdict("a__b", DESTROYS) == "ask"


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"deny": ("fs__*", "")}, '"deny" has a blank pattern'),
        ({"allow": (" \t",)}, '"allow" has a blank pattern'),
        ({"ask": ("fs__* ",)}, '"ask" has a pattern with blanks around it'),
        ({"otherwise": "never"}, "not 'never'"),
        ({"read_only": True}, "not True"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(rules: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ApprovalPolicy(**rules)


def test_a_text_is_no_list_of_one_letter_patterns() -> None:
    with pytest.raises(TypeError, match='"deny" takes a list'):
        ApprovalPolicy(deny="fs__*")  # type: ignore[arg-type]


# Approvers

CATALOGUE = [
    CatalogueServer(
        id="fs",
        label="fs",
        tools=(
            CatalogueTool(name="fs__read", description="", annotations=READS),
            CatalogueTool(name="fs__wipe", description="", annotations=DESTROYS),
            CatalogueTool(name="fs__touch", description=""),
        ),
    ),
    CatalogueServer(
        id="two",
        label="two",
        tools=(
            CatalogueTool(name="two__read", description="", annotations=READS),
            CatalogueTool(name="fs__wipe", description="", annotations=READS),
        ),
    ),
]


@given(
    POLICIES,
    st.sampled_from(["fs__read", "fs__wipe", "fs__touch", "two__read", "no__such"]),
    st.sets(st.sampled_from(["fs", "two"])),
)
def test_an_approver_knows_the_hints_of_the_catalogue_and_whom_to_trust(
    policy: ApprovalPolicy, name: str, trusted: set[str]
) -> None:
    hints = {"fs__read": READS, "two__read": READS, "fs__touch": None}.get(name, DESTROYS)
    believed = name.partition("__")[0] in trusted
    ruling = policy.verdict(name, hints, trusted=believed)
    answer = policy_approver(policy, CATALOGUE, trusted=trusted)(ToolCallRequest(id="c", name=name))
    assert answer == (("deny", FORBIDDEN_TEXT) if ruling == "deny" else ruling)


def test_a_tool_that_nothing_is_known_of_is_taken_for_the_worst() -> None:
    call = ToolCallRequest(id="c", name="late__tool")
    assert policy_approver(ApprovalPolicy(), [])(call) == "ask"
    assert policy_approver(ApprovalPolicy(allow=("late__*",)), [])(call) == "allow"


def test_each_refusal_says_that_no_call_was_made_and_whose_doing_that_is() -> None:
    texts = [FORBIDDEN_TEXT, NOBODY_ASKED_TEXT, declined_text(), declined_text("too early")]
    assert all(text.startswith("This call was not made: ") for text in texts)
    assert len(set(texts)) == len(texts)
    assert "too early" in texts[-1]


@given(POLICIES, st.lists(NAMES, max_size=5))
def test_idle_patterns_are_those_that_judge_no_tool(
    policy: ApprovalPolicy, names: list[str]
) -> None:
    patterns = {*policy.deny, *policy.ask, *policy.allow}
    used = {one for one in patterns if any(fits(one, name) for name in names)}
    found = policy.idle_patterns(names)
    assert set(found) == patterns - used
    assert len(found) == len(set(found))
