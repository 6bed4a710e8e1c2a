"""Telling what a server says itself from what it quotes in the same breath.

A complaint often holds a piece of what it is about: the model's answer, the tools or the messages
of the request. Such a piece may say anything, so no complaint is judged by it.
"""

from __future__ import annotations

import re

_QUOTES_FROM_HERE = re.compile(
    r"\bat pos \d+"  # llama-server, of an answer that it cannot parse
    r"|\btool call validation failed|\battempted to call tool"  # Groq, of a call
    r"|; (?:tools|messages) = |\bgot (?=[\[{\"])"  # and of the request's tools and messages
    r"|\blast read: "  # its JSON reader
    r"|(['\"])input\1: (?=[\[{])",  # pydantic, printed by vLLM
    re.I | re.A,
)


def own_words_in(text: str) -> str:
    """A complaint up to where it begins to quote; the whole where it does not."""
    quote = _QUOTES_FROM_HERE.search(text)
    return text[: quote.end()] if quote else text
