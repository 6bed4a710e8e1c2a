"""Where a user's files are, as the XDG base directory specification has it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def xdg_folder(env: Mapping[str, str], variable: str, usual: Path) -> Path:
    """The folder that the variable names, else the usual one.

    A relative value counts for nothing: files would land wherever the program was started.
    """
    named = Path(env.get(variable, ""))
    return named if named.is_absolute() else usual
