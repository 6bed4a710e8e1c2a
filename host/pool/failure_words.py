"""Why a dial or a call failed, in words: what the SDK raised, made readable.

All texts are clauses without their subject ("exited with code 3"), for whoever names the server.
Secrets are taken out before anything is cut: half of one would not be found afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from pydantic import ValidationError

from host.errors import PoolError
from host.pool.command_lookup import CommandProblem
from host.pool.elicitation import PageNeeded
from host.pool.line_splitter import MAX_LINE_BYTES
from host.pool.network_words import network_words, was_never_sent
from host.pool.task_states import TaskFailed
from host.pool.telling_line import telling_line
from host.pool.transports import UNREADABLE
from host.text.redaction import Redactor
from host.text.terminal_text import one_line

if TYPE_CHECKING:
    from mcp import MCPError

    from host.pool.exchange_note import ExchangeNote

MAX_WORDS_CHARS = 300

_CONNECTION_CLOSED, _PARSE_ERROR, _INVALID_REQUEST = -32000, -32700, -32600
"""As the SDK numbers them; it is not imported before a server is dialled."""

_STAND_INS = ("Server returned an error response", "Session terminated", "Not Found")
"""What the SDK says where the body of an HTTP error held no JSON-RPC error."""

_UNPARSED = ("Failed to parse JSON response", "Failed to parse SSE message")
"""How the SDK begins where the body of an answer was no message; then its validator speaks."""

_CUT_STREAM = "SSE stream "
"""How it begins where a stream of events ended before the answer came."""

_NO_MESSAGE = {
    "Unexpected content type: ": "answered with content of another kind than JSON-RPC ({rest})",
    "server answered a request with 202 Accepted": "accepted the request and gives no answer",
    "Redirect to ": "redirects to {rest}",
}
"""How it begins where an answer held no message at all; no server says so itself."""

_SDK_ADVICE = {
    "InputRequiredRoundsExceededError": "asked for further input again and again, without an end",
}
"""What the SDK says to programmers, by the error's name, in words for everybody."""

_ADVICE = {
    401: "it wants authorisation; check the row's headers",
    403: "it denies access; check the row's headers",
    404: "nothing is there; check the row's url",
    405: "it does not speak this transport; check the row's url",
    429: "it is asked too often",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why something failed: one line, and the child's last words ("" for none).

    Attributes:
        needs_person: ``login`` may help, and nothing else will.
    """

    text: str
    detail: str = ""
    needs_person: bool = False


class CallFailed(Exception):
    """A call raised; what, and what its HTTP exchanges ran into.

    Attributes:
        reason: the error itself, not a group of them; it may name secrets.
        note: what happened on the way; so may it.
    """

    def __init__(self, words: str, reason: BaseException, note: ExchangeNote) -> None:
        self.reason = reason
        self.note = note
        super().__init__(words)

    def bare(self) -> CallFailed:
        """Itself with its words alone, fit to be the cause of what a caller sees."""
        del self.reason, self.note
        return self


def leaf(error: BaseException) -> BaseException:
    """The first error that is no group of errors (sdk.md §1: the SDK nests them)."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def is_closed(error: BaseException) -> bool:
    """Whether the error only says that the connection is gone; servers use the code as well."""
    told = _protocol_error(error)
    return (
        told is not None and told.code == _CONNECTION_CLOSED and told.message == "Connection closed"
    )


def is_unreachable(error: BaseException, note: ExchangeNote) -> bool:
    """Whether a dial found nobody to speak to."""
    return bool(note.failure) or isinstance(leaf(error), OSError | CommandProblem)


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
    return Failure(
        text=redactor.redact(text) or reason_words(reason, redactor),
        detail=words,
        needs_person=note.not_authorised is not None and note.not_authorised.needs_person,
    )


def timed_out(
    seconds: float, last_words: str, redactor: Redactor, *, before: Failure | None = None
) -> Failure:
    """Why a dial that took too long failed.

    Args:
        before: what came of a first attempt, where this was another one.
    """
    words = redactor.redact(last_words)
    text = f"did not answer within {seconds:g} s"
    if before is not None:
        return Failure(text=f"{text}; before that it {before.text}", detail=words or before.detail)
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


def request_failure(
    error: BaseException, note: ExchangeNote, *, end_note: str, redactor: Redactor
) -> str:
    """Why a request that only reads failed."""
    reason = leaf(error)
    words = _exchange_words(note, reason)
    if not words and is_closed(reason):
        words = f"{end_note or 'closed the connection'} meanwhile"
    return redactor.redact(words) or reason_words(reason, redactor)


def _call_words(error: BaseException, note: ExchangeNote, end_note: str, redactor: Redactor) -> str:
    reason = leaf(error)
    if note.session_lost:
        return "has forgotten our session; the call was not made"
    if note.not_authorised is not None:
        return note.not_authorised.words
    if text := _exchange_words(note, reason):
        return f"{text}; whether the tool ran is unknown" if _is_uncertain(note) else text
    if is_closed(reason):
        return f"{end_note or 'closed the connection'} during the call; whether it ran is unknown"
    return reason_words(reason, redactor)


def _exchange_words(note: ExchangeNote, reason: BaseException) -> str:
    if note.not_authorised is not None:
        return note.not_authorised.words
    if note.is_too_long:
        return f"sent more than {MAX_LINE_BYTES >> 20} MB for one answer"
    if note.broken_body or is_cut_stream(reason):
        return "broke off its answer"
    if note.failure:
        return network_words(note.failure)
    told = _protocol_error(reason)
    has_own_words = told is not None and not (told.message in _STAND_INS or is_closed(reason))
    if note.status is None or has_own_words:
        return ""
    wait = f" (retry after {note.retry_after})" if note.retry_after else ""
    advice = _ADVICE.get(note.status) or _phrase(note.status)
    said = f'; it says: "{note.said}"' if note.said else ""
    return f"answered HTTP {note.status}; {advice}{wait}{said}"


def is_cut_stream(error: BaseException) -> bool:
    """Whether the error says that a stream of events ended before the answer it was to bring."""
    told = _protocol_error(error)
    return (
        told is not None
        and told.code == _CONNECTION_CLOSED
        and told.message.startswith(_CUT_STREAM)
    )


def _is_uncertain(note: ExchangeNote) -> bool:
    refused = note.status is not None and 400 <= note.status < 500
    return not refused and not was_never_sent(note.failure)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase.lower()
    except ValueError:
        return "an error of its own"


def reason_words(error: BaseException, redactor: Redactor) -> str:
    """One short line of what an error says; no group, and no words of a library's validator."""
    reason = leaf(error)
    if (told := _protocol_error(reason)) is not None:
        if told.code == _PARSE_ERROR and told.message.startswith(UNREADABLE):
            return _short(redactor.redact(told.message))
        if told.code == _PARSE_ERROR and told.message.startswith(_UNPARSED):
            return f"{UNREADABLE}: it is not JSON-RPC"
        if told.code == _INVALID_REQUEST and (words := _no_message_words(told.message)):
            return _short(redactor.redact(words))
        return f"answered with an error: {_short(redactor.redact(told.message))} ({told.code})"
    if isinstance(reason, ValidationError):
        fault = _short(redactor.redact(_first_fault(reason)))
        return f"answered something malformed ({reason.title}: {fault})"
    if isinstance(reason, TaskFailed | PageNeeded):
        return _short(redactor.redact(str(reason)))
    if isinstance(reason, CommandProblem | PoolError):
        return redactor.redact(str(reason))
    if type(reason).__name__ in _SDK_ADVICE:
        return _SDK_ADVICE[type(reason).__name__]
    words = _short(redactor.redact(str(reason)))
    return f"failed: {words or 'no reason given'} ({type(reason).__name__})"


def _no_message_words(message: str) -> str:
    """Words of ours for what the SDK says of an answer that held no message; "" for others."""
    for start, words in _NO_MESSAGE.items():
        if message.startswith(start):
            rest = message.removeprefix(start).partition(" not followed")[0]
            return words.format(rest=rest) + "; check the row's url"
    return ""


def _protocol_error(error: BaseException) -> MCPError | None:
    from mcp import MCPError

    return error if isinstance(error, MCPError) else None


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"


def _with_last_line(text: str, last_words: str) -> str:
    line = telling_line(last_words)
    return f"{text}: {_short(line)}" if line else text


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= MAX_WORDS_CHARS else line[: MAX_WORDS_CHARS - 1] + "…"
