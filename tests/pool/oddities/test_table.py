"""The table of oddities has every one, each with an answer, and each test here has its place."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.absence import shared
from tests.architecture import ROOT
from tests.pool.oddities_table import ANSWERS

_ID = re.compile(r"^\| ([A-G][0-9]+) \|", re.MULTILINE)


def test_every_oddity_has_an_answer() -> None:
    written = _ID.findall(shared("fleet", "oddities.md").read_text("utf-8"))
    assert len(written) > 100
    assert sorted(written) == sorted(ANSWERS)


@pytest.mark.parametrize("oddity", ANSWERS)
def test_an_answer_is_tests_that_exist_or_one_sentence(oddity: str) -> None:
    answer = ANSWERS[oddity]
    assert answer.tests or answer.reason
    assert [name for name in answer.tests if not _exists(name)] == []
    if answer.reason:
        assert re.fullmatch(r"[A-Z][^.]+\.", answer.reason)


def test_every_test_beside_this_one_answers_one_oddity() -> None:
    folder = Path(__file__).parent
    here = [
        f"pool.oddities.{path.stem.removeprefix('test_')}.{name}"
        for path in folder.glob("test_*.py")
        if path != Path(__file__)
        for name in _tests_of(path)
    ]
    named = Counter(name for answer in ANSWERS.values() for name in answer.tests)
    assert len(here) > 50
    assert {name: named[name] for name in here} == dict.fromkeys(here, 1)


def _exists(name: str) -> bool:
    *rooms, module, test = name.split(".")
    path = ROOT.joinpath("tests", *rooms, f"test_{module}.py")
    return path.exists() and test in _tests_of(path)


def _tests_of(path: Path) -> list[str]:
    tree = ast.parse(path.read_text("utf-8"))
    functions = (
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return [name.removeprefix("test_") for name in functions if name.startswith("test_")]
