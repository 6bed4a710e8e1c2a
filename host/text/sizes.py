"""Sizes as people write them. Source: pool spec §10 "Rendering", design §8 "Rendering"."""

from __future__ import annotations

_KILOBYTE = 1024
_MEGABYTE = 1024 * 1024


def size_text(size_bytes: int) -> str:
    """Bytes below 1 KB, whole KB below 1 MB, then MB with one decimal; halves round up."""
    if size_bytes < _KILOBYTE:
        return "1 byte" if size_bytes == 1 else f"{size_bytes} bytes"
    if size_bytes < _MEGABYTE:
        return f"{(size_bytes + _KILOBYTE // 2) // _KILOBYTE} KB"
    whole, tenths = divmod((size_bytes * 10 + _MEGABYTE // 2) // _MEGABYTE, 10)
    return f"{whole}.{tenths} MB"
