"""Writes a file so that a reader, or a crash, finds the old text or the new, never half of it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Replaces the file's text (UTF-8) in one step, making its folder where it is missing.

    A lone surrogate is written as its JSON escape.

    Raises:
        OSError: folder or file cannot be written; the old file is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    written, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(written, "wb") as file:
            file.write(text.encode("utf-8", errors="backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
