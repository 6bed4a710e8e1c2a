"""Finding the servers file and reading it from disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from host.config.host_config import HostConfig
from host.config.reading import read_servers
from host.errors import ConfigError

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
    settings = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
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
        text = path.read_text("utf-8")
    except FileNotFoundError as error:
        raise ConfigError(str(path), ["there is no such file"]) from error
    except OSError as error:
        raise ConfigError(str(path), [f"cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), ["is not UTF-8 text; save it as UTF-8"]) from error
    return read_servers(text, str(path), env)
