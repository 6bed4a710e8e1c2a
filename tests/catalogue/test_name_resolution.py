"""What asked names stand for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.load_tools import load_result
from host.catalogue.name_resolution import (
    NameResolution,
    OverBroad,
    advice,
    expand_names,
    refusals,
)
from host.records import CatalogueServer
from tests.catalogue.catalogues import ASKED, CATALOGUES, DISK, EMPTY, MAIL, OTHER, server

BOTH = [MAIL, DISK]


def plainly(asked: Sequence[str], catalogue: Sequence[CatalogueServer], cap: int) -> NameResolution:
    """The rules, one after another and without an index."""
    everything = list(dict.fromkeys(tool.name for row in catalogue for tool in row.tools))
    matched: list[str] = []
    unknown: list[str] = []
    over_broad: list[OverBroad] = []
    deferred: list[str] = []
    for name in dict.fromkeys(entry.strip() for entry in asked if entry.strip()):
        if name.endswith("*"):
            stem = name[:-1]
            hits = [known for known in everything if known.startswith(stem)]
            hits = hits or [known for known in everything if f"__{stem}" in known]
        elif name in everything:
            hits = [name]
        else:
            ends = [known for known in everything if known.endswith(f"__{name}")]
            hits = ends if len(ends) == 1 else []
        fresh = [hit for hit in hits if hit not in matched]
        if name == "*" or len(fresh) > cap:
            over_broad.append(OverBroad(name=name, hits=tuple(hits)))
        elif not hits:
            unknown.append(name)
        elif len(matched) + len(fresh) > cap:
            deferred.append(name)
        else:
            matched += fresh
    return NameResolution(
        matched=tuple(matched),
        unknown=tuple(unknown),
        over_broad=tuple(over_broad),
        deferred=tuple(deferred),
        max_per_load=cap,
    )


@given(ASKED, CATALOGUES, st.integers(1, 5))
def test_names_stand_for_what_the_plain_rules_say(
    asked: list[str], catalogue: list[CatalogueServer], cap: int
) -> None:
    resolved = expand_names(asked, catalogue, max_per_load=cap)
    assert resolved == plainly(asked, catalogue, cap)


@pytest.mark.parametrize(
    ("asked", "matched", "unknown"),
    [
        (["mail__send", "tags"], ["mail__send", "mail__tags"], []),
        (["mail__*", "mail__send", "none"], ["mail__send", "mail__find", "mail__tags"], ["none"]),
        (["di*"], ["disk__read", "disk__write"], []),
        (["rea*"], ["disk__read"], []),
        ([" mail__send\n", "", "  "], ["mail__send"], []),
        (["none", "none"], [], ["none"]),
        (["MAIL__SEND"], [], ["MAIL__SEND"]),
        (["zz*"], [], ["zz*"]),
        (["__"], [], ["__"]),
        ([], [], []),
    ],
)
def test_known_requests(asked: list[str], matched: list[str], unknown: list[str]) -> None:
    resolved = expand_names(asked, BOTH)
    assert list(resolved.matched) == matched
    assert list(resolved.unknown) == unknown
    assert (resolved.over_broad, resolved.deferred) == ((), ())


@pytest.mark.parametrize(
    ("entry", "matched"),
    [
        ('["mail__send", "disk__read"]', ["mail__send", "disk__read"]),
        ("mail__send, disk__read", ["mail__send", "disk__read"]),
        ("`mail__send`", ["mail__send"]),
        ("mail__send\nmail__find", ["mail__send", "mail__find"]),
    ],
)
def test_a_list_written_as_one_text_is_read_as_a_list(entry: str, matched: list[str]) -> None:
    assert list(expand_names([entry], BOTH).matched) == matched


def test_a_list_written_as_one_text_that_names_nothing_is_one_unknown_name() -> None:
    assert expand_names(["no, nothing"], BOTH).unknown == ("no, nothing",)
    assert expand_names(["mail__send, no"], BOTH).unknown == ("no",)


def test_a_bare_name_in_two_servers_is_unknown_and_the_report_lists_both() -> None:
    resolved = expand_names(["read"], [DISK, OTHER])
    assert (resolved.matched, resolved.unknown) == ((), ("read",))
    report = load_result(resolved, [DISK, OTHER])
    assert "disk__read" in report
    assert "x__read" in report
    assert "several servers" in report


def test_a_star_alone_is_too_broad_even_for_few_tools() -> None:
    resolved = expand_names(["*"], BOTH)
    (group,) = resolved.over_broad
    assert resolved.matched == ()
    assert (group.name, len(group.hits)) == ("*", 5)
    assert expand_names(["*"], [EMPTY]).over_broad[0].hits == ()


def test_a_group_larger_than_the_limit_is_reported_with_that_limit() -> None:
    resolved = expand_names(["mail__*"], BOTH, max_per_load=2)
    assert resolved.max_per_load == 2
    (block,) = refusals(resolved, BOTH)
    assert block.splitlines()[1:] == ["  mail__send", "  mail__find", "  mail__tags"]
    assert "3 tools" in block
    assert "at most 2" in block


def test_names_beyond_the_limit_are_deferred_never_too_broad() -> None:
    many = [server("Many", *(f"m__t{number}" for number in range(13)))]
    resolved = expand_names([f"m__t{number}" for number in range(13)], many)
    assert (len(resolved.matched), resolved.deferred, resolved.over_broad) == (12, ("m__t12",), ())
    (block,) = refusals(resolved, many)
    assert "m__t12" in block
    assert "Choose" not in block


def test_three_full_groups_load_the_first_and_defer_two() -> None:
    rows = [server(slug, *(f"{slug}__t{number}" for number in range(12))) for slug in "abc"]
    resolved = expand_names(["a__*", "b__*", "c__*"], rows)
    assert len(resolved.matched) == 12
    assert resolved.deferred == ("b__*", "c__*")


def test_a_full_call_says_at_how_many_it_is_full() -> None:
    resolved = expand_names(["mail__send", "disk__read"], BOTH, max_per_load=1)
    assert (resolved.matched, resolved.deferred) == (("mail__send",), ("disk__read",))
    (block,) = refusals(resolved, BOTH)
    assert "full at 1 tool." in block
    assert "disk__read" in block


def test_a_group_counts_only_with_what_is_new() -> None:
    resolved = expand_names(["mail__send", "mail__*"], BOTH, max_per_load=2)
    assert (resolved.deferred, resolved.over_broad) == (("mail__*",), ())
    resolved = expand_names(["mail__send", "mail__find", "mail__tags", "mail__*"], BOTH)
    assert len(resolved.matched) == 3


def test_a_limit_below_one_counts_as_one() -> None:
    resolved = expand_names(["mail__send"], BOTH, max_per_load=0)
    assert (resolved.matched, resolved.max_per_load) == (("mail__send",), 1)


def test_a_report_on_a_huge_group_shows_a_bounded_part_of_it() -> None:
    many = [server("Many", *(f"m__t{number}" for number in range(1000)))]
    (block,) = refusals(expand_names(["*"], many), many)
    assert "1000 tools" in block
    assert "and 940 more" in block
    assert block.count("\n") == 61


@pytest.mark.parametrize("count", [60, 61, 3000])
def test_a_report_on_unknown_names_shows_a_bounded_part_of_them(count: int) -> None:
    (block,) = refusals(expand_names([f"q{number}" for number in range(count)], BOTH), BOTH)
    assert "q59" in block
    assert "q60" not in block
    assert (f"and {count - 60} more" in block) is (count > 60)


def test_a_report_on_deferred_names_and_broad_groups_is_bounded_too() -> None:
    many = [server("Many", *(f"m{number:04}" for number in range(3000)))]
    names = [f"m{number:04}" for number in range(3000)]
    (full,) = refusals(expand_names(names, many), many)
    assert "and 2928 more" in full
    groups = [f"m{number:02}*" for number in range(30)]
    broad = refusals(expand_names(groups, many), many)
    assert len(broad) == 6
    assert broad[-1] == f"Too broad as well: {', '.join(groups[5:])}"


def test_an_endless_name_is_cut_wherever_it_is_told() -> None:
    huge = "mail_send_" * 10_000
    report = "\n".join(refusals(expand_names([huge, huge + "*"], BOTH), BOTH))
    assert len(report) < 1000
    broad = refusals(expand_names(["*", "mail__send"], BOTH, max_per_load=1), BOTH)
    assert len("\n".join(broad)) < 1000


@given(st.lists(st.text(alphabet="ab\n\r\x1b[<#*\u202e", max_size=300), max_size=4))
def test_asked_names_cannot_write_lines_into_the_report(asked: list[str]) -> None:
    resolved = expand_names(asked, BOTH)
    report = "\n\n".join(refusals(resolved, BOTH))
    leads = ("No tool has this name: ", "Instead of ", "  ", "* stands for", "a* stands for")
    assert not [line for line in report.splitlines() if line and not line.startswith(leads)]
    assert not set(report) & set("\r\x1b\u202e")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("send_mail", "mail__send"),
        ("mail.send", "mail__send"),
        ("Mail_Sned", "mail__send"),
        ("diskWrite", "disk__write"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, meant: str) -> None:
    assert advice(name, BOTH).split(": ")[1].split(", ")[0] == meant


def test_a_name_like_nothing_gets_no_advice() -> None:
    assert advice("zebra", BOTH) == ""
    assert advice("", BOTH) == ""
    assert advice("anything", []) == ""
