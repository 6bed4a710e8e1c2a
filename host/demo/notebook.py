"""A notebook as a value: its notes, its file format, what is found in it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from host.demo.refusal import Refused, listed, shown

MAX_NOTES = 2000
MAX_MEMORIES = 200
MAX_TITLE_CHARS = 120
MAX_TEXT_CHARS = 20_000
MAX_RECALLED = 3
FORMAT = "agent-host-notes"
VERSION = 1

NoteKind = Literal["note", "memory"]

_WORD = re.compile(r"\w+")
_COMMON_WORDS = frozenset(
    _WORD.findall(
        "about and any are but can did does for from had has have how into its many much not now "
        "one our out please she should tell than that the them then there they this was were what "
        "when where which who why will with would you your"
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One note; a ``memory`` is an exchange that a hook remembered: its prompt and its reply."""

    id: int
    title: str
    text: str
    kind: NoteKind = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook:
    """Notes in the order they were added; ``next_id`` was never used before."""

    notes: tuple[Note, ...] = ()
    next_id: int = 1


def read_notebook(text: str) -> Notebook:
    """The notebook a file holds; an empty file is an empty notebook.

    Raises:
        Refused: the text is not what ``notebook_text`` writes.
    """
    if not text.strip():
        return Notebook()
    try:
        held = json.loads(text)
        if held["format"] != FORMAT or held["version"] != VERSION:
            raise ValueError("another format or version")
        notes = tuple(_read_note(entry) for entry in held["notes"])
        next_id = held["nextId"]
        if type(next_id) is not int:
            raise TypeError("nextId is not a number")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Refused(f"The notes file cannot be read ({shown(str(error))}).") from None
    ids = [note.id for note in notes]
    if len(set(ids)) < len(ids) or any(id_ >= next_id for id_ in ids):
        raise Refused("The notes file cannot be read (its note numbers clash).")
    return Notebook(notes=notes, next_id=next_id)


def notebook_text(notebook: Notebook) -> str:
    """The notebook as JSON text; ``read_notebook`` reads it back unchanged."""
    entries = [
        {"id": note.id, "kind": note.kind, "title": note.title, "text": note.text}
        for note in notebook.notes
    ]
    whole = {
        "format": FORMAT,
        "version": VERSION,
        "nextId": notebook.next_id,
        "notes": entries,
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def with_note(notebook: Notebook, title: str, text: str) -> tuple[Notebook, Note]:
    """The notebook with a note more, and that note.

    Raises:
        Refused: title or text is blank or too long, or the notebook is full.
    """
    if len([note for note in notebook.notes if note.kind == "note"]) >= MAX_NOTES:
        raise Refused(f"There are {MAX_NOTES} notes already: delete some first.")
    return _added(notebook, _line(title), text, "note")


def with_memory(notebook: Notebook, prompt: str, reply: str) -> tuple[Notebook, Note]:
    """The notebook with an exchange more, and the note it became; the oldest ones give way.

    Raises:
        Refused: prompt or reply is blank.
    """
    title = _line(prompt)
    if len(title) > MAX_TITLE_CHARS:
        title = title[: MAX_TITLE_CHARS - 1] + "…"
    memories = [note for note in notebook.notes if note.kind == "memory"]
    spent = set(memories[: max(0, len(memories) - MAX_MEMORIES + 1)])
    kept = tuple(note for note in notebook.notes if note not in spent)
    return _added(replace(notebook, notes=kept), title, reply[:MAX_TEXT_CHARS], "memory")


def without_note(notebook: Notebook, id_: int) -> tuple[Notebook, Note]:
    """The notebook without that note, and the note.

    Raises:
        Refused: there is no such note.
    """
    gone = find_note(notebook, id_)
    kept = tuple(note for note in notebook.notes if note.id != id_)
    return replace(notebook, notes=kept), gone


def find_note(notebook: Notebook, id_: int) -> Note:
    """The note of that number.

    Raises:
        Refused: there is none; the text names the nearest numbers.
    """
    for note in notebook.notes:
        if note.id == id_:
            return note
    near = sorted((note.id for note in notebook.notes), key=lambda known: abs(known - id_))[:3]
    remedy = f"the nearest is {listed(map(str, near))}" if near else "there are no notes yet"
    raise Refused(f"There is no note {id_}: {remedy}.")


def matching(notebook: Notebook, query: str) -> list[Note]:
    """The notes that hold every word of the query, part words included, oldest first.

    Raises:
        Refused: the query holds no word.
    """
    words = _WORD.findall(query.casefold())
    if not words:
        raise Refused("The query must hold at least one word to look for.")
    return [note for note in notebook.notes if all(word in _folded(note) for word in words)]


def recalled(notebook: Notebook, prompt: str) -> list[Note]:
    """The notes that share most telling words with a prompt, best first, newest among equals.

    Three at most; none when no note shares a word of three letters that is not a common one.
    """
    asked = _telling_words(prompt)
    shared = {note: len(asked & _telling_words(_folded(note))) for note in notebook.notes}
    ranked = sorted(shared, key=lambda note: (-shared[note], -note.id))
    return [note for note in ranked[:MAX_RECALLED] if shared[note]]


def _added(notebook: Notebook, title: str, text: str, kind: NoteKind) -> tuple[Notebook, Note]:
    for name, value, limit in (("title", title, MAX_TITLE_CHARS), ("text", text, MAX_TEXT_CHARS)):
        if not value.strip() or len(value) > limit:
            raise Refused(f"The {name} must be 1 to {limit} characters and not blank.")
    note = Note(id=notebook.next_id, title=title, text=text.strip(), kind=kind)
    return Notebook(notes=(*notebook.notes, note), next_id=note.id + 1), note


def _read_note(entry: Any) -> Note:
    id_, kind, title, text = entry["id"], entry["kind"], entry["title"], entry["text"]
    right = type(id_) is int and isinstance(title, str) and isinstance(text, str)
    if not right or kind not in ("note", "memory"):
        raise ValueError("a note of another shape")
    return Note(id=id_, title=title, text=text, kind=kind)


def _line(text: str) -> str:
    return " ".join(text.split())


def _folded(note: Note) -> str:
    return f"{note.title}\n{note.text}".casefold()


def _telling_words(text: str) -> set[str]:
    words = set(_WORD.findall(text.casefold()))
    return {word for word in words if len(word) > 2} - _COMMON_WORDS
