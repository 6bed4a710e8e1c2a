"""Puts a scripted engine in the place of xllamacpp, for programs that are started from here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FOLDER = str(Path(__file__).parent)
FATE = "FAKE_ENGINE_FATE"
DIARY = "FAKE_ENGINE_DIARY"


def engine_environment(fate: str = "", diary: Path | None = None) -> dict[str, str]:
    """Variables under which a program finds the scripted engine.

    Args:
        fate: what becomes of it (``xllamacpp.py``); "" for nothing bad.
        diary: where it writes what it was told.
    """
    paths = [FOLDER, os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths)), FATE: fate, DIARY: str(diary or "")}


def told(diary: Path) -> dict[str, Any]:
    """What the engine was told."""
    parameters: dict[str, Any] = json.loads(diary.read_text("utf-8"))
    return parameters
