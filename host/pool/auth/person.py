"""A person who may be asked for authorisation, for as long as a login lasts."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from urllib.parse import parse_qs, urlsplit

import anyio

from host.pool.auth.not_authorised import NotAuthorised
from host.pool.auth.redirect_listener import PortTaken, RedirectListener
from host.pool.auth.redirects import Redirect

OnAuthorize = Callable[[str, str], Awaitable[None] | None]
"""Shows a person the address (second) where the server (id, first) is logged in to."""


class Person:
    """Somebody with a browser, asked once.

    Attributes:
        is_done: tokens came of it.
        stored_in: where they are kept, in words that follow "in".
    """

    def __init__(
        self, on_authorize: OnAuthorize, server_id: str, *, timeout_seconds: float
    ) -> None:
        self.is_done = False
        self.stored_in = ""
        self._on_authorize = on_authorize
        self._server_id = server_id
        self._timeout_seconds = timeout_seconds

    async def ask(self, address: str, listener: RedirectListener) -> Redirect:
        """What the browser brings back from an address.

        Raises:
            NotAuthorised: nothing in time, an answer that is no answer to this, or a refusal.
        """
        state = parse_qs(urlsplit(address).query).get("state", [""])[0]

        async def send() -> None:
            shown = self._on_authorize(self._server_id, address)
            if inspect.isawaitable(shown):
                await shown

        answer: Redirect | None = None
        try:
            with anyio.move_on_after(self._timeout_seconds):
                answer = await listener.answer(state, send)
        except Exception as error:  # noqa: BLE001 - containment: the callback is the application's
            words = f"could not be logged in to: showing the address failed ({_kind(error)})"
            raise NotAuthorised(words) from None
        if answer is None:
            words = (
                f"was not logged in to within {self._timeout_seconds:g} s; if the page called the "
                f"client unknown, log out first"
            )
            raise NotAuthorised(words)
        if answer.problem:
            raise NotAuthorised(f"was not logged in to: {answer.problem}")
        return answer


async def listening(opened: AsyncExitStack, wanted: int | None, usual: int) -> RedirectListener:
    """A listener for the browser, open as long as the stack.

    Args:
        wanted: the only port that will do; None for any.
        usual: the port of the last login, taken if it is free.

    Raises:
        NotAuthorised: the port that must be is in use.
    """
    try:
        return await opened.enter_async_context(RedirectListener(wanted or usual))
    except PortTaken:
        if wanted is not None:
            words = f"cannot be logged in to: port {wanted} is in use (auth.redirectPort)"
            raise NotAuthorised(words) from None
    return await opened.enter_async_context(RedirectListener())


def _kind(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__
