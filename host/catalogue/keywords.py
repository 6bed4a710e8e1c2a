"""Choosing tools by the words of the request alone: BM25 over names and descriptions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from host.catalogue.name_resolution import MAX_PER_LOAD
from host.catalogue.server_memo import remembered
from host.catalogue.words import words
from host.records import CatalogueServer

_K1 = 1.2
_B = 0.75
_FUNCTION_TEXT = """
about above after again all also am an and any are as at be because been before being below
between both but by can could did do does doing down during each either else ever every few
for from further had has have having he her here hers him his how if in into is it its just
let like may me might more most must my neither no nor not now of off on once only or other
our ours out over own per please shall she should so some such than that the their theirs
them then there these they this those through to too under until up upon us very was we were
what when where whether which while who whom whose why will with within without would yes
yet you your yours
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_TEXT.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordChoice:
    """What the words chose.

    Attributes:
        names: the best tools, at most as many as one call may load.
        confident: whether the best is good enough and what was left out clearly worse.
        ranked: every tool with a hit and its score, best first.
    """

    names: tuple[str, ...] = ()
    confident: bool = False
    ranked: tuple[tuple[str, float], ...] = ()


@dataclass(slots=True)
class _Postings:
    """Where each term occurs; lengths and names by tool number."""

    names: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    by_term: dict[str, list[tuple[int, int]]] = field(default_factory=dict)


def preselect_by_keywords(
    catalogue: Sequence[CatalogueServer],
    prompt: str,
    *,
    max_per_load: int = MAX_PER_LOAD,
    min_score: float = 1.0,
    dropoff: float = 0.5,
    max_prompt_chars: int = 2000,
) -> KeywordChoice:
    """The tools whose names and descriptions share rare words with the prompt (agent core §7).

    Args:
        min_score: the least score of the best tool for a confident choice.
        dropoff: the best tool left out must have at most this share of the last chosen's score.
        max_prompt_chars: how much of the prompt's beginning counts.
    """
    query = frozenset(_terms(prompt[: max(0, max_prompt_chars)]))
    ranked = _ranked(_postings(catalogue), query)
    picked = ranked[: max(1, max_per_load)]
    if not picked:
        return KeywordChoice()
    next_score = ranked[len(picked)][1] if len(ranked) > len(picked) else 0.0
    return KeywordChoice(
        names=tuple(name for name, _ in picked),
        confident=picked[0][1] >= min_score and next_score <= dropoff * picked[-1][1],
        ranked=tuple(ranked),
    )


def _ranked(postings: _Postings, query: frozenset[str]) -> list[tuple[str, float]]:
    tools = len(postings.names)
    mean_length = sum(postings.lengths) / tools if tools else 0.0
    scores: defaultdict[int, float] = defaultdict(float)
    for term in sorted(query):  # sums of floats depend on their order
        found = postings.by_term.get(term, [])
        rarity = math.log(1 + (tools - len(found) + 0.5) / (len(found) + 0.5))
        for tool, times in found:
            saturation = _K1 * (1 - _B + _B * postings.lengths[tool] / mean_length)
            scores[tool] += rarity * times * (_K1 + 1) / (times + saturation)
    pairs = [(postings.names[tool], score) for tool, score in scores.items()]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))


def _index_postings(catalogue: Sequence[CatalogueServer]) -> _Postings:
    postings = _Postings()
    documents: dict[str, str] = {}
    for server in catalogue:
        for tool in server.tools:
            documents.setdefault(tool.name, f"{tool.name} {server.label} {tool.description}")
    for number, (name, document) in enumerate(documents.items()):
        terms = Counter(_terms(document))
        postings.names.append(name)
        postings.lengths.append(terms.total())
        for term, times in terms.items():
            postings.by_term.setdefault(term, []).append((number, times))
    return postings


_postings = remembered(_index_postings)


def _terms(text: str) -> list[str]:
    """The words that carry meaning, plurals folded."""
    return [
        _singular(word)
        for word in words(text)
        if (len(word) > 1 or ord(word) > 0x2E7F) and word not in _FUNCTION_WORDS
    ]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
