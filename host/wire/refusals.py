"""What a refusal teaches: which latch an endpoint's words answer, judged without any effect.

Rules are tried in a fixed order and the first that fits wins (agent-core §10). A text that
complains about a value, not about a field, is the caller's to read and fits none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from host.wire.answer_shapes import refuses_schema
from host.wire.capabilities import Capabilities, ModelCapabilities
from host.wire.efforts import (
    EFFORT_LADDER,
    names_other_effort,
    next_effort,
    published_efforts,
    refused_effort,
    refuses_effort_value,
)
from host.wire.schema_compat import is_grammar_error

LatchName = Literal[
    "strict_schemas",
    "usage_in_stream",
    "reasoning_effort",
    "refused_efforts",
    "legacy_token_limit",
    "chosen_temperature",
    "structured_output",
    "refused_fields",
]

_VALUE_OF_CEILING = re.compile(
    r"too (?:large|big|high|small|low)|at (?:most|least)|less than|greater than|exceeds"
    r"|must be (?:smaller|lower|higher|no more|between|positive|[<>≤≥])",
    re.I,
)
_TEMPERATURE = re.compile(
    r"(['\"`])temperature\1|\btemperature (?:is|does|must|can)\b", re.I | re.A
)
_VALUE_OF_TEMPERATURE = re.compile(r"(?:unsupported|invalid) value|supported values", re.I)
_NO_TEMPERATURE = re.compile(
    r"(?:(['\"`]?)\btemperature\1 (?:parameter )?(?:is|was) "
    r"(?:not (?:supported|allowed|available)|unsupported|deprecated)"
    r"|(?:does not|doesn't) support (?:the )?(?:parameter )?(['\"`])temperature\2)"
    r"(?! (?:above|below|over|under|outside|between|values?\b|for (?:this )?value))",
    re.I | re.A,
)
_UNKNOWN_LIST = re.compile(r"unrecognized request arguments? supplied:([^\n]*)", re.I)
_UNKNOWN_ONE = re.compile(
    r"(?:(?:unknown|unsupported) parameter:|unknown (?:name|field))\s*(['\"`])([^\n]*?)\1", re.I
)
_UNSUPPORTED = re.compile(r"\bproperty (['\"`])([^\n'\"`]*+)\1 is unsupported", re.I)
_EXTRA = re.compile(r"(?<![\w.\[\]-])([\w.\[\]-]++): extra inputs are not permitted", re.I | re.A)
_NOT_ON_MODEL = re.compile(r"argument not supported on this model: (\w+)", re.I | re.A)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What one refusal teaches.

    Attributes:
        latch: the attribute of `Capabilities` or `ModelCapabilities` to turn off or add to.
        notice: one line for whoever watches; opens with ``server`` or the model's name.
        model: None for a latch of the endpoint.
        fields: the unknown fields, for ``refused_fields``.
        effort: the value turned down, for ``refused_efforts``; "" where it was not named.
        supported_efforts: the values published with it; None when there were none.
    """

    latch: LatchName
    notice: str
    model: str | None = None
    fields: tuple[str, ...] = ()
    effort: str = ""
    supported_efforts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal:
    text: str
    model: str
    refused: ModelCapabilities
    droppable: Collection[str]

    def says(self, *words: str) -> bool:
        lowered = self.text.lower()
        return all(word in lowered for word in words)


_Rule: TypeAlias = Callable[[_Refusal], Lesson | None]


def lesson_of(
    text: str,
    capabilities: Capabilities,
    *,
    model: str | None = None,
    droppable: Collection[str] = (),
) -> Lesson | None:
    """What an endpoint's words teach that was not known yet; None when they teach nothing.

    Args:
        text: what it said; statuses play no part, since llama.cpp's refusals have come without.
        model: None leaves only the endpoint's own latches to learn about.
        droppable: the extra body fields that may be left out.
    """
    if capabilities.strict_schemas and is_grammar_error(text):
        return Lesson(
            latch="strict_schemas",
            notice="server cannot turn the tool schemas into a grammar; "
            "trying again without pattern and format",
        )
    if capabilities.usage_in_stream and "stream_options" in text.lower():
        return Lesson(
            latch="usage_in_stream",
            notice="server does not take stream_options; trying again without token counts",
        )
    if not model:
        return None
    known = capabilities.models.get(model) or ModelCapabilities()
    refusal = _Refusal(text=text, model=model, refused=known, droppable=droppable)
    lessons = (rule(refusal) for rule in _MODEL_RULES)
    return next((lesson for lesson in lessons if lesson), None)


def learn(capabilities: Capabilities, lesson: Lesson) -> None:
    """Turns off the latch that a lesson names, in place."""
    if lesson.model is None:
        setattr(capabilities, lesson.latch, False)
        return
    known = capabilities.for_model(lesson.model)
    match lesson.latch:
        case "refused_fields":
            known.refused_fields.update(lesson.fields)
        case "refused_efforts":
            known.refused_efforts.update([lesson.effort] if lesson.effort else [])
            known.supported_efforts = lesson.supported_efforts or known.supported_efforts
        case latch:
            setattr(known, latch, False)


def _effort_field(refusal: _Refusal) -> Lesson | None:
    if not refusal.refused.reasoning_effort or not refusal.says("reasoning_effort"):
        return None
    is_named = "reasoning_effort" in _unknown_names(refusal.text)
    if refuses_effort_value(refusal.text) and not is_named:
        return None
    return Lesson(
        latch="reasoning_effort",
        model=refusal.model,
        notice=f"{refusal.model} does not take reasoning_effort; trying again without it",
    )


def _effort_value(refusal: _Refusal) -> Lesson | None:
    known = refusal.refused
    if not known.reasoning_effort or not refusal.says("reasoning_effort"):
        return None
    effort = refused_effort(refusal.text)
    published = published_efforts(refusal.text)
    if effort is None:
        return _effort_list(refusal, published)
    if effort in known.refused_efforts or effort in (published or ()):
        return None
    supported = published or known.supported_efforts
    following = next_effort(effort, refused={*known.refused_efforts, effort}, supported=supported)
    if following is None:
        return None
    return Lesson(
        latch="refused_efforts",
        model=refusal.model,
        effort=effort,
        supported_efforts=published,
        notice=f"{refusal.model} does not take reasoning_effort {effort}; trying {following}",
    )


def _effort_list(refusal: _Refusal, published: tuple[str, ...] | None) -> Lesson | None:
    """What a list of efforts teaches that came without the value turned down.

    Nothing where no effort of the ladder would be sent otherwise; a later list only if it is
    shorter, so that contradicting ones come to an end.
    """
    known = refusal.refused.supported_efforts
    if published is None or names_other_effort(refusal.text):
        return None
    if known is not None and not set(published) < set(known):
        return None
    others = [rung for rung in EFFORT_LADDER if rung not in published]
    if all(next_effort(rung, supported=published) is None for rung in others):
        return None
    listed = ", ".join(published)
    return Lesson(
        latch="refused_efforts",
        model=refusal.model,
        supported_efforts=published,
        notice=f"{refusal.model} takes reasoning_effort only as {listed}; trying the next of them",
    )


def _ceiling_field(refusal: _Refusal) -> Lesson | None:
    if not refusal.refused.legacy_token_limit:
        return None
    if not refusal.says("max_tokens", "max_completion_tokens"):
        return None
    if _VALUE_OF_CEILING.search(refusal.text):
        return None
    return Lesson(
        latch="legacy_token_limit",
        model=refusal.model,
        notice=f"{refusal.model} does not take max_tokens; trying again with max_completion_tokens",
    )


def _own_temperature(refusal: _Refusal) -> Lesson | None:
    if not refusal.refused.chosen_temperature:
        return None
    is_value = refusal.says("only the default") and _TEMPERATURE.search(refusal.text)
    if not is_value and not _refuses_any_temperature(refusal.text):
        return None
    return Lesson(
        latch="chosen_temperature",
        model=refusal.model,
        notice=f"{refusal.model} takes no temperature but its own; trying again without one",
    )


def _refuses_any_temperature(text: str) -> bool:
    if "temperature" in _unknown_names(text):
        return True
    return bool(_NO_TEMPERATURE.search(text)) and not _VALUE_OF_TEMPERATURE.search(text)


def _own_response_format(refusal: _Refusal) -> Lesson | None:
    """A format that the caller chose, of whatever type: JSON by schema may still be taken."""
    field = "response_format"
    if field not in refusal.droppable or field in refusal.refused.refused_fields:
        return None
    if not refusal.says(field) or refuses_schema(refusal.text):
        return None
    return Lesson(
        latch="refused_fields",
        model=refusal.model,
        fields=(field,),
        notice=f"{refusal.model} does not take this response_format; trying again without it",
    )


def _response_format(refusal: _Refusal) -> Lesson | None:
    if not refusal.refused.structured_output or refuses_schema(refusal.text):
        return None
    if not (refusal.says("response_format") or refusal.says("json_schema")):
        return None
    return Lesson(
        latch="structured_output",
        model=refusal.model,
        notice=f"{refusal.model} does not take response_format; asking for JSON in words",
    )


def _unknown_fields(refusal: _Refusal) -> Lesson | None:
    fields = tuple(
        field
        for field in dict.fromkeys(_unknown_names(refusal.text))
        if field in refusal.droppable and field not in refusal.refused.refused_fields
    )
    if not fields:
        return None
    noun = "field" if len(fields) == 1 else "fields"
    return Lesson(
        latch="refused_fields",
        model=refusal.model,
        fields=fields,
        notice=f"{refusal.model} does not know the {noun} {', '.join(fields)}; "
        f"trying again without {'it' if len(fields) == 1 else 'them'}",
    )


def _unknown_names(text: str) -> list[str]:
    names = [name for found in _UNKNOWN_LIST.findall(text) for name in found.split(",")]
    names += [name for _, name in (*_UNKNOWN_ONE.findall(text), *_UNSUPPORTED.findall(text))]
    names += [*_EXTRA.findall(text), *_NOT_ON_MODEL.findall(text)]
    return [_top_level(name) for name in names]


def _top_level(name: str) -> str:
    return re.split(r"[.\[]", name.strip(" \t\r'\"`"), maxsplit=1)[0].strip(" '\"`")


_MODEL_RULES: tuple[_Rule, ...] = (
    _effort_field,
    _effort_value,
    _ceiling_field,
    _own_temperature,
    _own_response_format,
    _response_format,
    _unknown_fields,
)
