"""Commands are found beside the interpreter, then on the child's PATH; problems name themselves."""

from __future__ import annotations

import errno
import shutil
import sys
from pathlib import Path

import pytest

from host.pool.command_lookup import (
    CommandProblem,
    find_command,
    start_problem,
    working_folder,
)


def program(folder: Path, name: str, mode: int = 0o755) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_a_bare_command_is_found_beside_the_interpreter_first(tmp_path: Path) -> None:
    name = Path(sys.executable).name
    program(tmp_path, name)
    found = find_command(name, env={"PATH": str(tmp_path)})
    assert Path(found).parent == Path(sys.executable).parent


def test_a_bare_command_is_looked_up_on_the_path_of_the_row(tmp_path: Path) -> None:
    path = program(tmp_path, "some-server")
    assert find_command("some-server", env={"PATH": str(tmp_path)}) == str(path)


def test_without_a_path_the_system_has_one() -> None:
    assert find_command("sh", env={}) == shutil.which("sh", path="/bin:/usr/bin")


def test_a_path_is_taken_from_the_working_folder(tmp_path: Path) -> None:
    path = program(tmp_path, "server")
    assert find_command("./server", env={}, cwd=str(tmp_path)) == str(path)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("  ", "empty"),
        ("no-such-server", '"no-such-server" was not found'),
        ("plain-file", '"plain-file" is not executable'),
        ("folder", '"folder" is a folder'),
        ("./gone", '"./gone" does not exist'),
        ("./folder", '"./folder" is a folder'),
        ("./plain-file", '"./plain-file" is not executable'),
    ],
)
def test_a_command_that_cannot_be_used_is_named(tmp_path: Path, command: str, words: str) -> None:
    program(tmp_path, "plain-file", 0o644)
    (tmp_path / "folder").mkdir()
    with pytest.raises(CommandProblem) as problem:
        find_command(command, env={"PATH": str(tmp_path)}, cwd=str(tmp_path))
    assert words in str(problem.value)


@pytest.mark.parametrize(("name", "words"), [("gone", "does not exist"), ("file", "not a folder")])
def test_a_working_folder_that_is_none_is_named(tmp_path: Path, name: str, words: str) -> None:
    program(tmp_path, "file")
    with pytest.raises(CommandProblem, match=words) as problem:
        working_folder(str(tmp_path / name))
    assert name in str(problem.value)


@pytest.mark.parametrize("cwd", [None, ""])
def test_no_working_folder_is_ours(cwd: str | None) -> None:
    assert working_folder(cwd) is None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOEXEC, "Exec format error"), "#!/bin/sh"),
        (FileNotFoundError(errno.ENOENT, "No such file"), "the interpreter that its first line"),
        (PermissionError(errno.EPERM, "Operation not permitted"), "Operation not permitted"),
        (ValueError("embedded null byte"), "embedded null byte"),
    ],
)
def test_what_the_system_will_not_start_says_why(error: Exception, words: str) -> None:
    assert words in start_problem(error)
