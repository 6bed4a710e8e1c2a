"""What flags accept, in argparse's terms: the value, or a line that says what is wrong."""

from __future__ import annotations

import argparse


def web_address(text: str) -> str:
    """The address, if it is one.

    Raises:
        ArgumentTypeError: it has no scheme or no host; says how one looks.
    """
    scheme, _, rest = text.strip().partition("://")
    if scheme.lower() not in ("http", "https") or not rest.strip("/"):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no address; write something like http://localhost:8080/v1"
        )
    return text.strip()


def at_least_one(text: str) -> int:
    """The whole number, if it is 1 or more.

    Raises:
        ArgumentTypeError: it is not.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def positive_seconds(text: str) -> float:
    """The number of seconds, if it is a finite one above 0.

    Raises:
        ArgumentTypeError: it is not.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds
