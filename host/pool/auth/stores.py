"""Where logins are kept: one file that only its owner may read, secrets in the keyring if it can.

The file says which servers there are logins of, so that a keyring, which may want to be unlocked,
is asked only where somebody has logged in.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import anyio
import anyio.to_thread

from host.pool.auth.credentials import Credentials, credentials_json, read_credentials
from host.pool.whole_file import replace_file
from host.pool.xdg_folders import xdg_folder

SERVICE = "mcp-agent-host"
"""What our entries in a keyring are called."""

MEMORY_ONLY = "memory only"
"""Where credentials are that could not be kept."""

KEYRING_SECONDS = 20.0

T = TypeVar("T")
_VERSION = 1
_IN_KEYRING = {"in": "keyring"}


class CredentialStore(Protocol):
    """Keeps credentials under names. Nothing of it raises for what disk or keyring do."""

    async def load(self, name: str) -> Credentials | None:
        """What is kept under a name; None for nothing, or nothing that can be read."""

    async def save(self, name: str, credentials: Credentials) -> str:
        """Keep these under a name, and say where, in words that follow "in"; or ``MEMORY_ONLY``."""

    async def forget(self, name: str) -> None:
        """Keep nothing under the name any more."""


class Keyring(Protocol):
    """The three functions of the package ``keyring`` that are used."""

    def get_password(self, service: str, name: str, /) -> str | None: ...

    def set_password(self, service: str, name: str, password: str, /) -> None: ...

    def delete_password(self, service: str, name: str, /) -> None: ...


def credentials_name(server_id: str, url: str) -> str:
    """What a server's credentials are kept under; another address is another server."""
    return f"{server_id} {hashlib.sha256(url.encode()).hexdigest()[:16]}"


def credentials_file() -> Path:
    """The user's own file: ``agent-host/credentials.json`` in ``XDG_DATA_HOME``."""
    folder = xdg_folder(os.environ, "XDG_DATA_HOME", Path.home() / ".local" / "share")
    return folder / "agent-host" / "credentials.json"


def system_keyring() -> Keyring | None:
    """The operating system's keyring; None where there is none, or none that keeps secrets well."""
    try:
        keyring = importlib.import_module("keyring")
        if keyring.get_keyring().priority < 1:  # what the package calls not recommended
            return None
    except Exception:  # noqa: BLE001 - containment: backends raise what they like when they load
        return None
    found: Keyring = keyring
    return found


class UserStore:
    """The store of one user.

    Args:
        path: of the file.
        find_keyring: called when a secret is first kept or read; None from it for no keyring.
        on_notice: hears level and text: once why the file is used, and what cannot be written.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        find_keyring: Callable[[], Keyring | None] = system_keyring,
        on_notice: Callable[[str, str], None] = lambda _, __: None,
    ) -> None:
        self._path = path or credentials_file()
        self._find_keyring = find_keyring
        self._on_notice = on_notice
        self._told = False
        self._writing = anyio.Lock()

    async def load(self, name: str) -> Credentials | None:
        """See ``CredentialStore``."""
        if not self._path.exists():
            return None
        kept = (await anyio.to_thread.run_sync(_read_file, self._path)).get(name)
        if kept != _IN_KEYRING:
            return read_credentials(kept)
        text = await self._asked(lambda ring: ring.get_password(SERVICE, name), default=None)
        try:
            return read_credentials(json.loads(text or ""))
        except ValueError:
            return None

    async def save(self, name: str, credentials: Credentials) -> str:
        """See ``CredentialStore``."""
        written = credentials_json(credentials)

        def keep(ring: Keyring) -> bool:
            ring.set_password(SERVICE, name, json.dumps(written))
            return True

        is_in_keyring = await self._asked(keep, default=False)
        kept = _IN_KEYRING if is_in_keyring else written
        async with self._writing:
            try:
                await anyio.to_thread.run_sync(_change_file, self._path, name, kept)
            except OSError as error:
                self._on_notice(
                    "warning", f"the login lasts for this run only: {_words(error, self._path)}"
                )
                return MEMORY_ONLY
        return "the keyring of this system" if is_in_keyring else str(self._path)

    async def forget(self, name: str) -> None:
        """See ``CredentialStore``."""
        if not self._path.exists():
            return
        async with self._writing:
            try:
                kept = await anyio.to_thread.run_sync(_change_file, self._path, name, None)
            except OSError as error:
                self._on_notice(
                    "warning", f"the login could not be forgotten: {_words(error, self._path)}"
                )
                return
        if kept == _IN_KEYRING:
            await self._asked(lambda ring: ring.delete_password(SERVICE, name), default=None)

    async def _asked(self, ask: Callable[[Keyring], T], *, default: T) -> T:
        """What the keyring answers; ``default`` when it does not."""

        def asked() -> tuple[T, str, str]:
            ring = self._find_keyring()
            if ring is None:
                return default, "info", "there is no keyring here"
            try:
                return ask(ring), "", ""
            except Exception as error:  # noqa: BLE001 - containment: see system_keyring
                return default, "warning", f"the keyring failed ({type(error).__name__})"

        answer, level, problem = default, "warning", "the keyring does not answer"
        with anyio.move_on_after(KEYRING_SECONDS):
            answer, level, problem = await anyio.to_thread.run_sync(asked, abandon_on_cancel=True)
        if problem and not self._told:
            self._told = True
            where = f"{self._path}, which only its owner can read"
            self._on_notice(level, f"{problem}; logins are kept in {where}")
        return answer


def _words(error: OSError, path: Path) -> str:
    return f"{path}: {error.strerror or type(error).__name__}"


def _read_file(path: Path) -> dict[str, Any]:
    """The entries; {} for a file that is not there, or says nothing that we wrote."""
    try:
        return _entries(path.read_bytes()) or {}
    except OSError:
        return {}


def _entries(written: bytes) -> dict[str, Any] | None:
    """The entries of a file of ours; None for any other."""
    try:
        found = json.loads(written)
        servers = found["servers"] if found["version"] == _VERSION else None
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return servers if isinstance(servers, dict) else None


def _change_file(path: Path, name: str, kept: dict[str, Any] | None) -> Any:
    """Put an entry into the file, or take it out; what stood there before.

    A file that is damaged, or of another version, is put aside and not lost.

    Raises:
        OSError: the file cannot be read or written; it stays as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _alone(path):
        written = path.read_bytes() if path.exists() else b""
        servers = _entries(written)
        if servers is None:
            if written:
                os.replace(path, _aside(path))
            servers = {}
        before = servers.pop(name, None)
        if kept is not None:
            servers[name] = kept
        text = json.dumps({"version": _VERSION, "servers": servers}, indent=1)
        replace_file(path, text.encode())
    return before


def _aside(path: Path) -> Path:
    names = (path.with_suffix(f".damaged{number or ''}") for number in itertools.count())
    return next(name for name in names if not name.exists())


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes of ours from changing the file meanwhile, where the system can."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(path.with_suffix(".lock"), "w", opener=_private) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
