"""What became of the HTTP exchanges of one call or one dial, noted for whoever sent the message.

The transport answers in another task than the one that asked; the note reaches it in the context
of the request. Apart from the HTTP client itself, so that waiting for a call does not load one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from host.pool.auth.not_authorised import NotAuthorised


@dataclass(slots=True)
class ExchangeNote:
    """What became of the HTTP exchanges of one call or one dial; the last failure counts.

    Attributes:
        status: of the last answer that was an error; None for none.
        retry_after: the server's header of that name, as sent.
        session_lost: a session id was refused: nothing was dispatched.
        failure: what kept a request from being answered; "" for nothing.
        said: the first line of the body of that answer, as sent; "" for nothing of its own.
        broken_body: an answer's body broke off.
        is_too_long: an answer had no end within what is read of one.
        is_own: the pool asks by itself, for no use; whether the session is lost is then for the
            next use to find out.
        is_over: nobody waits for what the requests are made for any more.
        resumed: how often a stream of answers was asked for again, and when last.
        waits: ends of the waiting that is under way for it, called when it is over.
        not_authorised: why the server let nobody in; None if it did.
    """

    status: int | None = None
    retry_after: str | None = None
    session_lost: bool = False
    failure: str = ""
    said: str = ""
    broken_body: bool = False
    is_too_long: bool = False
    is_own: bool = False
    is_over: bool = False
    resumed: tuple[int, float] = (0, 0.0)
    not_authorised: NotAuthorised | None = None
    waits: set[Callable[[], None]] = field(default_factory=set)

    def end(self) -> None:
        """Have all that is still waited for given up."""
        self.is_over = True
        for give_up in list(self.waits):
            give_up()


_note: ContextVar[ExchangeNote | None] = ContextVar("exchange_note", default=None)


@contextmanager
def noting_exchanges(*, is_own: bool = False) -> Iterator[ExchangeNote]:
    """Collect, in the note handed out, what happens to requests made for this block."""
    note = ExchangeNote(is_own=is_own)
    token = _note.set(note)
    try:
        yield note
    finally:
        note.end()
        _note.reset(token)


def current_note() -> ExchangeNote:
    """The note of the block that is under way; one that nobody reads outside of any."""
    return _note.get() or ExchangeNote()
