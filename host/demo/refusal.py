"""How the bundled servers say no: one sentence that names what would be accepted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MAX_SHOWN_CHARS = 60
_MAX_NEAREST = 3


class Refused(ValueError):
    """What was asked for cannot be done; the text says in one sentence what can."""


def shown(text: str) -> str:
    """Text somebody gave, quoted for a sentence: on one line and at most 60 characters of it."""
    line = " ".join(text.split())
    cut = line if len(line) <= _MAX_SHOWN_CHARS else line[: _MAX_SHOWN_CHARS - 1] + "…"
    return f'"{cut}"'


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names most like the given one, best first, three at most; letter case is ignored.

    A name that holds the given text counts as near, whatever its length.
    """
    names = list(dict.fromkeys(known))
    wanted = name.strip().casefold()
    if not wanted:
        return []
    holding = sorted((n for n in names if wanted in n.casefold()), key=lambda n: (len(n), n))
    folded = {n.casefold(): n for n in reversed(names)}
    alike = [folded[n] for n in difflib.get_close_matches(wanted, folded, _MAX_NEAREST, 0.6)]
    return list(dict.fromkeys(holding + alike))[:_MAX_NEAREST]


def listed(words: Iterable[str], last: str = "or") -> str:
    """The words as a sentence lists them: ``a``, ``a or b``, ``a, b or c``."""
    *head, tail = words
    return f"{', '.join(head)} {last} {tail}" if head else tail


def unknown(kind: str, name: str, near: Iterable[str], otherwise: str) -> Refused:
    """The refusal of an unknown name: the near ones, or else what to do instead."""
    names = list(near)
    remedy = f"did you mean {listed(names)}?" if names else f"{otherwise}."
    return Refused(f"There is no {kind} {shown(name)}: {remedy}")
