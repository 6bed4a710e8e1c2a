"""A model in a file of this machine, looked at before anything is started for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from host.config.endpoint_choice import FileWish
from host.config.gguf_header import MAGIC, PREFIX_BYTES, GgufHeader, read_header
from host.errors import ConfigError

_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
"""How llama.cpp names the files that a large model is cut into."""


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
        ConfigError: it is not there, cannot be read, is no GGUF or holds no model.
    """
    path = Path(wish.path)
    try:
        parts = _parts(path)
        size = sum(part.stat().st_size for part in parts)
        with path.open("rb") as opened:
            prefix = opened.read(PREFIX_BYTES)
    except FileNotFoundError as error:
        there = Path(error.filename or path)
        problem = "does not exist" if there == path else f"lacks its part {there.name}"
        raise ConfigError(wish.origin, [f"{path} {problem}"]) from error
    except OSError as error:
        raise ConfigError(wish.origin, [f"{path} cannot be read: {error.strerror}"]) from error
    header = read_header(prefix)
    if header is None:
        begins = f'it does not begin with "{MAGIC.decode()}"'
        raise ConfigError(wish.origin, [f"{path} is not a GGUF file: {begins}"])
    name = wish.name or _stem(path)
    file = ModelFile(path=path, name=name, size_bytes=size, header=header, origin=wish.origin)
    if header.kind != "model":
        raise file.refused(f"holds no model: it says it is of the kind {header.kind}")
    return file


def _stem(path: Path) -> str:
    part = _PART.fullmatch(path.name)
    return part["stem"] if part else path.name.removesuffix(".gguf")


def _parts(path: Path) -> list[Path]:
    part = _PART.fullmatch(path.name)
    if part is None:
        return [path]
    numbers = range(1, int(part["count"]) + 1)
    return [
        path.with_name(f"{part['stem']}-{number:05}-of-{part['count']}.gguf") for number in numbers
    ]
