"""Whoever is turned away is told what to type."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.auth.challenges import Challenge
from host.pool.auth.refusal_words import (
    MAX_WORDS_CHARS,
    login_command,
    needs_login,
    not_taken,
    short,
)

IDS = st.text(st.sampled_from("ab \"'$;-é"), min_size=1, max_size=8)
REFUSED = Challenge(status=401)
STEP_UP = Challenge(status=403, error="insufficient_scope", scope="write")


@given(server_id=IDS, has_login=st.booleans(), step_up=st.booleans())
def test_the_command_that_helps_names_the_server_for_a_shell(
    server_id: str, has_login: bool, step_up: bool
) -> None:
    error = needs_login(server_id, STEP_UP if step_up else REFUSED, has_login=has_login)
    command = re.search("`(.*)`", error.words)
    assert command is not None
    assert shlex.split(command[1]) == ["agent-host", "login", server_id]
    assert error.needs_person
    assert error.ends_session is (has_login and not step_up)


def test_what_is_wanted_is_named() -> None:
    assert 'it wants the scope "write"' in needs_login("a", STEP_UP, has_login=True).words
    vague = Challenge(status=403, error="insufficient_scope")
    assert "it wants more scopes" in needs_login("a", vague, has_login=True).words
    first = needs_login("a", REFUSED, has_login=False).words
    assert "it wants authorisation" in first
    assert "Authorization header" in first
    assert "no longer good" in needs_login("a", REFUSED, has_login=True).words


@pytest.mark.parametrize("is_machine", [False, True])
def test_new_tokens_that_are_refused_are_a_persons_matter_only_if_a_person_gave_them(
    is_machine: bool,
) -> None:
    error = not_taken("a", 401, is_machine=is_machine)
    assert error.needs_person is not is_machine
    assert (login_command("a") in error.words) is not is_machine
    assert error.again().words == error.words


@given(st.text(st.sampled_from("ab \n\t"), max_size=2 * MAX_WORDS_CHARS))
def test_short_words_are_one_line_and_begin_as_the_text_does(text: str) -> None:
    line = short(text)
    assert len(line) <= MAX_WORDS_CHARS
    assert "\n" not in line
    assert " ".join(text.split()).startswith(line.removesuffix("…"))
