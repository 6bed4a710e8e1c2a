"""How a model's file is served so that this machine holds it."""

from __future__ import annotations

from dataclasses import dataclass

from host.assembly.engine_words import size_words
from host.config import ModelFile

MAX_CONTEXT_TOKENS = 32_768
"""More than that is served only on request: a small machine reads it for minutes."""

MIN_CONTEXT_TOKENS = 4096
"""Tools, a question and an answer need that much."""

UNKNOWN_CONTEXT_TOKENS = 8192
"""For a file that does not say what it was trained for, or what a token of context takes."""

UNKNOWN_CACHE_MIB = 512

MOST_TOKENS, MOST_CACHE_MIB = (1 << 31) - 1, 1 << 20
"""The largest numbers an engine takes, or makes any sense of, whatever a file or a wish says."""

_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePlan:
    """What the engine is told.

    Attributes:
        context_tokens: the window.
        cache_mib: what it may take to remember the conversation while another one is asked.
    """

    context_tokens: int
    cache_mib: int


def plan_engine(file: ModelFile, *, wanted_tokens: int, memory_bytes: int) -> EnginePlan:
    """The window that was wanted, or the largest sensible one; never more than was trained for.

    Sensible is what the model was trained for, and of the memory beside the weights at most half: a
    quarter for the context and as much for remembering one.

    Args:
        wanted_tokens: 0 for no wish.
        memory_bytes: of this machine; 0 for unknown.

    Raises:
        ConfigError: the weights alone are larger than the memory.
    """
    if 0 < memory_bytes < file.size_bytes:
        have, need = size_words(memory_bytes), size_words(file.size_bytes)
        raise file.refused(f"is too large: {need}, and this machine has {have} of memory")
    each = file.header.context_bytes_per_token
    trained = file.header.trained_context_tokens
    context = wanted_tokens or min(trained or UNKNOWN_CONTEXT_TOKENS, MAX_CONTEXT_TOKENS)
    context = min(context, trained or context, MOST_TOKENS)
    if wanted_tokens == 0 and memory_bytes:
        room = (memory_bytes - file.size_bytes) // 4
        affordable = room // each if each else UNKNOWN_CONTEXT_TOKENS
        context = min(context, max(affordable, MIN_CONTEXT_TOKENS))
    cache = -(-context * each // _MIB) if each else UNKNOWN_CACHE_MIB
    return EnginePlan(context_tokens=context, cache_mib=min(cache, MOST_CACHE_MIB))
