"""Choosing by words, against BM25 written plainly."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.keywords import KeywordChoice, preselect_by_keywords
from host.records import CatalogueServer
from tests.catalogue.catalogues import DISK, EMPTY, MAIL, server

WORDS = st.sampled_from(["mail", "disk", "read", "send", "photo", "the"])
SENTENCES = st.lists(WORDS, max_size=6).map(" ".join)
ROWS = st.lists(st.lists(SENTENCES, max_size=3), min_size=0, max_size=3).map(
    lambda groups: [
        server(f"L{row}", *((f"s{row}__t{number}", text) for number, text in enumerate(texts)))
        for row, texts in enumerate(groups)
    ]
)


def scores(catalogue: list[CatalogueServer], prompt: str) -> dict[str, float]:
    """Okapi BM25 (k1 1.2, b 0.75) with one document per tool."""
    documents = {
        tool.name: [*tool.name.split("__"), row.label.lower(), *tool.description.split()]
        for row in catalogue
        for tool in row.tools
    }
    documents = {
        name: [word for word in words if word != "the"] for name, words in documents.items()
    }
    mean = sum(map(len, documents.values())) / max(1, len(documents))
    found: dict[str, float] = {}
    for name, words in documents.items():
        for term in set(prompt.split()) - {"the"}:
            holding = sum(term in other for other in documents.values())
            rarity = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            times = words.count(term)
            if times:
                weight = times * 2.2 / (times + 1.2 * (0.25 + 0.75 * len(words) / mean))
                found[name] = found.get(name, 0.0) + rarity * weight
    return found


@given(ROWS, SENTENCES, st.integers(1, 3))
def test_the_ranking_is_bm25(catalogue: list[CatalogueServer], prompt: str, cap: int) -> None:
    choice = preselect_by_keywords(catalogue, prompt, max_per_load=cap)
    expected = scores(catalogue, prompt)
    assert dict(choice.ranked) == pytest.approx(expected)
    assert list(choice.ranked) == sorted(choice.ranked, key=lambda pair: (-pair[1], pair[0]))
    assert list(choice.names) == [name for name, _ in choice.ranked[:cap]]
    if choice.ranked:
        left_out = choice.ranked[cap][1] if len(choice.ranked) > cap else 0.0
        clear = left_out <= 0.5 * choice.ranked[:cap][-1][1]
        assert choice.confident == (choice.ranked[0][1] >= 1 and clear)
    else:
        assert choice == KeywordChoice()


def test_the_words_of_the_request_find_the_tool() -> None:
    catalogue = [
        server("Mail", ("mail__sendMessage", "Sends a message to people."), "mail__list"),
        server(
            "Photos", ("photos__resize", "Makes images smaller."), ("photos__list", "Lists images.")
        ),
        server("地图", ("amap__search", "搜索地图上的地点")),
    ]
    assert preselect_by_keywords(catalogue, "Resize all my images!").names[0] == "photos__resize"
    assert preselect_by_keywords(catalogue, "send a messages").names == ("mail__sendMessage",)
    assert preselect_by_keywords(catalogue, "请搜索一个地点").names == ("amap__search",)


@pytest.mark.parametrize("prompt", ["", "what is the of it", "zebra", "a b c"])
def test_no_terms_or_no_hits_choose_nothing(prompt: str) -> None:
    assert preselect_by_keywords([MAIL, DISK], prompt) == KeywordChoice()
    assert preselect_by_keywords([EMPTY], "send mail") == KeywordChoice()
    assert preselect_by_keywords([], "send mail") == KeywordChoice()


@pytest.mark.parametrize(
    ("prompt", "found"),
    [("reports", True), ("report", True), ("gas", True), ("ga", False), ("glas", False)],
)
def test_a_plural_is_the_same_word_but_not_every_s_is_one(prompt: str, found: bool) -> None:
    catalogue = [server("A", ("a__t", "reports on gas and glass"))]
    assert bool(preselect_by_keywords(catalogue, prompt).names) is found


def test_a_choice_is_confident_only_if_good_and_clearly_cut_off() -> None:
    catalogue = [MAIL, DISK]
    assert preselect_by_keywords(catalogue, "write disk", max_per_load=1).confident
    assert not preselect_by_keywords(catalogue, "write disk", min_score=9).confident
    assert not preselect_by_keywords(catalogue, "mail", max_per_load=1, min_score=0).confident
    assert preselect_by_keywords(
        catalogue, "mail", max_per_load=1, min_score=0, dropoff=1
    ).confident


def test_only_the_head_of_the_prompt_counts() -> None:
    assert preselect_by_keywords([MAIL], "x" * 2000 + " send") == KeywordChoice()
    assert preselect_by_keywords([MAIL], "send " + "x" * 2000).names == ("mail__send",)
