"""How an answer's shape is asked for, and in which other way where a server cannot take it.

OpenAI and Azure take as strict only a closed schema: every object forbids what it does not name
and requires what it names. An ordinary one is refused, and taken as soon as it is not strict.
"""

from __future__ import annotations

import re
from typing import Literal

from host.errors import EndpointRefused, WireError
from host.wire.retry import refuses_request
from host.wire.schema_compat import is_grammar_error

ShapeForm = Literal["strict", "loose", "words"]
"""As a field to be enforced, as a field, and in words alone."""

_NO_SCHEMA = re.compile(
    r"invalid[ _](?:json[ _-]?)?schema|schema (?:is|was) (?:invalid|not valid)"
    r"|additional_?properties",
    re.I,
)
_OF_SHAPE = re.compile(r"response_format|json_schema|output_format|text\.format", re.I)
_OF_TOOLS = re.compile(r"\bfunctions?\b|\btools?\b", re.I)


def refuses_schema(text: str) -> bool:
    """Whether an endpoint's words are about an answer's schema itself, not the field it stands in.

    What they say of the schema of a tool is not.
    """
    if not _NO_SCHEMA.search(text):
        return False
    return bool(_OF_SHAPE.search(text)) or not _OF_TOOLS.search(text)


def next_form(
    form: ShapeForm, error: WireError, words: str, *, first: ShapeForm = "strict"
) -> ShapeForm | None:
    """The form to ask for after a failure; None where the shape is not what failed.

    A schema of which no grammar came is asked for in words at once.

    Args:
        form: as it was sent.
        words: the endpoint's, in ``error``.
        first: as it was first sent; what a server says to the form that was to help is not read.
    """
    if form == "words":
        return None
    if is_grammar_error(words) and not _is_of_access(error):
        return "words"
    if refuses_request(error) and (form != first or refuses_schema(words)):
        return "loose" if form == "strict" else "words"
    return None


def _is_of_access(error: WireError) -> bool:
    """Whether a server did not get as far as the schema: it does not know the key or the model."""
    match error:
        case EndpointRefused(status=status):
            return status not in (None, 400, 422)
        case _:
            return False


def form_notice(model: str, form: ShapeForm) -> str:
    """One line: in which form a model is asked now."""
    if form == "loose":
        return f"{model} does not take the schema as a strict one; trying again without strict"
    return f"{model} cannot be held to the asked shape; trying again in words"
