from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.demo import notebook
from host.demo.notebook import Note, Notebook
from host.demo.refusal import Refused

TITLES = st.text(alphabet='ab"\\\n \té…\x00\x85', min_size=1, max_size=30).filter(str.strip)
TEXTS = st.text(min_size=1, max_size=60).filter(str.strip)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["note", "memory", "delete"]), TITLES, TEXTS), max_size=8
)


def played(changes: list[tuple[str, str, str]]) -> Notebook:
    """A notebook after adding notes and memories and deleting the oldest."""
    held = Notebook()
    for kind, title, text in changes:
        if kind == "delete":
            if held.notes:
                held, _ = notebook.without_note(held, held.notes[0].id)
            continue
        add = notebook.with_note if kind == "note" else notebook.with_memory
        held, _ = add(held, title, text)
    return held


@given(CHANGES)
def test_a_notebook_is_read_back_as_it_was_written(changes: list[tuple[str, str, str]]) -> None:
    held = played(changes)
    assert notebook.read_notebook(notebook.notebook_text(held)) == held


@given(CHANGES)
def test_a_number_is_never_used_again(changes: list[tuple[str, str, str]]) -> None:
    ids: list[int] = []
    held = Notebook()
    for kind, title, text in changes:
        if kind == "delete" and held.notes:
            held, _ = notebook.without_note(held, held.notes[-1].id)
        elif kind != "delete":
            held, note = notebook.with_note(held, title, text)
            ids.append(note.id)
    assert ids == list(range(1, len(ids) + 1))


@given(CHANGES, st.lists(st.text(alphabet="abé", min_size=1, max_size=3), min_size=1, max_size=3))
def test_a_search_finds_exactly_the_notes_that_hold_every_word(
    changes: list[tuple[str, str, str]], words: list[str]
) -> None:
    held = played(changes)
    found = notebook.matching(held, " ".join(words))
    expected = [
        note
        for note in held.notes
        if all(word in f"{note.title}\n{note.text}".casefold() for word in words)
    ]
    assert found == expected


WORDS = st.lists(st.sampled_from(["miles", "paris", "Metric", "units", "the", "is"]), max_size=5)


@given(st.lists(WORDS.filter(bool), max_size=6), WORDS)
def test_what_is_recalled_shares_most_telling_words(
    texts: list[list[str]], asked: list[str]
) -> None:
    """Oracle: count shared words by hand and compare with everything that was left out."""
    held = Notebook()
    for words in texts:
        held, _ = notebook.with_note(held, "t", " ".join(words))
    telling = {word.casefold() for word in asked} - {"the", "is"}
    scores = {n: len(telling & set(n.text.casefold().split())) for n in held.notes}
    recalled = notebook.recalled(held, " ".join(asked))
    assert len(recalled) == min(3, sum(score > 0 for score in scores.values()))
    assert all(scores[note] for note in recalled)
    left_out = [scores[note] for note in held.notes if note not in recalled]
    assert min((scores[note] for note in recalled), default=9) >= max(left_out, default=0)


def test_the_newest_of_equally_fitting_notes_come_first() -> None:
    held = Notebook()
    for title in ("one", "two", "three", "four"):
        held, _ = notebook.with_note(held, title, "miles")
    assert [n.title for n in notebook.recalled(held, "Miles?")] == ["four", "three", "two"]


def test_nothing_is_recalled_for_common_and_short_words() -> None:
    held, _ = notebook.with_note(Notebook(), "what is it", "the of to we")
    assert notebook.recalled(held, "What is the of to we?") == []


def test_an_empty_file_is_an_empty_notebook() -> None:
    assert notebook.read_notebook(" \n") == Notebook()


def _file(**changes: Any) -> str:
    held, _ = notebook.with_note(Notebook(), "t", "x")
    return json.dumps({**json.loads(notebook.notebook_text(held)), **changes})


NOTE = {"id": 1, "kind": "note", "title": "t", "text": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        _file(format="other"),
        _file(version=2),
        _file(nextId="2"),
        _file(nextId=1),
        _file(notes=[NOTE, NOTE]),
        _file(notes=[{**NOTE, "id": True}]),
        _file(notes=[{**NOTE, "kind": "diary"}]),
        _file(notes=[{**NOTE, "text": None}]),
        _file(notes=[{"id": 1}]),
        _file(notes=5),
    ],
)
def test_a_file_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        notebook.read_notebook(text)


@pytest.mark.parametrize(
    ("title", "text", "reason"),
    [
        (" ", "x", "The title must be 1 to 120 characters and not blank."),
        ("t" * 121, "x", "The title must be"),
        ("t", " \n", "The text must be 1 to 20000 characters and not blank."),
        ("t", "x" * 20_001, "The text must be"),
    ],
)
def test_a_blank_or_overlong_note_is_refused(title: str, text: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        notebook.with_note(Notebook(), title, text)


def test_a_full_notebook_takes_no_more_notes_but_still_remembers() -> None:
    notes = tuple(Note(id=i, title="t", text="x") for i in range(1, notebook.MAX_NOTES + 1))
    full = Notebook(notes=notes, next_id=notebook.MAX_NOTES + 1)
    with pytest.raises(Refused, match="delete some first"):
        notebook.with_note(full, "t", "x")
    _, memory = notebook.with_memory(full, "p", "r")
    assert memory.kind == "memory"


def test_the_oldest_memories_give_way_and_notes_stay() -> None:
    held, _ = notebook.with_note(Notebook(), "keep", "x")
    for count in range(notebook.MAX_MEMORIES + 2):
        held, _ = notebook.with_memory(held, f"p{count}", "r")
    assert [n.title for n in held.notes[:2]] == ["keep", "p2"]
    assert len(held.notes) == 1 + notebook.MAX_MEMORIES


def test_a_long_prompt_is_cut_to_a_title() -> None:
    _, memory = notebook.with_memory(Notebook(), "word " * 100, "r")
    assert len(memory.title) == notebook.MAX_TITLE_CHARS
    assert memory.title.endswith("…")


def test_a_missing_note_is_refused_with_the_nearest_numbers() -> None:
    held = Notebook()
    with pytest.raises(Refused, match="There is no note 7: there are no notes yet"):
        notebook.find_note(held, 7)
    for _ in range(5):
        held, _ = notebook.with_note(held, "t", "x")
    with pytest.raises(Refused, match="There is no note 7: the nearest is 5, 4 or 3"):
        notebook.without_note(held, 7)


def test_a_query_without_a_word_is_refused() -> None:
    with pytest.raises(Refused, match="at least one word"):
        notebook.matching(Notebook(), " ?! ")
