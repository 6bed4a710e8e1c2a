"""What servers say of their tools, without the secrets that they repeat in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from host.text.redaction import Redactor

_NAMING = (
    *("name", "required", "enum", "const", "type", "pattern", "format", "taskSupport"),
    *("supportedVersions", "visibility", "$ref", "$dynamicRef", "$schema", "$id", "$anchor"),
)
"""Where a text is no description: with a mark in it, it would mean something else."""

_EXAMPLES = ("default", "example", "examples")
"""What a model may copy: left out rather than marked."""

_WORDS_OF_ALL = """
additionalProperties allOf annotations anyOf array boolean const default definitions description
destructiveHint enum examples execution format idempotentHint inputSchema integer items maximum
minimum name null number object oneOf openWorldHint outputSchema pattern properties readOnlyHint
required string title true type $defs $schema
"""
_PLAIN_WORDS = frozenset(_WORDS_OF_ALL.split())
"""Words of every listing, which tell nothing even where a secret is spelt like one."""


class NamesSecret(ValueError):
    """A secret of the row stands where the server names things, so that it cannot be left out."""


def redacted_value(value: Any, redactor: Redactor, keyword: str = "") -> Any:
    """What a server said, without secrets in what only describes.

    Args:
        keyword: under which the value stands.

    Raises:
        NamesSecret: a name, a choice or the like holds one.
    """
    if isinstance(value, str):
        return _redacted_text(value, redactor, is_name=keyword in _NAMING)
    if isinstance(value, Mapping):
        return {
            _redacted_text(key, redactor, is_name=True): redacted_value(inner, redactor, key)
            for key, inner in value.items()
            if key not in _EXAMPLES or not _holds_secret(inner, redactor)
        }
    if isinstance(value, list | tuple):
        return [redacted_value(inner, redactor, keyword) for inner in value]
    return value


def _redacted_text(text: str, redactor: Redactor, *, is_name: bool) -> str:
    told = redactor.redact(text)
    if told == text or text in _PLAIN_WORDS:
        return text
    if is_name:
        raise NamesSecret("a name in it is a secret of its row")
    return told


def _holds_secret(value: Any, redactor: Redactor) -> bool:
    try:
        return bool(redacted_value(value, redactor) != value)
    except NamesSecret:
        return True
