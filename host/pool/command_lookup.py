"""Where a row's command is, or a sentence that says why it is nowhere."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path


class CommandProblem(Exception):
    """A row's command cannot be started; the text names the command or folder and the remedy."""


def find_command(command: str, *, env: Mapping[str, str], cwd: str | None = None) -> str:
    """The path of the program to start.

    A bare name is looked up beside the running interpreter first, so that ``python`` and our own
    console scripts work from an environment that is not activated (design §8), and then on the
    child's own ``PATH``. A name with a separator is taken from ``cwd``.

    Raises:
        CommandProblem: ``cwd`` is no folder, or the command is empty, missing, a folder or not
            executable.
    """
    folder = working_folder(cwd)
    if not command.strip():
        raise CommandProblem('the command is empty; set "command" to a program')
    if os.path.dirname(command):
        return _checked(command, (folder or Path()) / Path(command).expanduser())
    beside = str(Path(sys.executable).parent)
    search_path = os.pathsep.join((beside, env.get("PATH", os.defpath)))
    found = shutil.which(command, path=search_path)
    if found is None:
        raise CommandProblem(_not_found(command, search_path))
    return found


def working_folder(cwd: str | None) -> Path | None:
    """The folder a row's child starts in; None for our own.

    Raises:
        CommandProblem: it does not exist, or is no folder.
    """
    if not cwd:
        return None
    folder = Path(cwd).expanduser()
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise CommandProblem(f'the working folder "{cwd}" {what}; create it or change "cwd"')
    return folder


def start_problem(error: Exception) -> str:
    """Why the system would not start a program that is there and executable."""
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return "it is no program of this system; a script begins with a line such as #!/bin/sh"
    if isinstance(error, FileNotFoundError):
        return "the interpreter that its first line names is not there"
    return getattr(error, "strerror", None) or str(error)


def _checked(command: str, path: Path) -> str:
    if not path.exists():
        raise CommandProblem(f'the command "{command}" does not exist; check the path')
    if path.is_dir():
        raise CommandProblem(f'the command "{command}" is a folder; name the program inside it')
    if not os.access(path, os.X_OK):
        raise CommandProblem(f'the command "{command}" is not executable; try chmod +x')
    return str(path.absolute())


def _not_found(command: str, search_path: str) -> str:
    for folder in search_path.split(os.pathsep):
        candidate = Path(folder or ".") / command
        if candidate.is_dir():
            return f'the command "{command}" is a folder ({candidate}); name a program'
        if candidate.is_file():
            return f'the command "{command}" is not executable ({candidate}); try chmod +x'
    return f'the command "{command}" was not found; install it or give its full path'
