"""A file that is named as a model is looked at; what is wrong with it is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.config.endpoint_choice import FileWish
from host.config.model_file import ModelFile, read_model_file
from host.errors import ConfigError
from tests.fakes.gguf import SMALL_MODEL, STRING, gguf_bytes, write_model


def read(path: Path, name: str | None = None) -> ModelFile:
    return read_model_file(FileWish(path=str(path), name=name, origin="--gguf"))


def problem(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read(path)
    (told,) = caught.value.problems
    assert caught.value.source == "--gguf"
    assert told.startswith(f"{path} ")
    return told.removeprefix(f"{path} ")


def test_a_model_is_called_as_its_file_unless_somebody_names_it(tmp_path: Path) -> None:
    path = write_model(tmp_path, "smol-135m.Q4_1.gguf")
    file = read(path)
    assert (file.path, file.name) == (path, "smol-135m.Q4_1")
    assert file.size_bytes == path.stat().st_size
    assert file.header.trained_context_tokens == 8192
    assert read(path, "smol").name == "smol"


def test_what_is_no_model_is_told_as_what_it_is(tmp_path: Path) -> None:
    text, adapter = tmp_path / "notes.txt", tmp_path / "lora.gguf"
    text.write_text("GGU")
    adapter.write_bytes(gguf_bytes({**SMALL_MODEL, "general.type": (STRING, "adapter")}))
    assert problem(tmp_path / "none.gguf") == "does not exist"
    assert problem(text) == 'is not a GGUF file: it does not begin with "GGUF"'
    assert problem(tmp_path) == "cannot be read: Is a directory"
    assert problem(adapter) == "holds no model: it says it is of the kind adapter"


def test_the_parts_of_a_large_model_count_together_and_must_all_be_there(tmp_path: Path) -> None:
    first, second = (write_model(tmp_path, f"big-0000{n}-of-00002.gguf") for n in (1, 2))
    file = read(first)
    assert file.name == "big"
    assert file.size_bytes == first.stat().st_size + second.stat().st_size
    second.unlink()
    assert problem(first) == f"lacks its part {second.name}"
