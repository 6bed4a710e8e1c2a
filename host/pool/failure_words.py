"""Why a dial or a call failed, in words: what the SDK raised, made readable.

All texts are clauses without their subject ("exited with code 3"), for whoever names the server.
Secrets are taken out before anything is cut: half of one would not be found afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR
from pydantic import ValidationError

from host.errors import PoolError
from host.pool.command_lookup import CommandProblem
from host.pool.message_text import UNREADABLE
from host.text.redaction import Redactor

if TYPE_CHECKING:
    from host.pool.http_containment import ExchangeNote

MAX_WORDS_CHARS = 300

_STAND_INS = ("Server returned an error response", "Session terminated", "Not Found")
"""What the SDK says where the body of an HTTP error held no JSON-RPC error."""

_UNPARSED = ("Failed to parse JSON response", "Failed to parse SSE message")
"""How the SDK begins where the body of an answer was no message; then its validator speaks."""

_ADVICE = {
    401: "it wants authorisation; check the row's headers",
    403: "it denies access; check the row's headers",
    404: "nothing is there; check the row's url",
    405: "it does not speak this transport; check the row's url",
    429: "it is asked too often",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why something failed: one line, and the child's last words ("" for none)."""

    text: str
    detail: str = ""


def leaf(error: BaseException) -> BaseException:
    """The first error that is no group of errors (sdk.md §1: the SDK nests them)."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def is_closed(error: BaseException) -> bool:
    """Whether the error only says that the connection is gone; servers use the code as well."""
    return (
        isinstance(error, MCPError)
        and error.code == CONNECTION_CLOSED
        and error.message == "Connection closed"
    )


def dial_failure(
    error: BaseException,
    note: ExchangeNote,
    *,
    end_note: str,
    last_words: str,
    redactor: Redactor,
) -> Failure:
    """Why a dial failed.

    Args:
        error: what came out of it, groups allowed.
        note: what its HTTP exchanges ran into.
        end_note: why the transport ended; "" when it did not.
        last_words: the child's stderr.
        redactor: takes the row's secrets out of all of it.
    """
    reason = leaf(error)
    words = redactor.redact(last_words)
    text = _exchange_words(note, reason)
    if not text and end_note and not isinstance(reason, CommandProblem):
        text = _with_last_line(end_note, words)
    return Failure(text=redactor.redact(text) or reason_words(reason, redactor), detail=words)


def timed_out(seconds: float, last_words: str, redactor: Redactor) -> Failure:
    """Why a dial that took too long failed."""
    words = redactor.redact(last_words)
    text = f"did not answer within {seconds:g} s"
    return Failure(text=_with_last_line(text, words), detail=words)


def ended(end_note: str, last_words: str, redactor: Redactor) -> Failure:
    """Why a connection that was ready ended by itself."""
    words = redactor.redact(last_words)
    text = _with_last_line(redactor.redact(end_note) or "closed the connection", words)
    return Failure(text=text, detail=words)


def call_failure(
    error: BaseException, note: ExchangeNote, *, end_note: str, redactor: Redactor
) -> str:
    """Why a call failed; says so when it is not known whether the tool ran."""
    return redactor.redact(_call_words(error, note, end_note, redactor))


def _call_words(error: BaseException, note: ExchangeNote, end_note: str, redactor: Redactor) -> str:
    reason = leaf(error)
    if note.session_lost:
        return "has forgotten our session; the call was not made"
    if text := _exchange_words(note, reason):
        return f"{text}; whether the tool ran is unknown" if _is_uncertain(note) else text
    if is_closed(reason):
        return f"{end_note or 'closed the connection'} during the call; whether it ran is unknown"
    return reason_words(reason, redactor)


def _exchange_words(note: ExchangeNote, reason: BaseException) -> str:
    if note.broken_body:
        return "broke off its answer"
    if note.failure:
        return f"could not be reached ({note.failure})"
    has_own_words = isinstance(reason, MCPError) and reason.message not in _STAND_INS
    if note.status is None or has_own_words:
        return ""
    wait = f" (retry after {note.retry_after})" if note.retry_after else ""
    advice = _ADVICE.get(note.status) or _phrase(note.status)
    return f"answered HTTP {note.status}; {advice}{wait}"


def _is_uncertain(note: ExchangeNote) -> bool:
    refused = note.status is not None and 400 <= note.status < 500
    return not refused and not note.failure.startswith("ConnectError")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase.lower()
    except ValueError:
        return "an error of its own"


def reason_words(error: BaseException, redactor: Redactor) -> str:
    """One short line of what an error says; no group, and no words of a library's validator."""
    reason = leaf(error)
    if isinstance(reason, MCPError):
        if reason.code == PARSE_ERROR and reason.message.startswith(UNREADABLE):
            return _short(redactor.redact(reason.message))
        if reason.code == PARSE_ERROR and reason.message.startswith(_UNPARSED):
            return f"{UNREADABLE}: it is not JSON-RPC"
        return f"answered with an error: {_short(redactor.redact(reason.message))} ({reason.code})"
    if isinstance(reason, ValidationError):
        fault = _short(redactor.redact(_first_fault(reason)))
        return f"answered something malformed ({reason.title}: {fault})"
    if isinstance(reason, CommandProblem | PoolError):
        return redactor.redact(str(reason))
    words = _short(redactor.redact(str(reason)))
    return f"failed: {words or 'no reason given'} ({type(reason).__name__})"


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"


def _with_last_line(text: str, last_words: str) -> str:
    lines = [line.strip() for line in last_words.splitlines() if line.strip()]
    return f"{text}: {_short(lines[-1])}" if lines else text


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_WORDS_CHARS else line[: MAX_WORDS_CHARS - 1] + "…"
