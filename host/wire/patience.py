"""What to do about a failure: give up, or wait how long and say what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from host.errors import EndpointRefused, EndpointUnavailable, WireError
from host.text.terminal_text import clean_terminal
from host.wire.retry import (
    LOADING_POLL_SECONDS,
    backoff_seconds,
    is_model_loading,
    is_transient,
    refuses_request,
)

MAX_RETRY_AFTER_SECONDS = 60.0
"""The longest wait an endpoint is granted; what asks for more is tried again after this."""

Remedy = Literal["no calls", "other draw"]
"""What to ask otherwise after an answer its server could not read (`unreadable_answers`)."""

_BLAMES_OUTPUT = re.compile(
    r"output that does not match the expected|failed to parse input at pos", re.IGNORECASE
)
_BLAMES_CALL = re.compile(
    r"failed to call a function|tool call validation failed|attempted to call tool", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Another attempt is due.

    Attributes:
        seconds: how long to wait before it.
        notice: one line for whoever watches; "" for nothing worth saying.
        spends_attempt: it counts as one of the retries.
        remedy: the same request would fail the same way; ask like this from now on.
    """

    seconds: float
    notice: str = ""
    spends_attempt: bool = False
    remedy: Remedy | None = None


def blames_output(error: WireError) -> bool:
    """Whether a server failed over what its model wrote, and would so again on the same draw.

    llama-server answers 500, or breaks off its stream, when an answer does not parse as its
    template's format (b10434; "Failed to parse input at pos 184: …" from b7743 on). Groq answers
    400 to a call of a tool that was not offered, and to one it cannot read.
    """
    match error:
        case EndpointUnavailable(status=500, detail=detail):
            return bool(_BLAMES_OUTPUT.search(detail))
        case EndpointRefused(status=400, body=body):
            return bool(_BLAMES_CALL.search(body))
        case _:
            return False


def is_about_output(text: str) -> bool:
    """Whether words are about what a model wrote and not about what was asked of it.

    Wider than `blames_output`: gateways pass such words on under statuses of their own.
    """
    return bool(_BLAMES_OUTPUT.search(text) or _BLAMES_CALL.search(text))


class Patience:
    """How much patience one turn has left.

    Waiting for a model to load spends no attempt, and neither do the other ways to ask that an
    unreadable answer gets, each once: without calls where the request allows any, and on another
    draw where that was refused, or was no better. Everything else that may pass does.

    Args:
        max_retries: attempts beyond the first.
        loading_timeout_seconds: how long a loading model is waited for; 0 and less: not at all.
        label: who is waited for, in notices.
    """

    def __init__(self, max_retries: int, loading_timeout_seconds: float, *, label: str) -> None:
        self._max_retries = max_retries
        self._loading_timeout_seconds = loading_timeout_seconds
        self._label = label
        self._loading_since: float | None = None
        self.remedy: Remedy | None = None
        self.retries = 0

    def wait_for(
        self, error: WireError, *, now: float, jitter: float, may_call: bool = False
    ) -> Wait | None:
        """The wait before another attempt; None when there is none.

        Args:
            now: seconds on a steady clock.
            jitter: a factor from 0.5 to 1, for the backoff.
            may_call: the request let the model call tools.
        """
        if blames_output(error) or (self.remedy == "no calls" and refuses_request(error)):
            return self._asked_otherwise(may_call)
        if is_model_loading(error) and (wait := self._while_loading(now)):
            return wait
        if self.retries >= self._max_retries or not is_transient(error):
            return None
        seconds = max(backoff_seconds(self.retries, jitter=jitter), _asked_for(error))
        self.retries += 1
        words = " ".join(clean_terminal(str(error)).split())
        progress = f"({self.retries}/{self._max_retries})"
        notice = f"{words}; trying again in {_shown(seconds)} {progress}"
        return Wait(seconds=seconds, notice=notice, spends_attempt=True)

    def _asked_otherwise(self, may_call: bool) -> Wait | None:
        if self.remedy == "other draw":
            return None
        if self.remedy is None and may_call:
            self.remedy = "no calls"
            instead = "asking once more for text without calls"
        else:
            self.remedy = "other draw"
            instead = "sampling once more"
        notice = f"{self._label} wrote what its server cannot read; {instead}"
        return Wait(seconds=0, notice=notice, remedy=self.remedy)

    def _while_loading(self, now: float) -> Wait | None:
        limit = self._loading_timeout_seconds
        is_first = self._loading_since is None
        self._loading_since = now if self._loading_since is None else self._loading_since
        if now - self._loading_since >= limit:
            return None
        notice = f"{self._label} is still loading; waiting up to {_shown(limit)}"
        return Wait(seconds=LOADING_POLL_SECONDS, notice=notice if is_first else "")


def _asked_for(error: WireError) -> float:
    asked = error.retry_after_seconds if isinstance(error, EndpointUnavailable) else None
    return min(asked or 0.0, MAX_RETRY_AFTER_SECONDS)


def _shown(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.0f} s"
