"""Other clients' files read from disk, and servers written into ours without losing anything."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from host.config.import_bodies import ImportedServer, RefusedServer, imported_server
from host.config.import_clients import Client
from host.config.import_env_file import env_file_variables
from host.config.import_places import Place, Platform, Surroundings
from host.config.import_reading import ClientFile, read_client_file
from host.config.import_text import ServersText
from host.errors import ConfigError
from host.pool.whole_file import replace_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the files at some places hold.

    Attributes:
        files: those that are there and can be read.
        problems: those that are there and cannot.
    """

    files: tuple[ClientFile, ...]
    problems: tuple[ConfigError, ...]


def surroundings(folder: Path, env: Mapping[str, str]) -> Surroundings:
    """This machine, with a folder as the project at hand."""
    platforms: dict[str, Platform] = {"darwin": "macos", "win32": "windows"}
    return Surroundings(
        home=str(Path.home()),
        env=env,
        platform=platforms.get(sys.platform, "linux"),
        folder=str(folder.absolute()),
    )


def read_places(places: Iterable[Place], around: Surroundings, *, named: bool = False) -> Findings:
    """Reads the files that are there, in the order of the places.

    Args:
        named: they were asked for by their paths.
    """
    files: list[ClientFile] = []
    problems: list[ConfigError] = []
    refused: dict[Client, frozenset[str]] = {}
    for place in places:
        try:
            text = _text_of(Path(place.path))
            if text is None:
                continue
            known = refused.get(place.client, frozenset())
            file = read_client_file(text, place, around, named=named, refused=known)
        except ConfigError as error:
            problems.append(error)
            continue
        refused[place.client] = known | file.refused
        files.append(file)
    return Findings(files=tuple(files), problems=tuple(problems))


def imported_servers(
    files: Iterable[ClientFile], around: Surroundings
) -> tuple[list[ImportedServer], list[RefusedServer]]:
    """The servers of the files in our terms, and those that have none; reads their env files."""
    taken: list[ImportedServer] = []
    refused: list[RefusedServer] = []
    for file in files:
        for server in file.servers:
            result = imported_server(server, around, _env_file)
            if isinstance(result, ImportedServer):
                taken.append(result)
            else:
                refused.append(result)
    return taken, refused


def _env_file(path: str) -> Mapping[str, str] | None:
    with contextlib.suppress(ConfigError):
        text = _text_of(Path(path))
        return None if text is None else env_file_variables(text)
    return None


def _text_of(path: Path) -> str | None:
    content = _content(path)
    if content is None:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), ["is not UTF-8 text; save it as UTF-8"]) from error


def _content(path: Path) -> bytes | None:
    """What is in the file, None for no file; a pipe or a device is not waited for."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigError(str(path), ["is no file that can be read"])
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(str(path), [f"cannot be read: {reason}"]) from error


class ServersFile:
    """A servers file to be added to, as it was when it was read; it need not be there yet."""

    def __init__(self, path: Path) -> None:
        """Reads it.

        Raises:
            ConfigError: it cannot be read, or has no place for servers.
        """
        self._path = path.resolve()  # a link stays a link
        self._before = _content(self._path)
        text = _text_of(self._path) if self._before is not None else ""
        self.text = ServersText.read(text or "", str(path))

    def add(self, servers: Mapping[str, object]) -> Path | None:
        """Puts the servers after those that are there, in one step.

        Returns:
            Where the file as it was has been kept; None when there was none, or nothing to add.

        Raises:
            ConfigError: it cannot be written, or was changed since it was read.
        """
        if not servers:
            return None
        after = self.text.with_servers(servers).encode()
        try:
            if _content(self._path) != self._before:
                raise ConfigError(self.text.source, ["was changed meanwhile; import once more"])
            self._path.parent.mkdir(parents=True, exist_ok=True)
            mode = 0o600
            kept = None
            if self._before is not None:
                mode = stat.S_IMODE(self._path.stat().st_mode)
                kept = _keep(self._path, self._before, mode)
            replace_file(self._path, after, mode=mode)
        except OSError as error:
            problem = f"cannot be written: {error.strerror or error}"
            raise ConfigError(self.text.source, [problem]) from error
        return kept


def _keep(path: Path, content: bytes, mode: int) -> Path:
    """Writes a copy beside the file, under a name that no earlier copy has."""
    for number in count(1):
        kept = path.with_name(path.name + (".bak" if number == 1 else f".bak{number}"))
        with contextlib.suppress(FileExistsError), open(kept, "xb", opener=_private) as copy:
            copy.write(content)
            copy.flush()
            os.fsync(copy.fileno())
            kept.chmod(mode)
            return kept
    raise AssertionError("names do not end")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
