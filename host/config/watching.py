"""Noticing that a servers file was edited.

The file is looked at, not watched by the system: a look is one ``stat``, sees through links and
replacements of any kind, and works on every disk. A library that has the system tell (watchfiles)
would bring compiled code of its own for a file that changes once a day.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from host.config.host_config import HostConfig
from host.config.servers_file import load_config
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
        written = seen[0] / 1e9 if seen else 0.0
        self._is_settled = abs(self._clock() - written) >= FRESH_SECONDS
        if content == self._told:
            self._doubted = ""
            return None
        found = self._read()
        if isinstance(found, ConfigError) and content != self._doubted:
            self._doubted, self._is_settled = content, False
            return None
        self._told, self._doubted = content, ""
        return found

    def _stamp(self) -> tuple[int, ...]:
        """What changes with an edit; empty where there is no file."""
        try:
            status = self._path.stat()
        except OSError:
            return ()
        times = (status.st_mtime_ns, status.st_ctime_ns)
        return (*times, status.st_size, status.st_ino, status.st_dev)

    def _content(self) -> str:
        try:
            return hashlib.sha256(self._path.read_bytes()).hexdigest()
        except OSError as error:
            return f"error {error.errno}"

    def _read(self) -> HostConfig | ConfigError:
        try:
            return load_config(self._path, env=self._env)
        except ConfigError as error:
            return error
