"""The command line: ``main`` reads the arguments, everything heavy is imported by its command."""

from host.cli.main import main

__all__ = ["main"]
