"""What the arguments of a command line are, as far as that tells where secrets stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from host.text.secret_forms import is_telling_name

_ASSIGNED = re.compile(r"(?P<name>-{0,2}[A-Za-z][\w.-]*)(?P<mark>=|:\s*)(?P<value>.+)", re.DOTALL)
_GIVES_VARIABLES = ("-e", "--env")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument, in two pieces.

    Attributes:
        kind: what the second piece is: a ``secret`` by its name, the value of a ``variable`` or of
            a ``header``, an ``address``, or ``plain``.
        start: the first piece, ``--token=``; "" where the argument is all value.
        name: what names the value; "" where nothing does.
        value: the second piece.
    """

    kind: Literal["secret", "variable", "header", "address", "plain"]
    start: str = ""
    name: str = ""
    value: str


def read_arguments(args: Iterable[str]) -> Iterator[Argument]:
    """Each argument, read with the one before it."""
    before = ""
    for argument in args:
        yield read_argument(argument, before)
        before = argument


def read_argument(argument: str, before: str = "") -> Argument:
    """The argument, read with the one before it ("" for none)."""
    is_awaited = before.startswith("-") and "=" not in before and is_telling_name(before)
    if is_awaited and not argument.startswith("-"):
        return Argument(kind="secret", name=before, value=argument)
    if "://" in argument.partition("=")[0].partition(" ")[0]:
        return Argument(kind="address", value=argument)
    parts = _ASSIGNED.fullmatch(argument)
    if parts is None:
        return Argument(kind="plain", value=argument)
    name, mark, value = parts["name"], parts["mark"], parts["value"]
    start = f"{name}{mark}"
    if mark == "=":
        inner = _ASSIGNED.fullmatch(value)
        if inner and (name in _GIVES_VARIABLES or "header" in name.lower()):
            kind: Literal["variable", "header"] = "variable" if inner["mark"] == "=" else "header"
            start += f"{inner['name']}{inner['mark']}"
            return Argument(kind=kind, start=start, name=inner["name"], value=inner["value"])
        if is_telling_name(name):
            return Argument(kind="secret", start=start, name=name, value=value)
        if before in _GIVES_VARIABLES:
            return Argument(kind="variable", start=start, name=name, value=value)
    elif "header" in before.lower() or before == "-H" or is_telling_name(name):
        return Argument(kind="header", start=start, name=name, value=value)
    if "://" in value:
        return Argument(kind="address", start=start, name=name, value=value)
    return Argument(kind="plain", value=argument)
