"""A model is served with as much context as it knows and the machine holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.assembly.engine_plan import (
    MAX_CONTEXT_TOKENS,
    MIN_CONTEXT_TOKENS,
    MOST_CACHE_MIB,
    MOST_TOKENS,
    UNKNOWN_CONTEXT_TOKENS,
    plan_engine,
)
from host.config import ModelFile
from host.config.gguf_header import GgufHeader
from host.errors import ConfigError

GB = 1 << 30


def file(size_bytes: int, *, trained: int = 0, each: int = 0) -> ModelFile:
    """A model with a window, a token of which takes so many bytes; 0 for what it does not tell."""
    facts: dict[str, str | int] = {
        "general.architecture": "m",
        "m.context_length": trained,
        "m.block_count": 1,
        "m.attention.head_count_kv": 1,
        "m.attention.key_length": each // 4,
        "m.attention.value_length": each // 4,
    }
    header = GgufHeader(version=3, facts=facts)
    return ModelFile(
        path=Path("m.gguf"), name="m", size_bytes=size_bytes, header=header, origin="--gguf"
    )


@given(
    st.integers(1, 40 * GB),
    st.sampled_from([0, 512, 2048, 32_768, 1_000_000]),
    st.sampled_from([0, 4096, 131_072]),
    st.integers(0, 48 * GB),
)
def test_the_context_fits_the_model_and_the_memory(
    size: int, trained: int, each: int, memory: int
) -> None:
    model = file(size, trained=trained, each=each)
    if 0 < memory < size:
        with pytest.raises(ConfigError, match=r"--gguf: m\.gguf is too large: .*B of memory"):
            plan_engine(model, wanted_tokens=0, memory_bytes=memory)
        return
    plan = plan_engine(model, wanted_tokens=0, memory_bytes=memory)
    tokens = plan.context_tokens
    assert 0 < tokens <= min(trained or UNKNOWN_CONTEXT_TOKENS, MAX_CONTEXT_TOKENS)
    if tokens > MIN_CONTEXT_TOKENS and memory and each:
        assert 2 * tokens * each <= (memory - size) / 2
        one_more = 4 * (tokens + 1) * each > memory - size
        assert one_more or tokens in (trained, UNKNOWN_CONTEXT_TOKENS, MAX_CONTEXT_TOKENS)
    if each:
        assert plan.cache_mib - 1 < tokens * each / (1 << 20) <= plan.cache_mib


@given(st.integers(1, 200_000), st.sampled_from([0, 4096]))
def test_a_wish_is_served_as_far_as_the_model_was_trained(wanted: int, each: int) -> None:
    model = file(GB, trained=40_000, each=each)
    plan = plan_engine(model, wanted_tokens=wanted, memory_bytes=2 * GB)
    assert plan.context_tokens == min(wanted, 40_000)
    assert plan.cache_mib > 0


@given(st.integers(1, 1 << 64), st.integers(1, 1 << 80), st.sampled_from([0, 1 << 40]))
def test_numbers_that_no_engine_takes_are_never_asked_for(
    trained: int, each: int, wanted: int
) -> None:
    model = file(GB, trained=trained, each=each)
    plan = plan_engine(model, wanted_tokens=wanted, memory_bytes=2 * GB)
    assert 0 < plan.context_tokens <= MOST_TOKENS
    assert 0 < plan.cache_mib <= MOST_CACHE_MIB
