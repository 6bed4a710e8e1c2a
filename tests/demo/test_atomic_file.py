from __future__ import annotations

import os
from pathlib import Path

import pytest

from host.demo.atomic_file import replace_text


def test_the_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "a.json"
    replace_text(file, "old")
    replace_text(file, "new é")
    assert file.read_text("utf-8") == "new é"
    assert os.listdir(file.parent) == ["a.json"]


def test_a_failed_replacement_leaves_no_half_written_file(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.mkdir()
    (target / "inside").write_text("x")
    with pytest.raises(OSError, match=r"a\.json"):
        replace_text(target, "new")
    assert os.listdir(tmp_path) == ["a.json"]
