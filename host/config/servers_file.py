"""Finding the servers file and reading it from disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from host.config.host_config import HostConfig
from host.config.reading import read_servers
from host.errors import ConfigError
from host.pool.xdg_folders import xdg_folder

FILE_NAME = "servers.json"


def find_servers_file(
    named: str | None, *, env: Mapping[str, str], home: Path, folder: Path = Path()
) -> Path | None:
    """The file to read, or None when none was named and none of the usual ones is there.

    Usual are ``./servers.json`` and ``agent-host/servers.json`` in the user's configuration
    folder (``XDG_CONFIG_HOME``, else ``~/.config``).
    """
    if named is not None:
        return Path(named)
    settings = xdg_folder(env, "XDG_CONFIG_HOME", home / ".config")
    usual = (folder / FILE_NAME, settings / "agent-host" / FILE_NAME)
    return next((path for path in usual if path.is_file()), None)


def load_config(path: Path | None, *, env: Mapping[str, str]) -> HostConfig:
    """The configuration in a servers file.

    Raises:
        ConfigError: there is no file, it cannot be read, or it has mistakes.
    """
    if path is None:
        remedy = "write one (servers.example.json is a start) or name one with --config"
        raise ConfigError(FILE_NAME, [f"there is none here nor in ~/.config/agent-host; {remedy}"])
    try:
        written = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    return config_in(written, path, env=env)


def config_in(written: bytes, path: Path, *, env: Mapping[str, str]) -> HostConfig:
    """The configuration that a file's content stands for.

    Raises:
        ConfigError: it is no text, or has mistakes.
    """
    try:
        text = written.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), ["is not UTF-8 text; save it as UTF-8"]) from error
    return read_servers(text, str(path), env)


def unreadable(path: Path, error: OSError) -> ConfigError:
    """Why a file could not be read."""
    if isinstance(error, FileNotFoundError):
        return ConfigError(str(path), ["there is no such file"])
    return ConfigError(str(path), [f"cannot be read: {error.strerror}"])
