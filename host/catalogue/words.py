"""The words of a name or a sentence."""

from __future__ import annotations

import re

_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_RUN = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")


def words(text: str) -> list[str]:
    """The words of the text in lower case, in order, repeats kept.

    Letters and digits make words; camelCase is split. Chinese and Japanese, written without
    spaces, give every pair of neighbouring characters (ours; agent core §7 reads ASCII only, but
    real servers describe themselves in Chinese: amap, howtocook, lark).
    """
    found: list[str] = []
    for word in _WORD.findall(_HUMP.sub(" ", text)):
        if word.isascii():
            found.append(word.lower())
        else:
            for run in _RUN.findall(word):
                found.extend(_pairs(run) if _IS_UNSPACED.match(run) else [run.lower()])
    return found


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
