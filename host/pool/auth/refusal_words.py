"""Why a server lets nobody in, and what a person can do, as clauses without their subject."""

from __future__ import annotations

import shlex

from host.pool.auth.challenges import Challenge
from host.pool.auth.not_authorised import NotAuthorised

MAX_WORDS_CHARS = 300


def login_command(server_id: str) -> str:
    """What a person types to log in to a server."""
    return shlex.join(["agent-host", "login", server_id])


def needs_login(server_id: str, challenge: Challenge, *, has_login: bool) -> NotAuthorised:
    """Why a request was not let in while nobody may be asked.

    Args:
        has_login: there was a login, which is no longer good.
    """
    command = f"`{login_command(server_id)}`"
    if challenge.is_step_up:
        wanted = f'the scope "{challenge.scope}"' if challenge.scope else "more scopes"
        words = f"answered HTTP 403; it wants {wanted}: run {command}"
        return NotAuthorised(words, needs_person=True)
    if has_login:
        words = f"answered HTTP 401; its login is no longer good: run {command}"
    else:
        words = (
            f"answered HTTP 401; it wants authorisation: run {command}, "
            "or give its row an Authorization header"
        )
    return NotAuthorised(words, needs_person=True, ends_session=has_login)


def not_taken(server_id: str, status: int, *, is_machine: bool) -> NotAuthorised:
    """Why a request was not let in with tokens that had just been given.

    Args:
        is_machine: they are the client's own; no person can get better ones.
    """
    words = f"answered HTTP {status} to tokens that its authorization server has just given"
    if not is_machine:
        words += f": run `{login_command(server_id)}`"
    return NotAuthorised(words, needs_person=not is_machine, ends_session=True, is_final=True)


def short(text: str) -> str:
    """The text on one line, cut."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_WORDS_CHARS else line[: MAX_WORDS_CHARS - 1] + "…"
