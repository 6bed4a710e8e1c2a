"""A file that is named as a model is looked at; what is wrong with it is one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from host.config.endpoint_choice import FileWish
from host.config.gguf_header import PREFIX_BYTES
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
    assert told.startswith(str(path))
    return told.removeprefix(str(path)).lstrip(": ")


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
    second.write_bytes(second.read_bytes()[:50])
    assert problem(first).startswith(f"its part {second.name} is cut off or damaged")
    second.unlink()
    assert problem(first) == f"lacks its part {second.name}"


def test_a_number_that_is_none_of_its_count_is_part_of_a_name(tmp_path: Path) -> None:
    assert read(write_model(tmp_path, "big-00003-of-00002.gguf")).name == "big"
    assert read(write_model(tmp_path, "big-00001-of-00000.gguf")).name == "big"


def test_what_cannot_be_a_file_s_name_or_content_is_told_and_not_waited_for(tmp_path: Path) -> None:
    pipe, newer, foreign = (tmp_path / f"{name}.gguf" for name in ("pipe", "newer", "foreign"))
    os.mkfifo(pipe)
    newer.write_bytes(gguf_bytes(SMALL_MODEL, version=4))
    foreign.write_bytes(b"GGUF\0\0\0\3" + bytes(32))
    assert problem(pipe) == "cannot be read: it is no regular file"
    assert problem(newer) == "cannot be loaded: it is GGUF of version 4, and 2 and 3 are known"
    assert "other byte order" in problem(foreign)
    assert "is not UTF-8" in problem(write_model(tmp_path, "\udcff.gguf"))
    for wrong, told in (("", "is empty"), (" ", "is empty"), ("a\0b", "is no path")):
        with pytest.raises(ConfigError, match=told):
            read_model_file(FileWish(path=wrong, name=None, origin="--gguf"))


def test_a_file_cut_anywhere_is_told_as_cut_and_one_cut_nowhere_is_read(tmp_path: Path) -> None:
    vocabulary = {"tokenizer.ggml.tokens": (STRING, ["token"] * 200_000)}
    beginning = gguf_bytes({**SMALL_MODEL, **vocabulary}, tensors={"a": 0, "b": 64})
    assert len(beginning) > PREFIX_BYTES
    whole = beginning + bytes(-len(beginning) % 32 + 65)
    path = tmp_path / "model.gguf"
    path.write_bytes(whole)
    assert read(path).size_bytes == len(whole)
    for length in (100, PREFIX_BYTES, len(beginning) - 1, len(beginning), len(whole) - 1):
        path.write_bytes(whole[:length])
        assert problem(path).startswith(f"is cut off or damaged: it has {length:,} bytes and needs")


def test_a_kind_with_odd_characters_stays_one_line(tmp_path: Path) -> None:
    odd = {**SMALL_MODEL, "general.type": (STRING, "\x1b[31mevil\n" + "x" * 200)}
    path = tmp_path / "odd.gguf"
    path.write_bytes(gguf_bytes(odd))
    told = problem(path)
    assert told.isprintable()
    assert len(told) < 120
