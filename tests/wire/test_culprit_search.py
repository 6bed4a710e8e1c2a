"""Finding the tools an endpoint refuses, against endpoints with every kind of rule."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import ceil, log2
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.culprit_search import (
    MAX_PROBES,
    RESERVED_PROBES,
    Finding,
    Trial,
    culprit_search,
)

Rule = Callable[[Trial], bool]


def search(count: int, rule: Rule, suspects: tuple[int, ...] = ()) -> tuple[Finding, list[Trial]]:
    """Lets an endpoint with this rule answer a search; what was found, and every trial."""
    plan, trials = culprit_search(count, suspects=suspects), list[Trial]()
    answer: bool | None = None
    while True:
        try:
            trial = next(plan) if answer is None else plan.send(answer)
        except StopIteration as end:
            finding: Finding = end.value
            return finding, trials
        trials.append(trial)
        answer = rule(trial)


def any_of(whole: set[int], bare: set[int] = frozenset()) -> Rule:  # type: ignore[assignment]  # an empty default
    """Refused iff a tool of ``whole`` is there as it is, or one of ``bare`` with no schema."""

    def refuses(trial: Trial) -> bool:
        held = {(index, form) for index, form in trial.forms.items()}
        return any((i, "whole") in held for i in whole | bare) or any(
            (i, "bare") in held for i in bare
        )

    return refuses


def outcome(count: int, finding: Finding) -> Trial:
    forms = {i: "bare" if i in finding.bare else "whole" for i in range(count)}
    return Trial({i: form for i, form in forms.items() if i not in finding.out})  # type: ignore[misc]  # both are forms


@st.composite
def lists(draw: st.DrawFn) -> tuple[int, set[int], tuple[int, ...]]:
    count = draw(st.integers(1, 130))
    indices = st.integers(0, count - 1)
    culprits = draw(st.sets(indices, min_size=1, max_size=min(count, 4)))
    return count, culprits, tuple(draw(st.lists(indices, max_size=3)))


def within_reach(count: int, culprits: int, *, each: int, first: int) -> bool:
    worst = first + culprits * (ceil(log2(count)) + each) + 1  # one for a wrong suspicion
    worst += max(0, culprits - 1)  # the first ones are tried alone before the search goes on
    return worst <= MAX_PROBES - RESERVED_PROBES


@given(lists())
def test_exactly_the_tools_at_fault_are_found_and_sent_without_their_schema(
    case: tuple[int, set[int], tuple[int, ...]],
) -> None:
    count, culprits, suspects = case
    finding, trials = search(count, any_of(culprits), suspects)
    assert finding.probes == len(trials) <= MAX_PROBES
    assert finding.fault == "tools"
    assert culprits <= set(finding.bare)
    assert finding.out == ()
    if within_reach(count, len(culprits), each=1, first=1):
        assert (set(finding.bare), finding.unproven) == (culprits, ())
    assert set(finding.bare) - set(finding.unproven) <= culprits


@given(lists(), st.data())
def test_only_what_is_refused_without_its_schema_too_is_left_out(
    case: tuple[int, set[int], tuple[int, ...]], data: st.DataObject
) -> None:
    count, culprits, suspects = case
    hopeless = data.draw(st.sets(st.sampled_from(sorted(culprits)), min_size=1))
    finding, trials = search(count, any_of(culprits, hopeless), suspects)
    assert finding.probes == len(trials) <= MAX_PROBES
    assert hopeless <= set(finding.out)
    assert culprits <= {*finding.out, *finding.bare}
    assert set(finding.out) - set(finding.unproven) <= hopeless
    assert {*finding.out, *finding.bare} - set(finding.unproven) <= culprits
    if within_reach(count, len(culprits), each=2, first=3):
        assert set(finding.out) == hopeless
        assert (set(finding.bare), finding.unproven) == (culprits - hopeless, ())


@given(st.integers(1, 60), st.integers(0, 2**32), st.booleans(), st.booleans())
def test_whatever_the_rule_is_the_outcome_was_seen_to_be_accepted(
    count: int, seed: int, takes_bare: bool, takes_none: bool
) -> None:
    # Any rule at all, chosen by a hash: not monotone, no single culprit.
    accepted: list[Trial] = []

    def refuses(trial: Trial) -> bool:
        if not trial.forms or trial.is_stranger:
            refused = not takes_none
        elif len(trial.forms) == count and set(trial.forms.values()) == {"bare"}:
            refused = not takes_bare
        else:
            refused = bool(crc32(repr((seed, trial)).encode()) % 3)
        if not refused:
            accepted.append(trial)
        return refused

    finding, trials = search(count, refuses)
    assert finding.probes == len(trials) <= MAX_PROBES
    if finding.fault in ("tools", "too many"):
        assert outcome(count, finding) in accepted
    else:
        assert not takes_bare
        assert finding.fault == ("all tools" if takes_none else "elsewhere")


@given(st.integers(2, 130), st.data())
def test_a_list_that_is_too_much_as_a_whole_keeps_what_fits_and_names_nobody(
    count: int, data: st.DataObject
) -> None:
    fits = data.draw(st.integers(1, count - 1))
    finding, _ = search(count, lambda trial: list(trial.forms.values()).count("whole") > fits)
    assert finding.out == ()
    assert len(finding.bare) == count - fits
    assert finding.unproven == finding.bare


@given(st.integers(2, 600), st.data())
def test_more_tools_than_fit_in_any_form_are_known_by_their_number(
    count: int, data: st.DataObject
) -> None:
    fits = data.draw(st.integers(1, count - 1))
    finding, trials = search(count, lambda trial: len(trial.forms) > fits)
    assert finding.fault == "too many"
    assert finding.probes == len(trials) <= MAX_PROBES
    assert finding.most is not None
    assert finding.most == fits
    assert finding.bare == ()
    assert finding.out == finding.unproven == tuple(range(finding.most, count))


@pytest.mark.parametrize(
    ("count", "fits", "whole", "bare"),
    [
        (200, 128, {5}, set()),
        (200, 128, {150}, set()),
        (150, 128, {0, 149}, set()),
        (150, 128, set(), {99}),
        (150, 128, set(), {140}),
        (527, 128, {5}, set()),
        (40, 20, {3, 17}, set()),
        (40, 20, set(), {17}),
    ],
)
def test_tools_at_fault_among_too_many_are_found_beside_the_number(
    count: int, fits: int, whole: set[int], bare: set[int]
) -> None:
    rule = any_of(whole, bare)
    finding, trials = search(count, lambda trial: rule(trial) or len(trial.forms) > fits)
    assert len(trials) <= MAX_PROBES
    assert (finding.fault, finding.most) == ("too many", fits)
    sent = outcome(count, finding).forms
    assert len(sent) == fits
    assert set(finding.bare) == whole & set(sent)
    assert set(finding.out) - set(finding.unproven) == {i for i in bare if i < max(sent)}


@given(st.integers(20, 400), st.data())
def test_no_tool_is_proven_at_fault_for_the_company_it_is_in(
    count: int, data: st.DataObject
) -> None:
    fits = data.draw(st.integers(1, count - 1))
    whole = data.draw(st.sets(st.integers(0, count - 1), max_size=3))
    bare = data.draw(st.sets(st.integers(0, count - 1), max_size=2))
    rule = any_of(whole, bare)
    finding, trials = search(count, lambda trial: rule(trial) or len(trial.forms) > fits)
    assert len(trials) <= MAX_PROBES
    assert finding.most == fits
    assert {*finding.bare, *finding.out} - set(finding.unproven) <= whole | bare
    assert set(finding.out) - set(finding.unproven) <= bare
    assert not rule(outcome(count, finding))


def test_of_two_tools_that_clash_the_later_one_is_left_out() -> None:
    finding, _ = search(25, lambda trial: {3, 17} <= set(trial.forms))
    assert (finding.fault, finding.bare, finding.out) == ("tools", (), (17,))
    assert finding.unproven == (17,)


@pytest.mark.parametrize("count", [1, 2, 16, 25, 128, 600])
def test_one_culprit_costs_the_logarithm_of_the_list(count: int) -> None:
    for culprit in {0, count // 3, count - 1}:
        finding, _ = search(count, any_of({culprit}))
        assert finding.bare == (culprit,)
        assert finding.unproven == ()
        assert finding.probes <= 3 + ceil(log2(count))  # the list without schemas, with one, alone


@pytest.mark.parametrize(("count", "culprits"), [(25, {0, 12, 24}), (128, {5, 99}), (600, {5, 99})])
def test_the_promised_numbers_are_within_reach(count: int, culprits: set[int]) -> None:
    finding, _ = search(count, any_of(culprits))
    assert (set(finding.bare), finding.unproven) == (culprits, ())


def test_a_tool_that_the_refusal_names_takes_three_probes_in_any_list() -> None:
    finding, trials = search(128, any_of({77}), suspects=(77,))
    assert finding.bare == (77,)
    assert len(trials) == 3


def test_too_many_culprits_are_all_degraded_and_what_was_cleared_stays() -> None:
    finding, _ = search(64, any_of(set(range(32, 64))))
    assert set(finding.bare) >= set(range(32, 64))
    assert finding.unproven
    assert outcome(64, finding).forms[0] == "whole"


@pytest.mark.parametrize(
    ("count", "hopeless", "bare", "out", "unproven"),
    [
        (6, {0, 3, 4}, (1, 2), (0, 3, 4, 5), (5,)),
        (8, {1, 7}, (0, 2, 3), (1, 4, 5, 6, 7), (4, 5, 6, 7)),
    ],
)
def test_what_the_probes_do_not_reach_is_left_out_and_called_unproven(
    count: int,
    hopeless: set[int],
    bare: tuple[int, ...],
    out: tuple[int, ...],
    unproven: tuple[int, ...],
) -> None:
    finding, _ = search(count, any_of(set(range(count)), hopeless))
    assert (finding.bare, finding.out, finding.unproven) == (bare, out, unproven)


def test_a_request_refused_without_tools_too_is_not_about_them() -> None:
    finding, trials = search(9, lambda _: True)
    assert (finding.fault, len(trials)) == ("elsewhere", 2)


@pytest.mark.parametrize(("count", "probes"), [(1, 3), (9, 4)])
def test_an_endpoint_that_takes_no_tool_at_all_is_known_soon(count: int, probes: int) -> None:
    finding, trials = search(count, lambda trial: bool(trial.forms))
    assert (finding.fault, len(trials)) == ("all tools", probes)


def test_of_two_schemas_that_clash_the_later_one_is_told_in_words() -> None:
    finding, _ = search(25, lambda trial: trial.forms.get(3) == trial.forms.get(17) == "whole")
    assert (finding.fault, finding.bare, finding.out) == ("tools", (17,), ())
    assert finding.unproven == (17,)


def test_three_of_25_are_found_wherever_they_stand() -> None:
    for culprits in combinations(range(25), 3):
        finding, _ = search(25, any_of(set(culprits)))
        assert (finding.bare, finding.unproven) == (culprits, ())


def test_nothing_is_tried_twice() -> None:
    _, trials = search(40, any_of({3, 4, 5, 6, 30}, {5}))
    assert len({(tuple(trial.forms.items()), trial.is_stranger) for trial in trials}) == len(trials)
