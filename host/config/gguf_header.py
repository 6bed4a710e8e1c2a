"""The beginning of a GGUF file: what kind of model it holds, and how much memory its context takes.

Read as laid down by ggml's description of the format, versions 2 and 3, little-endian: magic,
version, number of tensors, number of facts, then the facts, each a name, a type and a value.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

MAGIC = b"GGUF"
PREFIX_BYTES = 1 << 20
"""Enough of a file: what is read here stands before the vocabulary."""

MAX_KEPT_ITEMS = 4096
"""A longer array is passed over: it is no list with one item for each layer."""

KNOWN_VERSIONS = (2, 3)
_USUAL_ALIGNMENT = 32
_FORMATS = {
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
_STRING, _ARRAY = 8, 9
_BYTES_PER_NUMBER = 2
"""Keys and values are kept as 16-bit floats."""

Fact: TypeAlias = str | int | float | bool | tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    """The facts at the beginning of a GGUF file, as far as they were read."""

    version: int
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """``model``, or what else the file says it is: ``adapter``, ``mmproj``, ``imatrix``."""
        kind = self.facts.get("general.type")
        return kind if isinstance(kind, str) and kind else "model"

    @property
    def trained_context_tokens(self) -> int | None:
        """The window the model was trained for; None if it does not say."""
        return self._count("context_length")

    @property
    def context_bytes_per_token(self) -> int | None:
        """The memory one token of context takes at most; None if it cannot be told.

        Models that attend over less than all layers or tokens take less.
        """
        layers, heads = self._count("block_count"), self._count("attention.head_count")
        width = self._count("embedding_length")
        if layers is None:
            return None
        per_head = width // heads if width and heads else None
        key = self._count("attention.key_length") or per_head
        value = self._count("attention.value_length") or per_head
        kept = self._kept_heads(layers, heads)
        return kept * (key + value) * _BYTES_PER_NUMBER if kept and key and value else None

    def _kept_heads(self, layers: int, heads: int | None) -> int | None:
        """How many heads keep keys and values, over all layers."""
        kept = self._own("attention.head_count_kv")
        if isinstance(kept, tuple):
            return sum(count for count in kept if count > 0) or None
        each = self._count("attention.head_count_kv") or heads
        return layers * each if each else None

    def _count(self, name: str) -> int | None:
        value = self._own(name)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if value > 0 else None

    def _own(self, name: str) -> Fact | None:
        return self.facts.get(f"{self.facts.get('general.architecture')}.{name}")


def read_header(prefix: bytes) -> GgufHeader | None:
    """The header that a file begins with, or None for a file that is no GGUF.

    What the prefix does not hold whole, and what is damaged, is left out with all that follows.
    """
    version = _version(prefix)
    if version is None:
        return None
    facts: dict[str, Fact] = {}
    if version in KNOWN_VERSIONS:
        reader = _Reader(prefix, len(MAGIC) + 4)
        try:
            reader.number("Q")  # of tensors
            for _ in range(reader.number("Q")):
                name, value = reader.fact()
                if value is not None:
                    facts[name] = value
        except _Unreadable:
            pass
    return GgufHeader(version=version, facts=facts)


def least_size(beginning: bytes) -> int:
    """How many bytes a file has at the least that begins so.

    When the facts or the list of tensors go on behind the beginning, as many as are needed to read
    on: more than were given. Otherwise the file reaches into its last tensor. Of a damaged file,
    and one of another version, no more than was read of it.
    """
    reader = _Reader(beginning, len(MAGIC) + 4)
    alignment = _USUAL_ALIGNMENT
    try:
        if _version(beginning) not in KNOWN_VERSIONS:
            return 0
        tensors = reader.number("Q")
        for _ in range(reader.number("Q")):
            name, value = reader.fact()
            if name == "general.alignment" and isinstance(value, int) and value > 0:
                alignment = value
        last = max((reader.tensor_offset() for _ in range(tensors)), default=None)
    except _Unreadable as unreadable:
        return unreadable.needed
    if last is None:
        return reader.position
    return -(-reader.position // alignment) * alignment + last + 1


def _version(beginning: bytes) -> int | None:
    """The version of a file that begins so; None for a file that is no GGUF."""
    if not beginning.startswith(MAGIC) or len(beginning) < len(MAGIC) + 4:
        return None
    (version,) = struct.unpack_from("<I", beginning, len(MAGIC))
    return int(version)


class _Unreadable(Exception):
    """The bytes end here, or mean nothing.

    Attributes:
        needed: how many bytes would have to be there.
    """

    def __init__(self, needed: int) -> None:
        super().__init__(needed)
        self.needed = needed


class _Reader:
    """Takes one value after the other."""

    def __init__(self, written: bytes, position: int) -> None:
        self._bytes = written
        self.position = position

    def fact(self) -> tuple[str, Fact | None]:
        """A name and a value; None for an array that is not kept."""
        return self.text(), self.value(self.number("I"))

    def tensor_offset(self) -> int:
        """Where a tensor of the list begins, from the beginning of all their data on."""
        self.text()
        self._take(8 * self.number("I"))  # its dimensions
        self.number("I")
        return self.number("Q")

    def number(self, letter: str) -> int:
        """An integer of one of struct's formats."""
        return int(self._scalar(letter))

    def text(self) -> str:
        """A string with its length before it."""
        length = self.number("Q")
        return self._take(length).decode("utf-8", "replace")

    def value(self, kind: int) -> Fact | None:
        """A value; None for an array that is not kept."""
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self._array(self.number("I"), self.number("Q"))
        return self._scalar(_format(kind))

    def _array(self, kind: int, count: int) -> tuple[int, ...] | None:
        if kind == _STRING:
            self._pass_texts(count)
            return None
        letter = _format(kind)
        items = self._take(count * struct.calcsize(f"<{letter}"))
        if letter in "fd?" or count > MAX_KEPT_ITEMS:
            return None
        return struct.unpack(f"<{count}{letter}", items)

    def _scalar(self, letter: str) -> int | float | bool:
        (value,) = struct.unpack(f"<{letter}", self._take(struct.calcsize(f"<{letter}")))
        return value  # type: ignore[no-any-return]

    def _pass_texts(self, count: int) -> None:
        """Passes over a vocabulary, which takes most of the time there is to take."""
        written, at = self._bytes, self.position
        for _ in range(count):
            start = at + 8
            at = start + int.from_bytes(written[at:start], "little")
            if at > len(written):
                raise _Unreadable(max(at, start))
        self.position = at

    def _take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self._bytes):
            raise _Unreadable(end)
        taken = self._bytes[self.position : end]
        self.position = end
        return taken


def _format(kind: int) -> str:
    if kind not in _FORMATS:
        raise _Unreadable(0)
    return _FORMATS[kind]
