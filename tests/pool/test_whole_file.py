"""A file changes as a whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from host.pool.whole_file import replace_file


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_content_takes_the_files_place_with_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "kept.json"
    for content in (b"one", b"another"):
        replace_file(path, content, mode=mode)
        assert path.read_bytes() == content
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_on_the_way_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
