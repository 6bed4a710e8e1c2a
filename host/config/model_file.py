"""A model in a file of this machine, looked at before anything is started for it."""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from host.config.endpoint_choice import FileWish
from host.config.gguf_header import (
    KNOWN_VERSIONS,
    MAGIC,
    PREFIX_BYTES,
    GgufHeader,
    least_size,
    read_header,
)
from host.errors import ConfigError
from host.text.terminal_text import one_line
from host.text.truncation import preview

_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
"""How llama.cpp names the files that a large model is cut into."""

MAX_BEGINNING_BYTES = 1 << 26
"""A file that seems to have a longer one is left to the engine; no vocabulary is that long."""

MAX_KIND_CHARS = 40

_SWAPPED = 1 << 16
"""A version from here on has its bytes in the other order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A GGUF file that can be read.

    Attributes:
        name: what the model is called in requests and receipts.
        size_bytes: of all its parts.
        origin: the flag or field that names it, for what there is to mend.
    """

    path: Path
    name: str
    size_bytes: int
    header: GgufHeader = field(repr=False)
    origin: str

    def refused(self, problem: str) -> ConfigError:
        """The error for a file that whoever named it has to mend or replace."""
        return ConfigError(self.origin, [f"{self.path} {problem}"])


def read_model_file(wish: FileWish) -> ModelFile:
    """What a file named as a model says about itself.

    Raises:
        ConfigError: it is not there, cannot be read, is no GGUF, is cut off or holds no model.
    """
    if not wish.path.strip():
        raise ConfigError(wish.origin, ["is empty; name a model's file"])
    path = Path(wish.path)
    try:
        str(path.absolute()).encode()
        parts = [_Part.read(part) for part in _parts(path)]
    except (OSError, ValueError) as error:
        raise ConfigError(wish.origin, [_why_unread(path, error)]) from error
    for part in parts:
        if problem := part.problem:
            which = path if part.path == path else f"{path}: its part {part.path.name}"
            raise ConfigError(wish.origin, [f"{which} {problem}"])
    header = next(part.header for part in parts if part.path == path)
    assert header is not None  # that would have been a problem
    size = sum(part.size_bytes for part in parts)
    name = wish.name or _stem(path)
    file = ModelFile(path=path, name=name, size_bytes=size, header=header, origin=wish.origin)
    if header.kind != "model":
        kind = preview(one_line(header.kind), MAX_KIND_CHARS)
        raise file.refused(f"holds no model: it says it is of the kind {kind}")
    return file


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One file of a model, as it was found.

    Attributes:
        least_bytes: what it must have by its own words.
    """

    path: Path
    size_bytes: int
    header: GgufHeader | None
    least_bytes: int

    @classmethod
    def read(cls, path: Path) -> _Part:
        """Reads its beginning; a pipe or a device is an OSError and is not waited for."""
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        with path.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            beginning = opened.read(PREFIX_BYTES)
            header = read_header(beginning)
            while len(beginning) < (least := least_size(beginning)) <= MAX_BEGINNING_BYTES:
                further = opened.read(max(least, 3 * len(beginning)))
                if not further:
                    break
                beginning += further
        return cls(path=path, size_bytes=size, header=header, least_bytes=least)

    @property
    def problem(self) -> str:
        """Why it cannot be loaded, as a clause without subject; "" for no reason known yet."""
        if self.header is None:
            return f'is not a GGUF file: it does not begin with "{MAGIC.decode()}"'
        version = self.header.version
        if version >= _SWAPPED:
            return "cannot be loaded: it was written for machines of the other byte order"
        if version not in KNOWN_VERSIONS:
            known = " and ".join(map(str, KNOWN_VERSIONS))
            return f"cannot be loaded: it is GGUF of version {version}, and {known} are known"
        if self.size_bytes < self.least_bytes:
            have, need = f"{self.size_bytes:,}", f"{self.least_bytes:,}"
            return f"is cut off or damaged: it has {have} bytes and needs at least {need}"
        return ""


def _why_unread(path: Path, error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError():
            there = Path(error.filename or path)
            return f"{path} " + (
                "does not exist" if there == path else f"lacks its part {there.name}"
            )
        case OSError():
            return f"{path} cannot be read: {error.strerror or error}"
        case UnicodeEncodeError():
            return f"{path} has a name that is not UTF-8, which no engine opens; rename it"
        case _:
            return f"{str(path)!r} is no path: {error}"


def _stem(path: Path) -> str:
    part = _PART.fullmatch(path.name)
    return part["stem"] if part else path.name.removesuffix(".gguf")


def _parts(path: Path) -> list[Path]:
    part = _PART.fullmatch(path.name)
    numbers = range(1, int(part["count"]) + 1) if part else ()
    if part is None or int(part["number"]) not in numbers:
        return [path]
    return [
        path.with_name(f"{part['stem']}-{number:05}-of-{part['count']}.gguf") for number in numbers
    ]
