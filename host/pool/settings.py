"""How a pool behaves where a row says nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from host import __version__
from host.pool.child_environment import ChildEnv

if TYPE_CHECKING:
    from host.pool.auth.person import OnAuthorize
    from host.pool.auth.stores import CredentialStore
    from host.pool.elicitation import ElicitationMode, OnElicit
    from host.pool.rows import ServerRow
    from host.pool.sampling import OnSample
    from host.pool.saved_listings import ToolsCache
    from host.pool.transports import ServerTransport


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCacheSettings:
    """How answers are kept for repeated calls of read-only and idempotent tools of trusted rows.

    Attributes:
        ttl_seconds: the age at which an answer expires; 0 for never.
        max_entries: how many are kept; 0 for no limit.
    """

    ttl_seconds: float = 30.0
    max_entries: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """The pool's own settings (pool spec §3; times in seconds).

    Attributes:
        connect_timeout_seconds: for start, handshake and listing together; None for no limit.
        call_timeout_seconds: for one call's answer.
        probe_timeout_seconds: for ``ServerPool.probe``; None is the connect timeout.
        idle_timeout_seconds: how long a connection may lie unused; None for ever.
        crash_backoff_seconds: the first delay before a failed server is dialled again; it doubles
            up to a minute.
        coerce_arguments: whether arguments are made to fit their schema, and judged.
        max_result_chars: the most of a result; None for all of it.
        max_description_chars: the most of a tool's description in its definition.
        tools_token_warning: estimate from which declaring all tools is worth a notice; 0 never.
        lazy: True dials a server when it is first used.
        tools_cache: keeps listings, so that a server whose tools are known is not dialled before
            one of them is used; None keeps none. Without an index it is left alone.
        dial_known: True dials such servers like all others.
        index_tools: False lists no tools; only ``client`` and ``use`` reach servers then.
        max_concurrent_dials: how many servers start at once; one that is slow to answer frees its
            place after two seconds.
        client_name, client_version: what servers are told of us.
        child_env: what children inherit: None everything but secrets, ``"all"``, or names.
        result_cache: None keeps no answers.
        on_elicit: asks a person what a server wants to know; None, and servers are told that
            nobody can be asked. One that raises is answered for with a cancel.
        elicitation_modes: which kinds of question ``on_elicit`` takes: ``form``, ``url``.
        on_sample: asks the model for a server whose row allows it (``sampling``); None for nobody.
        on_authorize: shows a person the address at which to log in to a server; used by ``login``
            alone, which nobody can do without it.
        login_timeout_seconds: how long the person may take.
        credentials: where logins are kept; None is the user's own keyring, or else file.
        secret_env: further variables that hold secrets, such as the endpoint's key.
        create_transport: makes a row's transport in place of the built-in ones.
        now: the wall clock, aware.
        jitter: a number from 0 to 1, for delays.
    """

    connect_timeout_seconds: float | None = 60.0
    call_timeout_seconds: float = 60.0
    probe_timeout_seconds: float | None = None
    idle_timeout_seconds: float | None = None
    crash_backoff_seconds: float = 1.0
    coerce_arguments: bool = True
    max_result_chars: int | None = None
    max_description_chars: int | None = None
    tools_token_warning: int = 3000
    lazy: bool = False
    tools_cache: ToolsCache | None = field(default=None, repr=False)
    dial_known: bool = False
    index_tools: bool = True
    max_concurrent_dials: int = 8
    client_name: str = "mcp-agent-host"
    client_version: str = __version__
    child_env: ChildEnv = None
    secret_env: tuple[str, ...] = ()
    result_cache: ResultCacheSettings | None = None
    on_elicit: OnElicit | None = field(default=None, repr=False)
    elicitation_modes: tuple[ElicitationMode, ...] = ("form",)
    on_sample: OnSample | None = field(default=None, repr=False)
    on_authorize: OnAuthorize | None = field(default=None, repr=False)
    login_timeout_seconds: float = 300.0
    credentials: CredentialStore | None = field(default=None, repr=False)
    create_transport: Callable[[ServerRow], ServerTransport] | None = field(
        default=None, repr=False
    )
    now: Callable[[], datetime] = field(default=_now, repr=False)
    jitter: Callable[[], float] = field(default=random.random, repr=False)
