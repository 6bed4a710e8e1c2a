"""GGUF files that begin as real ones do, and hold nothing."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

STRING, ARRAY = 8, 9
FORMATS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}

Written = str | int | float | bool | list[int] | list[str]

SMALL_MODEL: Mapping[str, tuple[int, Written]] = {
    "general.architecture": (STRING, "tiny"),
    "general.type": (STRING, "model"),
    "tiny.context_length": (4, 8192),
    "tiny.block_count": (4, 2),
    "tiny.embedding_length": (4, 64),
    "tiny.attention.head_count": (4, 4),
    "tiny.attention.head_count_kv": (4, 2),
}
"""A token of its context takes 2 layers x 2 heads x (16 + 16) numbers x 2 bytes."""


def gguf_bytes(
    facts: Mapping[str, tuple[int, Written]],
    *,
    version: int = 3,
    tensors: Mapping[str, int] | None = None,
) -> bytes:
    """A file with these facts: name -> type and value; a list is an array of that type.

    Args:
        tensors: name -> offset, each of 4 x 4 floats; their data is left to whoever writes it.
    """
    tensors = tensors or {}
    whole = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(facts))
    for name, (kind, value) in facts.items():
        whole += _text(name)
        if isinstance(value, list):
            whole += struct.pack("<IIQ", ARRAY, kind, len(value))
            whole += b"".join(_value(kind, item) for item in value)
        else:
            whole += struct.pack("<I", kind) + _value(kind, value)
    for name, offset in tensors.items():
        whole += _text(name) + struct.pack("<IQQIQ", 2, 4, 4, 0, offset)
    return whole


def write_model(folder: Path, name: str = "tiny.gguf") -> Path:
    """Writes a file that passes for a small model."""
    path = folder / name
    path.write_bytes(gguf_bytes(SMALL_MODEL))
    return path


def _text(text: str) -> bytes:
    written = text.encode()
    return struct.pack("<Q", len(written)) + written


def _value(kind: int, value: object) -> bytes:
    return _text(str(value)) if kind == STRING else struct.pack(f"<{FORMATS[kind]}", value)
