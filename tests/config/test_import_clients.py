"""A client is found however a person spells it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.import_clients import (
    CLAUDE_CODE,
    CLIENTS,
    GEMINI,
    LM_STUDIO,
    VSCODE,
    Client,
    client_named,
)
from host.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "client"),
    [
        ("claude-code", CLAUDE_CODE),
        ("Claude Code", CLAUDE_CODE),
        ("lmstudio", LM_STUDIO),
        ("LM_Studio", LM_STUDIO),
        ("VS Code", VSCODE),
        ("vs-code", VSCODE),
        ("gemini-cli", GEMINI),
        ("gemini", GEMINI),
        ("", None),
        ("code", None),
        ("servers.json", None),
        ("all", None),
    ],
)
def test_a_client_has_its_id_and_its_name(text: str, client: Client | None) -> None:
    assert client_named(text) == client


def test_a_beginning_that_two_share_is_told() -> None:
    with pytest.raises(ConfigError, match="claude-desktop or claude-code"):
        client_named("claude")


@given(
    client=st.sampled_from(CLIENTS),
    by_name=st.booleans(),
    between=st.sampled_from(["", "-", "_", " ", "."]),
    upper=st.booleans(),
)
def test_case_and_separators_do_not_count(
    client: Client, by_name: bool, between: str, upper: bool
) -> None:
    text = between.join(client.name.split() if by_name else client.id.split("-"))
    assert client_named(text.upper() if upper else text) == client


def test_ids_are_told_apart() -> None:
    assert len({client.id for client in CLIENTS}) == len(CLIENTS) == 10
