"""A notebook kept in a folder."""

from __future__ import annotations

from pathlib import Path

from host.demo.atomic_file import replace_text
from host.demo.notebook import Note, Notebook, notebook_text, read_notebook
from host.demo.refusal import Refused, shown

FILE_NAME = "notes.json"


class NoteStore:
    """Reads the folder's notebook afresh for every use and replaces it whole.

    A file that cannot be read is reported and never written over.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def load(self) -> Notebook:
        """The notebook on disk; an empty one while there is no file.

        Raises:
            Refused: the file cannot be read as a notebook.
        """
        try:
            return read_notebook(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Notebook()
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"The notes file cannot be read ({shown(str(error))}).") from error

    def save(self, changed: tuple[Notebook, Note]) -> Note:
        """Writes the changed notebook and returns the note that changed.

        Raises:
            Refused: the folder cannot be written to.
        """
        notebook, note = changed
        try:
            replace_text(self.path, notebook_text(notebook))
        except OSError as error:
            raise Refused(f"The notes file cannot be written ({shown(str(error))}).") from error
        return note
