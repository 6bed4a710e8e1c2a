"""Finding tools by words. Source: pool spec §9, design §8 "Search"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

_FIELD_WEIGHTS = (("name", 3.0), ("title", 2.0), ("description", 1.0), ("server", 1.0))
_SUFFIXES = ("ing", "ed", "s")
_MIN_STEM_CHARS = 3
_EXACT, _PREFIX = 1.0, 0.5

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def rank_tools(query: str, tools: Iterable[T], *, limit: int = 10) -> list[tuple[T, float]]:
    """The tools that answer to words of the query, best first, each with its score above zero.

    Each distinct word of the query counts its best match: name 3, title 2, description and server
    1; half of that when one word begins the other. Words end at anything that is no letter or
    digit and at the humps of camelCase, and lose one ending of ``ing``, ``ed`` or ``s``. Chinese
    characters and Japanese kana are words of their own, since no spaces part them (ours). Equal
    scores keep the order of the tools.

    Args:
        tools: any objects with ``name``, ``title``, ``description`` and perhaps ``server``, each
            a text or None.
        limit: at most so many; 0 or less gives none.
    """
    wanted = sorted(_stems(query))
    if limit <= 0 or not wanted:
        return []
    scored = [(tool, _score(wanted, tool)) for tool in tools]
    hits = [(tool, score) for tool, score in scored if score > 0]
    hits.sort(key=lambda hit: -hit[1])
    return hits[:limit]


def _score(wanted: list[str], tool: object) -> float:
    best = dict.fromkeys(wanted, 0.0)
    for field, weight in _FIELD_WEIGHTS:
        text = getattr(tool, field, None)
        if not isinstance(text, str) or not text:
            continue
        lowered = text.lower()
        hopeful = [
            stem for stem in wanted if best[stem] < weight and stem[:_MIN_STEM_CHARS] in lowered
        ]
        if not hopeful:
            continue  # a match shares its first three letters: taking the text apart is in vain
        present = _stems(text)
        joined = " " + " ".join(present)
        for stem in hopeful:
            best[stem] = max(best[stem], weight * _match(stem, present, joined))
    return sum(best.values())


def _match(stem: str, present: set[str], joined: str) -> float:
    """How well the stem answers to one of those present, which are also ``joined`` by spaces."""
    if stem in present:
        return _EXACT
    if len(stem) < _MIN_STEM_CHARS:
        return 0.0
    begins_one = f" {stem}" in joined
    beginnings = (stem[:end] for end in range(_MIN_STEM_CHARS, len(stem)))
    return _PREFIX if begins_one or any(part in present for part in beginnings) else 0.0


def _stems(text: str) -> set[str]:
    spaced = text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)
    return {stem for run in set(_WORD.findall(spaced)) for stem in _run_stems(run)}


@lru_cache(maxsize=16_384)
def _run_stems(run: str) -> tuple[str, ...]:
    """The stems of letters and digits that stand together; few of them, in many texts."""
    return tuple(_stem(word.lower()) for word in _humps(run))


def _humps(word: str) -> list[str]:
    """The words of one written in camelCase: ``getHTTPUrl2x`` gives get, HTTP, Url2x."""
    if word.islower():
        return [word]
    starts = [0]
    for at in range(1, len(word)):
        before, here, after = word[at - 1], word[at], word[at + 1 : at + 2]
        if here.isupper() and (not before.isupper() or after.islower()):
            starts.append(at)
    return [word[start:end] for start, end in zip(starts, [*starts[1:], len(word)], strict=True)]


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM_CHARS:
            return word[: -len(suffix)]
    return word
