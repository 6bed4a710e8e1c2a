"""The end of the attempts to be let in by a server."""

from __future__ import annotations


class NotAuthorised(Exception):
    """A request was not let in, and nothing more can be tried for it.

    Attributes:
        words: why, as a clause without its subject; free of secrets.
        needs_person: ``login`` may help.
        ends_session: no other request will fare better, either.
        is_final: trying again at once would only be refused again.
    """

    def __init__(
        self,
        words: str,
        *,
        needs_person: bool = False,
        ends_session: bool = False,
        is_final: bool = False,
    ) -> None:
        self.words = words
        self.needs_person = needs_person
        self.ends_session = ends_session
        self.is_final = is_final
        super().__init__(words)

    def again(self) -> NotAuthorised:
        """The same for another request: an error raised twice mixes up its tracebacks."""
        return NotAuthorised(
            self.words,
            needs_person=self.needs_person,
            ends_session=self.ends_session,
            is_final=self.is_final,
        )


class NothingAsked(Exception):
    """The server describes no authorisation and asked for none."""
