"""One attempt to get other tokens, for all who wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from host.pool.auth.not_authorised import NotAuthorised, NothingAsked

if TYPE_CHECKING:
    from host.pool.auth.credentials import Tokens


class Renewal:
    """What an attempt came to.

    Attributes:
        scope: ends it.
        done: set when it came to something, or was ended.
        found: the tokens; None while there are none.
        failure: why there are none.
    """

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self.found: Tokens | None = None
        self.failure: NotAuthorised | NothingAsked | None = None

    async def tokens(self) -> Tokens:
        """The tokens it comes to.

        Raises:
            NotAuthorised: it comes to none.
            NothingAsked: there is nothing to be had tokens for.
        """
        await self.done.wait()
        if self.found is not None:
            return self.found
        if isinstance(self.failure, NothingAsked):
            raise NothingAsked
        raise (self.failure or NotAuthorised("was not let in: the attempt was given up")).again()
