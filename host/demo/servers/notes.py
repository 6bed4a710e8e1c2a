"""Notes kept in a folder; also what the demonstration's hooks use as a memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mcp.server.lowlevel import Server

from host.demo import notebook
from host.demo.note_store import NoteStore
from host.demo.notebook import Note
from host.demo.servers.bundled import BundledTool, bundled_server
from host.demo.tool_arguments import Parameter

MAX_LISTED_NOTES = 100
_MAX_EXCERPT_CHARS = 300
_NUMBER = Parameter(name="id", type="integer", description="the number of the note")


def notes_server(store: NoteStore) -> Server:
    """The notes server on a store."""
    return bundled_server(
        "notes",
        "Notes that stay on disk. Look with search_notes or list_notes, then read_note.",
        (*_reading_tools(store), *_changing_tools(store), *_memory_tools(store)),
    )


def _reading_tools(store: NoteStore) -> tuple[BundledTool, ...]:
    def list_notes() -> str:
        return _lines(store.load().notes, _named) or "There are no notes yet."

    def read_note(id: int) -> str:  # noqa: A002 - the argument's name in the tool's schema
        note = notebook.find_note(store.load(), id)
        return f"{note.title}\n\n{note.text}"

    def search_notes(query: str) -> str:
        return _lines(notebook.matching(store.load(), query), _found) or "No note matches."

    return (
        BundledTool(
            name="list_notes",
            description="Lists the numbers and titles of all notes.",
            run=list_notes,
        ),
        BundledTool(
            name="read_note",
            description="Shows one note.",
            parameters=(_NUMBER,),
            run=read_note,
        ),
        BundledTool(
            name="search_notes",
            description="Finds the notes that contain all words of a query.",
            parameters=(_text("query", "one or more words"),),
            run=search_notes,
        ),
    )


def _changing_tools(store: NoteStore) -> tuple[BundledTool, ...]:
    def add_note(title: str, text: str) -> str:
        note = store.save(notebook.with_note(store.load(), title, text))
        return f"Saved as note {_named(note)}"

    def delete_note(id: int) -> str:  # noqa: A002 - as above
        return f"Deleted note {_named(store.save(notebook.without_note(store.load(), id)))}"

    return (
        BundledTool(
            name="add_note",
            description="Saves a note.",
            parameters=(_text("title", "a few words"), _text("text", "what to remember")),
            effect="adds",
            run=add_note,
        ),
        BundledTool(
            name="delete_note",
            description="Deletes one note for good.",
            parameters=(_NUMBER,),
            effect="deletes",
            run=delete_note,
        ),
    )


def _memory_tools(store: NoteStore) -> tuple[BundledTool, ...]:
    def recall(prompt: str) -> str:
        return _lines(notebook.recalled(store.load(), prompt), _recollection)

    def remember(prompt: str, reply: str) -> str:
        note = store.save(notebook.with_memory(store.load(), prompt, reply))
        return f"Remembered as note {note.id}"

    return (
        BundledTool(
            name="recall",
            description="Finds the notes and past answers that bear on a question.",
            parameters=(_text("prompt", "the question"),),
            run=recall,
        ),
        BundledTool(
            name="remember",
            description="Keeps a question and its answer for later.",
            parameters=(_text("prompt", "the question"), _text("reply", "the answer")),
            effect="adds",
            run=remember,
        ),
    )


def _text(name: str, what: str) -> Parameter:
    return Parameter(name=name, type="string", description=what)


def _lines(notes: Sequence[Note], show: Callable[[Note], str]) -> str:
    """One line for each note, the newest ``MAX_LISTED_NOTES`` of them."""
    older = len(notes) - MAX_LISTED_NOTES
    head = [f"({older} older ones are left out: search_notes finds them.)"] if older > 0 else []
    return "\n".join(head + [show(note) for note in notes[-MAX_LISTED_NOTES:]])


def _named(note: Note) -> str:
    return f"{note.id}: {note.title}" + (" (remembered)" if note.kind == "memory" else "")


def _found(note: Note) -> str:
    return f"{_named(note)} - {_excerpt(note)}"


def _recollection(note: Note) -> str:
    if note.kind == "memory":
        return f'- Asked earlier: "{note.title}" Answered: {_excerpt(note)}'
    return f"- {note.title}: {_excerpt(note)}"


def _excerpt(note: Note) -> str:
    line = " ".join(note.text.split())
    return line if len(line) <= _MAX_EXCERPT_CHARS else line[: _MAX_EXCERPT_CHARS - 1] + "…"
