"""What a message or a delta says, wherever servers put it: its text and its reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_REASONING_FIELDS = (
    "reasoning_content",  # DeepSeek, llama.cpp, older vLLM
    "reasoning",  # OpenRouter, Ollama, Groq, newer vLLM
    "reasoning_text",  # GitHub Copilot
)


def text_of(message: Mapping[str, Any]) -> str:
    """The visible text; of a list of parts, that of its text parts.

    A refusal is text as well: OpenAI's models say it in a field of its own, in place of content.
    """
    return plain_text(message.get("content")) or plain_text(message.get("refusal"))


def reasoning_of(message: Mapping[str, Any]) -> str:
    """The reasoning, from the first place that holds any; "" for none.

    Servers that know two spellings send the same text in both, so they are never added up.
    """
    places = (
        *(message.get(name) for name in _REASONING_FIELDS),
        _thinking_parts(message.get("content")),
        _details(message.get("reasoning_details")),
    )
    return next((text for place in places if (text := plain_text(place))), "")


def plain_text(value: object) -> str:
    """A field's text: itself, or that of its parts which have a ``text``; "" for anything else."""
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _thinking_parts(content: object) -> str:
    """Mistral: ``{"type": "thinking", "thinking": [{"type": "text", "text": …}]}`` in content."""
    parts = content if isinstance(content, list) else []
    return "".join(plain_text(part.get("thinking")) for part in parts if isinstance(part, Mapping))


def _details(details: object) -> str:
    """OpenRouter: a list of texts and summaries; encrypted entries hold nothing to read."""
    entries = [entry for entry in _list(details) if isinstance(entry, Mapping)]
    return "".join(plain_text(entry.get("text") or entry.get("summary")) for entry in entries)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
