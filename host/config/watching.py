"""Noticing that a servers file was edited.

The file is looked at, not watched by the system: a look is one ``stat``, sees through links and
replacements of any kind, and works on every disk. A library that has the system tell (watchfiles)
would bring compiled code of its own for a file that changes once a day.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from host.config.host_config import HostConfig
from host.config.servers_file import config_in, unreadable
from host.errors import ConfigError

FRESH_SECONDS = 2.0
"""So soon after it was written a file may change once more without showing it by its time."""


def is_watchable(source: str) -> bool:
    """Whether a configuration's ``source`` is a file that can be read again: a pipe cannot."""
    return Path(source).is_file()


class ServersFileWatch:
    """Reads a servers file again whenever what stands in it has changed.

    An edit with mistakes is believed at the second look: an editor may be in the middle of
    writing, or have put the old file away before the new one is there.

    Args:
        path: links are followed at each look.
        env: where variables are read.
        clock: seconds as files' times have them.
    """

    def __init__(
        self,
        path: Path,
        *,
        env: Mapping[str, str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._env = env
        self._clock = clock
        self._seen: tuple[int, ...] = ()
        self._is_settled = False
        self._told = ""
        self._doubted = ""

    def look(self) -> HostConfig | ConfigError | None:
        """What the file says now, good or bad; None when that is no news. The first look is."""
        seen = self._stamp()
        if self._is_settled and seen == self._seen:
            return None
        self._seen = seen
        content = self._content()
        read_from = seen[0] / 1e9 if seen else 0.0
        self._is_settled = abs(self._clock() - read_from) >= FRESH_SECONDS
        known = hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else str(content)
        if known == self._told:
            self._doubted = ""
            return None
        found = self._read(content)
        if isinstance(found, ConfigError) and known != self._doubted:
            self._doubted, self._is_settled = known, False
            return None
        self._told, self._doubted = known, ""
        return found

    def _stamp(self) -> tuple[int, ...]:
        """What changes with an edit; empty where there is no file."""
        try:
            status = self._path.stat()
        except OSError:
            return ()
        times = (status.st_mtime_ns, status.st_ctime_ns)
        return (*times, status.st_size, status.st_ino, status.st_dev)

    def _content(self) -> bytes | ConfigError:
        """What is in the file; a pipe or a device in its place is not waited for."""
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
        try:
            with open(self._path, "rb", opener=lambda path, _: os.open(path, flags)) as file:
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return file.read()
        except OSError as error:
            return unreadable(self._path, error)
        return ConfigError(str(self._path), ["is no file that can be read"])

    def _read(self, content: bytes | ConfigError) -> HostConfig | ConfigError:
        if isinstance(content, ConfigError):
            return content
        try:
            return config_in(content, self._path, env=self._env)
        except ConfigError as error:
            return error
