"""The question to the selecting model, and its answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.catalogue_text import catalogue_list
from host.catalogue.preselection import (
    PRESELECT_SCHEMA,
    preselect_input,
    preselect_system,
    preselection,
)
from host.records import CatalogueServer
from tests.catalogue.catalogues import ASKED, CATALOGUES, DISK, MAIL

BOTH = [MAIL, DISK]


def test_the_schema_is_a_list_of_names_that_nobody_can_change() -> None:
    assert json.loads(json.dumps(PRESELECT_SCHEMA)) == {
        "type": "object",
        "properties": {"tools": {"type": "array", "items": {"type": "string"}}},
        "required": ["tools"],
        "additionalProperties": False,
    }
    with pytest.raises(TypeError):
        PRESELECT_SCHEMA["required"].append("more")


def test_the_system_prompt_states_every_rule() -> None:
    system = preselect_system(7)
    for said in ("exactly", "at most 7", "as few as possible", '"tools"', '{"tools": []}', "else"):
        assert said in system
    assert "at most 12" in preselect_system()


@given(CATALOGUES, st.text(alphabet="ab\n#é", max_size=40), st.integers(-1, 40))
def test_the_input_is_the_list_then_the_head_of_the_request(
    catalogue: list[CatalogueServer], prompt: str, max_chars: int
) -> None:
    text = preselect_input(catalogue, prompt, max_chars=max_chars)
    before, _, request = text.partition("\n\n# Request\n")
    assert before.endswith(catalogue_list(catalogue))
    assert request == prompt[: max(0, max_chars)]
    assert "load_tools" not in text


def test_two_thousand_characters_of_the_request_count() -> None:
    assert preselect_input(BOTH, "x" * 3000).endswith("\n" + "x" * 2000)


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        ({"tools": ["mail__send", "nothing", 3, "write"]}, ["mail__send", "disk__write"]),
        ({"tools": ["mail__send", "mail__send"]}, ["mail__send"]),
        ({"tools": ["*"]}, []),
        ({"tools": []}, []),
        ({"tools": "mail__send"}, []),
        ({"names": ["mail__send"]}, []),
        (["mail__send"], []),
        ("mail__send", []),
        (None, []),
    ],
)
def test_only_the_asked_shape_counts(reply: object, names: list[str]) -> None:
    assert preselection(reply, BOTH) == names


@given(ASKED, CATALOGUES, st.integers(1, 4))
def test_a_choice_holds_catalogued_names_up_to_the_limit(
    asked: list[str], catalogue: list[CatalogueServer], cap: int
) -> None:
    names = preselection({"tools": asked}, catalogue, max_per_load=cap)
    assert len(names) <= cap
    assert len(set(names)) == len(names)
    assert set(names) <= {tool.name for row in catalogue for tool in row.tools}
