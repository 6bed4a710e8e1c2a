"""Every exception a caller of this package may see.

    HostError
    ├── ConfigError             a file or flag the user has to mend
    ├── ToolArgumentsError      arguments a model wrote that cannot be read
    ├── PoolError               an MCP server, tool or call; ``code`` says which of ten ways
    ├── WireError               the model endpoint
    │   ├── EndpointSilent      nothing arrived for too long
    │   ├── ContextOverflow     the request does not fit the model's window
    │   ├── EndpointRefused     answered, and said no (4xx, or an error without a status)
    │   ├── EndpointUnavailable unreachable, busy or broken (connection, 408, 409, 429, 5xx)
    │   ├── EngineFailed        the engine that serves a model's file here ended
    │   └── StreamBroken        the answer stopped before its end
    └── RunError                a run ended early; ``run`` holds what it had done
        ├── RunStopped          a limit or a person stopped it
        │   └── IterationLimit  the limit was the number of tool iterations
        └── RunFailed           an error ended it; ``__cause__`` is that error
            └── RunOverflow     also a ContextOverflow

Errors carry facts as attributes and word themselves. All of them pickle (without ``__cause__``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from host.records.runs import Run

PoolErrorCode = Literal[
    "unknown-server",
    "disabled",
    "unknown-tool",
    "out-of-scope",
    "invalid-arguments",
    "no-configs",
    "connect-failed",
    "tool-error",
    "backoff",
    "timeout",
]
POOL_ERROR_CODES: tuple[PoolErrorCode, ...] = get_args(PoolErrorCode)

_HTTP_STATUS: dict[PoolErrorCode, int] = {
    "unknown-server": 404,
    "disabled": 404,
    "unknown-tool": 404,
    "out-of-scope": 404,
    "invalid-arguments": 400,
    "no-configs": 500,
    "connect-failed": 502,
    "tool-error": 502,
    "backoff": 503,
    "timeout": 504,
}


def http_status_for(code: PoolErrorCode) -> int:
    """The HTTP status a service should answer with for a pool error code (pool spec §19)."""
    return _HTTP_STATUS[code]


def _restore(cls: type[HostError], args: tuple[object, ...], facts: dict[str, Any]) -> HostError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(facts)
    return error


class HostError(Exception):
    """The root of every exception this package raises on purpose."""

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self), self.args, self.__dict__.copy())


class ConfigError(HostError):
    """A file, flag or variable the user has to mend; every problem found, not only the first.

    Attributes:
        source: the file's path, or what else was read (``"--base-url"``).
        problems: one line each, naming field and remedy.
    """

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source = source
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{source}: {problem}" for problem in self.problems))


class ToolArgumentsError(HostError):
    """A tool call's arguments could not be read as a JSON object.

    Attributes:
        kind: ``"truncated"`` when the reply was cut at its token ceiling, else ``"malformed"``.
    """

    def __init__(self, kind: Literal["truncated", "malformed"], message: str) -> None:
        self.kind = kind
        super().__init__(message)


class PoolError(HostError):
    """A server, a tool or a call failed in one of ten known ways (pool spec §19).

    Attributes:
        code: one of ``POOL_ERROR_CODES``.
        server_id: the row concerned, if one is known.
        tool_name: the qualified tool name, if one is known.
        detail: the child's last stderr lines, or what the transport said.
        retry_at: epoch seconds of the next permitted dial (``backoff`` only).
        timeout_seconds: the limit that ran out (``timeout`` only).
    """

    def __init__(
        self,
        code: PoolErrorCode,
        message: str,
        *,
        server_id: str | None = None,
        tool_name: str | None = None,
        detail: str | None = None,
        retry_at: float | None = None,
        timeout_seconds: float | None = None,
    ) -> None:
        self.code: PoolErrorCode = code
        self.server_id = server_id
        self.tool_name = tool_name
        self.detail = detail
        self.retry_at = retry_at
        self.timeout_seconds = timeout_seconds
        super().__init__(message)


class WireError(HostError):
    """Something between us and the model endpoint."""


class EndpointSilent(WireError):
    """The endpoint sent nothing for ``seconds`` seconds.

    Attributes:
        seconds: the allowance that ran out.
        before_first: True while nothing of the answer had arrived yet.
    """

    def __init__(self, seconds: float, before_first: bool) -> None:
        self.seconds = seconds
        self.before_first = before_first
        when = "before the first token" if before_first else "in the middle of an answer"
        super().__init__(f"the endpoint was silent for {seconds:g} s {when}")


class ContextOverflow(WireError):
    """The request does not fit the model's context window.

    Attributes:
        needed_tokens: the prompt, estimated; 0 when only the endpoint's refusal is known.
        reserved_tokens: room kept for the reply; 0 for none.
        limit_tokens: the window; 0 when unknown.
    """

    def __init__(
        self,
        needed_tokens: int,
        reserved_tokens: int,
        limit_tokens: int,
        *,
        detail: str = "",
    ) -> None:
        self.needed_tokens = needed_tokens
        self.reserved_tokens = reserved_tokens
        self.limit_tokens = limit_tokens
        self.detail = detail
        super().__init__(detail or self._words())

    def _words(self) -> str:
        reserve = (
            f" plus {_count(self.reserved_tokens)} for the reply" if self.reserved_tokens else ""
        )
        return (
            f"the request needs about {_count(self.needed_tokens)} tokens{reserve}, "
            f"the model's window holds {_count(self.limit_tokens)}"
        )


class EndpointRefused(WireError):
    """The endpoint answered and said no.

    Attributes:
        status: the HTTP status, or the code of an error inside an answer; None without one.
        body: what it said, secrets redacted.
    """

    def __init__(self, status: int | None, body: str) -> None:
        self.status = status
        self.body = body
        code = f" (status {status})" if status else ""
        super().__init__(f"the endpoint refused the request{code}: {body or 'no reason given'}")


class EndpointUnavailable(WireError):
    """The endpoint could not be reached, was busy, or failed on its own side.

    Attributes:
        attempts: how many times the request was sent.
        status: the last HTTP status, or the code of an error inside an answer; None when no
            connection came about.
        detail: what was said last, secrets redacted.
        retry_after_seconds: what the endpoint asked us to wait, if it did.
    """

    def __init__(
        self,
        attempts: int,
        status: int | None,
        *,
        detail: str = "",
        retry_after_seconds: float | None = None,
    ) -> None:
        self.attempts = attempts
        self.status = status
        self.detail = detail
        self.retry_after_seconds = retry_after_seconds
        # Not every status is an HTTP one: an answer that began well may break off with a code.
        what = f"failed with status {status}" if status else "could not be reached"
        tries = f" after {attempts} attempts" if attempts > 1 else ""
        super().__init__(f"the endpoint {what}{tries}" + (f": {detail}" if detail else ""))


class EngineFailed(WireError):
    """The engine that serves a model's file on this machine could not start, or ended.

    Attributes:
        file: the file's name.
        exit_code: how its process ended, negative for a signal; None if it did not.
        detail: the last it logged.
    """

    def __init__(
        self, file: str, reason: str, *, exit_code: int | None = None, detail: str = ""
    ) -> None:
        self.file = file
        self.exit_code = exit_code
        self.detail = detail
        super().__init__(f"the engine that serves {file} {reason}")


class StreamBroken(WireError):
    """The answer began and stopped before its end; ``detail`` says how."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(f"the endpoint's answer broke off: {detail}")


class RunError(HostError):
    """A run ended early.

    Attributes:
        run: the run so far; its transcript can be handed back to go on.
    """

    def __init__(self, message: str, run: Run) -> None:
        self.run = run
        super().__init__(message)


class RunStopped(RunError):
    """A limit or a person stopped the run; ``stop_reason`` says which."""

    def __init__(self, stop_reason: str, run: Run, message: str = "") -> None:
        self.stop_reason = stop_reason
        super().__init__(message or f"the run was stopped: {stop_reason}", run)


class IterationLimit(RunStopped):
    """The run used up its tool iterations.

    Attributes:
        limit: how many there were.
    """

    def __init__(self, limit: int, run: Run) -> None:
        self.limit = limit
        super().__init__("backstop", run, f"the run reached its limit of {limit} tool iterations")


class RunFailed(RunError):
    """An error ended the run; ``__cause__`` is that error."""


class RunOverflow(RunFailed, ContextOverflow):
    """The run's next request did not fit the window any more; also a ``ContextOverflow``."""

    def __init__(self, overflow: ContextOverflow, run: Run) -> None:
        self.needed_tokens = overflow.needed_tokens
        self.reserved_tokens = overflow.reserved_tokens
        self.limit_tokens = overflow.limit_tokens
        self.detail = overflow.detail
        self.run = run
        HostError.__init__(self, str(overflow))


def failed_run(error: BaseException) -> Run | None:
    """The run an error carries, or None for an error that carries none."""
    return error.run if isinstance(error, RunError) else None


def _count(tokens: int) -> str:
    tenths = (tokens + 50) // 100  # halves go up, as everywhere
    return f"{tenths // 10}.{tenths % 10}k" if tokens >= 1000 else str(tokens)
