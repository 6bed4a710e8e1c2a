"""What a caller's own listeners raise, kept apart from the failures of an endpoint."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType


class _Carried(Exception):
    """Goes past whatever handles foreign or our own failures on the way out."""


class ListenerGuard:
    """A scope that raises what a listener raised inside it: the same exception, unchanged.

    Without it a listener that fails as the network does (a closed memory stream, a client of its
    own) would be taken for a broken answer: renamed, scrubbed, asked for again or swallowed.
    Guards nest.
    """

    def __init__(self) -> None:
        self._raised: Exception | None = None

    def over(self, listener: Callable[[str], None] | None) -> Callable[[str], None] | None:
        """The listener, watched; None stays None."""
        return None if listener is None else self._watched(listener)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        raised, self._raised = self._raised, None
        # Closing the stream may have failed on top; a cancellation passes.
        if raised is None or not isinstance(error, Exception):
            return
        context = raised.__context__
        try:
            raise raised
        finally:
            raised.__context__ = context

    def _watched(self, listener: Callable[[str], None]) -> Callable[[str], None]:
        def tell(text: str) -> None:
            try:
                listener(text)
            except Exception as error:  # noqa: BLE001  # all of it is raised, where the scope ends
                self._raised = error
            else:
                return
            raise _Carried

        return tell
