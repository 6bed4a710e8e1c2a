from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from host.demo import notebook
from host.demo.note_store import FILE_NAME, NoteStore
from host.demo.notebook import Notebook
from host.demo.servers.notes import MAX_LISTED_NOTES, notes_server
from tests.demo.servers.fleet import answer


async def test_notes_are_saved_listed_read_found_and_deleted(tmp_path: Path) -> None:
    async with Client(notes_server(NoteStore(tmp_path))) as client:
        assert await answer(client, "list_notes") == ("There are no notes yet.", False)
        saved = await answer(client, "add_note", title=" Shopping  list ", text="milk\neggs")
        assert saved == ("Saved as note 1: Shopping list", False)
        await answer(client, "add_note", title="Trip", text="Paris in May")
        assert await answer(client, "list_notes") == ("1: Shopping list\n2: Trip", False)
        assert await answer(client, "read_note", id=1) == ("Shopping list\n\nmilk\neggs", False)
        assert await answer(client, "search_notes", query="EGG") == (
            "1: Shopping list - milk eggs",
            False,
        )
        assert await answer(client, "search_notes", query="tofu") == ("No note matches.", False)
        assert await answer(client, "delete_note", id=1) == (
            "Deleted note 1: Shopping list",
            False,
        )
        assert await answer(client, "list_notes") == ("2: Trip", False)


async def test_what_was_remembered_is_recalled_for_a_question_like_it(tmp_path: Path) -> None:
    async with Client(notes_server(NoteStore(tmp_path))) as client:
        assert await answer(client, "recall", prompt="How far is Paris?") == ("", False)
        asked = "How far is Paris from Berlin?"
        assert await answer(client, "remember", prompt=asked, reply="878 km") == (
            "Remembered as note 1",
            False,
        )
        await answer(client, "add_note", title="Paris", text="x" * 400)
        text, _ = await answer(client, "recall", prompt="And how far is Paris from Berlin by car?")
        memory, note = text.splitlines()
        assert memory == f'- Asked earlier: "{asked}" Answered: 878 km'
        assert note == f"- Paris: {'x' * 299}…"
        assert await answer(client, "list_notes") == (
            f"1: {asked} (remembered)\n2: Paris",
            False,
        )


async def test_a_long_list_of_notes_shows_the_newest_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    store, held = NoteStore(tmp_path), Notebook()
    for number in range(MAX_LISTED_NOTES + 2):
        held, note = notebook.with_note(held, f"note {number + 1}", "x")
        store.save((held, note))
    async with Client(notes_server(store)) as client:
        text, _ = await answer(client, "list_notes")
    head, first, *rest = text.splitlines()
    assert head.startswith("(2 older ones are left out")
    assert first == "3: note 3"
    assert len(rest) == MAX_LISTED_NOTES - 1


@pytest.mark.parametrize(
    ("tool", "arguments", "hint"),
    [
        ("add_note", {"title": "", "text": "x"}, "1 to 120 characters"),
        ("read_note", {"id": 5}, "There is no note 5"),
        ("read_note", {"id": "5"}, "(integer)"),
        ("delete_note", {"id": 5}, "There is no note 5"),
        ("search_notes", {"query": "?"}, "at least one word"),
        ("remember", {"prompt": "p", "reply": " "}, "not blank"),
    ],
)
async def test_notes_refuses(
    tool: str, arguments: dict[str, Any], hint: str, tmp_path: Path
) -> None:
    async with Client(notes_server(NoteStore(tmp_path))) as client:
        text, is_error = await answer(client, tool, **arguments)
    assert is_error
    assert hint in text


async def test_a_damaged_file_is_told_and_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("{broken")
    async with Client(notes_server(NoteStore(tmp_path))) as client:
        for tool, arguments in (("list_notes", {}), ("add_note", {"title": "t", "text": "x"})):
            text, is_error = await answer(client, tool, **arguments)
            assert is_error
            assert "cannot be read" in text
    assert (tmp_path / FILE_NAME).read_text() == "{broken"
