"""Saved listings as files of one folder, for their owner's eyes alone. Source: issue 5."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from host.pool.saved_listings import SavedListing, read_saved_listing, saved_listing_text
from host.pool.whole_file import replace_file
from host.pool.xdg_folders import xdg_folder

MAX_BYTES = 64 << 20
"""A larger file is no listing of ours."""

UNUSED_SECONDS = 90 * 86_400.0
"""How long a listing that nobody asks for is kept."""

_DAY_SECONDS = 86_400.0
_DIGEST = re.compile("[0-9a-f]{64}")


class ListingFiles:
    """A ``ToolsCache`` with a file for each connection, named by its digest.

    A file is replaced as a whole or not at all, and written by mode 0600 into a folder of mode
    0700. Files that were not read for three months are removed when another one is saved.

    Attributes:
        folder: made when something is saved.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    @classmethod
    def of_user(cls, env: Mapping[str, str], home: Path) -> ListingFiles:
        """Files in the user's cache folder (``XDG_CACHE_HOME``, else ``~/.cache``)."""
        cache = xdg_folder(env, "XDG_CACHE_HOME", home / ".cache")
        return cls(cache / "agent-host" / "listings")

    def load(self, server_id: str, connection: str) -> SavedListing | None:
        """The listing saved for the connection; None when there is none.

        Raises:
            ValueError: the file is damaged, somebody else's, or no listing.
            OSError: it cannot be read.
        """
        try:
            return read_saved_listing(_own_bytes(self._path(connection)))
        except FileNotFoundError:
            return None

    async def save(self, server_id: str, listing: SavedListing) -> None:
        """Keeps the listing in place of the one before it, in a thread.

        Raises:
            ValueError: it cannot be written as JSON.
            OSError: it cannot be saved.
        """
        text = saved_listing_text(listing)
        await anyio.to_thread.run_sync(self._write, self._path(listing.connection), text)

    def _path(self, connection: str) -> Path:
        if not _DIGEST.fullmatch(connection):
            raise ValueError("a listing is saved under a digest only")
        return self.folder / f"{connection}.json"

    def _write(self, path: Path, text: bytes) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(self.folder.stat().st_mode) & 0o077:
            self.folder.chmod(0o700)
        replace_file(path, text)
        self._tidy()

    def _tidy(self) -> None:
        for path in self.folder.iterdir():
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - UNUSED_SECONDS:
                    path.unlink()


def _own_bytes(path: Path) -> bytes:
    """What stands in a plain file of ours, which from now on counts as read today."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        facts = os.fstat(file.fileno())
        is_ours = not hasattr(os, "geteuid") or facts.st_uid == os.geteuid()
        if not stat.S_ISREG(facts.st_mode) or not is_ours or facts.st_size > MAX_BYTES:
            raise ValueError("it is not of this program's making")
        text = file.read()
    if facts.st_mtime < time.time() - _DAY_SECONDS:
        with suppress(OSError):
            os.utime(path)
    return text
