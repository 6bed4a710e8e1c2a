"""The servers file of a command, read before anything heavy is imported."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from host.config import HostConfig, find_servers_file, load_config, with_overrides
from host.text.terminal_text import one_line


def read_config(arguments: argparse.Namespace) -> HostConfig:
    """The configuration a command works with; its notices go to stderr.

    Raises:
        ConfigError: there is no servers file, or it has mistakes.
    """
    path = find_servers_file(arguments.config, env=os.environ, home=Path.home())
    config = load_config(path, env=os.environ)
    if not getattr(arguments, "quiet", False):
        for notice in config.notices:
            sys.stderr.write(f"{one_line(notice)}\n")
    return with_discovery(config, arguments)


def with_discovery(config: HostConfig, arguments: argparse.Namespace) -> HostConfig:
    """The configuration with the way of discovery that a command's flag names, if it does."""
    mode = getattr(arguments, "discovery", None)
    return config if mode is None else with_overrides(config, {"discovery": mode})
