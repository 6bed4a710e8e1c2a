"""How problems with arguments name their place: ``filter.tags[2]``."""

from __future__ import annotations

from typing import TypeAlias

from host.text.json_text import compact_json

Path: TypeAlias = tuple[str | int, ...]

ROOT: Path = ()
MAX_PREVIEW_CHARS = 40


def shown_path(path: Path) -> str:
    """The path as JavaScript would write it; ``arguments`` for the whole."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".") or "arguments"


def problem_at(path: Path, text: str) -> str:
    """One problem: where, in backticks, and what."""
    return f"`{shown_path(path)}` {text}"


def preview(value: object, max_chars: int = MAX_PREVIEW_CHARS) -> str:
    """The value as compact JSON, cut with an ellipsis; never raises."""
    try:
        text = compact_json(value)
    except (ValueError, TypeError):
        text = repr(value) if isinstance(value, float) else f"({type(value).__name__})"
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
