"""Which loaded tools the next question of a conversation begins with."""

from __future__ import annotations

from collections.abc import Iterable

MAX_CARRIED = 16
"""How many loaded tools a conversation carries from one question to the next."""


def carry_over(
    previous: Iterable[str], used: Iterable[str], *, max_carried: int = MAX_CARRIED
) -> list[str]:
    """The names to start the next question with, at most ``max_carried`` (below 1 counts as 1).

    Names keep their place, since a tool that moves in a request spoils the endpoint's prompt
    cache: the previous ones first, then what was used for the first time. Over the limit, the
    earliest that was not used goes first, then the earliest (agent core §7, later form).
    """
    in_use = dict.fromkeys(used)
    names = list(dict.fromkeys((*previous, *in_use)))
    surplus = len(names) - max(1, max_carried)
    if surplus <= 0:
        return names
    unused = [name for name in names if name not in in_use]
    dropped = set(unused[:surplus])
    kept = [name for name in names if name not in dropped]
    return kept[surplus - len(dropped) :]
