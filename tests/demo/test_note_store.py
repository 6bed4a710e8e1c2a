from __future__ import annotations

from pathlib import Path

import pytest

from host.demo import notebook
from host.demo.note_store import FILE_NAME, NoteStore
from host.demo.notebook import Notebook
from host.demo.refusal import Refused


def test_a_note_is_there_for_the_next_store_on_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    store = NoteStore(folder)
    assert store.load() == Notebook()
    note = store.save(notebook.with_note(store.load(), "title", "text é"))
    assert NoteStore(folder).load().notes == (note,)


def test_a_damaged_file_is_reported_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    file.write_bytes(b"\xff not json")
    with pytest.raises(Refused, match="cannot be read"):
        NoteStore(tmp_path).load()
    assert file.read_bytes() == b"\xff not json"


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x")
    with pytest.raises(Refused, match="cannot be written"):
        NoteStore(blocked / "inner").save(notebook.with_note(Notebook(), "t", "x"))


def test_a_lone_surrogate_survives_the_disk(tmp_path: Path) -> None:
    store = NoteStore(tmp_path)
    store.save(notebook.with_note(store.load(), "t", "a\ud800b"))
    assert store.load().notes[0].text == "a\ud800b"
