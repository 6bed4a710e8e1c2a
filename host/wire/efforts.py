"""The ladder of reasoning efforts: what a refusal of one value teaches, and what to ask instead."""

from __future__ import annotations

import re
from collections.abc import Collection

from host.wire.value_lists import listed_values

EFFORT_LADDER = ("none", "minimal", "low", "medium", "high")
"""From cheapest to dearest. Other names (``xhigh``) have no place on it and are never replaced."""

_FIELD = "reasoning_effort"
_OF_VALUE = re.compile(
    r"(?:unsupported|invalid) (?:enum )?(?:value|option)|supported values"
    r"|\b(?:be|not|expected) one of|input should be|literal_error|\benum(?:eration)?\b"
    r"|unknown variant|\bpermitted:|not a valid (?:value|choice|option)"
    r"|invalid ['\"`]?reasoning_effort['\"`]?\s*(?:[:=]|value\b|['\"`])"
    r"|reasoning_effort['\"`]? does not support\b"
    r"|reasoning_effort['\"`]?\s*=?\s*['\"`](?:none|minimal|low|medium|x?high|max)['\"`]",
    re.I,
)
_PUBLISHED = re.compile(r"supported values are:\s*([^.\n]*)", re.I)
_REFUSED = re.compile(
    r"(?:reasoning_effort['\"`]?\s*(?:does not support|:)|is not supported with)"
    r"\s*['\"`]?(\w+)",
    re.I | re.A,
)
_QUOTED = re.compile(
    r"(?:['\"]input['\"]:|\b(?:received|got|unknown variant|invalid value:)"
    r"|reasoning_effort['\"`]?\s*(?:does not support|=)?)\s*['\"`]+([\w-]+)['\"`]"
    r"|['\"`]([\w-]+)['\"`] is not (?:one of|a valid|supported|allowed)",
    re.I | re.A,
)
_BETWEEN = re.compile(r"; (?!permitted:)")  # pydantic 1 parts one complaint so
_WORD = re.compile(r"\w+", re.A)


def next_effort(
    effort: str, *, refused: Collection[str] = (), supported: Collection[str] | None = None
) -> str | None:
    """The cheapest effort strictly above ``effort`` that is not refused; None when there is none.

    Args:
        supported: the values the endpoint published; None when it published none.
    """
    if effort not in EFFORT_LADDER:
        return None
    above = EFFORT_LADDER[EFFORT_LADDER.index(effort) + 1 :]
    allowed = (rung for rung in above if supported is None or rung in supported)
    return next((rung for rung in allowed if rung not in refused), None)


def refuses_effort_value(text: str) -> bool:
    """Whether a complaint about the effort is about its value: the field as such is taken."""
    return bool(_OF_VALUE.search(_own_part(text))) or published_efforts(text) is not None


def published_efforts(text: str) -> tuple[str, ...] | None:
    """The efforts a refusal lists as supported, cheapest first; None when it lists none we know.

    Of several lists the first that follows the field's name counts.
    """
    said = _own_part(text)
    at = max(said.lower().find(_FIELD), 0)
    for part in (said[at:], said[:at]):
        listed = [_WORD.findall(found.lower()) for found in _PUBLISHED.findall(part)]
        for words in (*listed, *listed_values(part)):
            if rungs := tuple(rung for rung in EFFORT_LADDER if rung in words):
                return rungs
    return None


def refused_effort(text: str) -> str | None:
    """The effort a refusal names as the one it does not take; None when it names none we know."""
    said = _own_part(text)
    named = (word.lower() for word in (*_REFUSED.findall(said), *_quoted(said)))
    return next((word for word in named if word in EFFORT_LADDER), None)


def names_other_effort(text: str) -> bool:
    """Whether a refusal is of a value without a place on the ladder."""
    return any(word not in EFFORT_LADDER for word in _quoted(_own_part(text)))


def _quoted(said: str) -> list[str]:
    words = [(first or second).lower() for first, second in _QUOTED.findall(said)]
    return [word for word in words if word != _FIELD]


def _own_part(text: str) -> str:
    """Of several complaints in a row those about the effort; the whole where it is not named."""
    own = [complaint for complaint in _BETWEEN.split(text) if _FIELD in complaint.lower()]
    return "; ".join(own) or text
