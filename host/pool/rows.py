"""Rows: how a server is configured. JSON writes the fields in camelCase, Python in snake_case.

A row is what somebody wrote; ``null`` and absent are the same for every optional field and mean
"use the pool's". Times are whole milliseconds here as in the file. Sources: pool spec §2 and §14,
design §8 "Row fields beyond the spec".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from host.pool.auth.row_rules import auth_conflicts
from host.pool.written_secrets import shown_fields
from host.records import HookEvent

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
Era = Literal["auto", "legacy", "2026-07-28"]
AuthGrant = Literal["authorization_code", "client_credentials", "jwt_bearer"]

_SCOPES = re.compile(r"[!#-\[\]-~]+(?: [!#-\[\]-~]+)*")
"""What RFC 6749 allows in a scope; nothing that could end a quoted text in a header."""


def _whole(value: object) -> object:
    """5.0 is a whole number, as it is in JSON; True is none."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _listed(value: object) -> object:
    """Only lists and tuples have the order that arguments and names need."""
    if isinstance(value, list | tuple):
        return value
    raise ValueError("not a list")


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("blank")
    return text


def _has_variables(url: str) -> bool:
    return "${" in url or "{env:" in url


def _web_address(url: str) -> str:
    if _has_variables(url):
        return url  # an import leaves variables without a value as written
    parts = urlsplit(url)
    _ = parts.port  # raises ValueError for a port that is no number
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not an http address")
    return url


def _has_user(url: str) -> bool:
    try:
        return "@" in urlsplit(url).netloc
    except ValueError:
        return False


def _document_address(url: str) -> str:
    parts = urlsplit(_web_address(url))
    if not _has_variables(url) and (parts.scheme != "https" or parts.path in ("", "/")):
        raise ValueError("not the https address of a document")
    return url


def _scopes(text: str) -> str:
    if not _SCOPES.fullmatch(text):
        raise ValueError("not scopes")
    return text


def _environment(env: dict[str, str]) -> dict[str, str]:
    if any(not name or "=" in name or "\0" in name + value for name, value in env.items()):
        raise ValueError("not a variable")
    return env


_Text: TypeAlias = Annotated[StrictStr, AfterValidator(_not_blank)]
_Texts: TypeAlias = Annotated[tuple[StrictStr, ...], BeforeValidator(_listed)]
_Count: TypeAlias = Annotated[int, BeforeValidator(_whole), Field(strict=True, ge=0)]
_Positive: TypeAlias = Annotated[int, BeforeValidator(_whole), Field(strict=True, ge=1)]
_Port: TypeAlias = Annotated[int, BeforeValidator(_whole), Field(strict=True, ge=1, le=65535)]
_Address: TypeAlias = Annotated[StrictStr, AfterValidator(_web_address)]
_Document: TypeAlias = Annotated[StrictStr, AfterValidator(_document_address)]
_Scopes: TypeAlias = Annotated[StrictStr, AfterValidator(_scopes)]


class _Written(BaseModel):
    """Something written by a person: frozen, closed, ``null`` as good as absent."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, written: Any) -> Any:
        if isinstance(written, Mapping):
            return {name: value for name, value in written.items() if value is not None}
        return written

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """The fields of the repr, without secrets."""
        shown = shown_fields(vars(self))
        return ((name, shown.get(name or "", value)) for name, value in super().__repr_args__())


class HookRow(_Written):
    """A tool of its own server that the pool calls at a moment of a session (pool spec §14).

    Attributes:
        on: the moment.
        tool: the server's own name of the tool.
        args: its arguments; strings may hold ``{{ path }}`` placeholders. None is ``{}``.
        inject: the answer goes on the question, where the moment allows it.
        veto: the answer may say no, where the moment allows it.
        max_tokens: the most of the answer that goes on the question.
        timeout_ms: None waits as long as the moment allows.
    """

    id: _Text
    on: HookEvent
    tool: _Text
    args: dict[StrictStr, Any] | None = None
    inject: StrictBool = False
    veto: StrictBool = False
    max_tokens: _Positive = 1000
    timeout_ms: _Positive | None = None
    enabled: StrictBool = True


class SamplingRow(_Written):
    """Whether a server may ask our model, and for how much.

    Attributes:
        allow: False refuses; its session is not even told that we could.
        max_tokens: the most of one answer, whatever the server asks for.
    """

    allow: StrictBool = False
    max_tokens: _Positive = 1000


class _Row(_Written):
    id: _Text
    slug: StrictStr | None = None
    label: StrictStr | None = None
    enabled: StrictBool = True
    idle_timeout_ms: _Count | None = None
    connect_timeout_ms: _Count | None = None
    call_timeout_ms: _Count | None = None
    coerce_arguments: StrictBool | None = None
    trust_annotations: StrictBool | None = None
    max_result_chars: _Count | None = None
    hidden_tools: _Texts | None = None
    always_load: _Texts | None = None
    hooks: Annotated[tuple[HookRow, ...], BeforeValidator(_listed)] | None = None
    era: Era = "auto"
    roots: _Texts | None = None
    sampling: SamplingRow | None = None
    progress_extends_timeout: StrictBool | None = None
    max_call_timeout_ms: _Positive | None = None
    log_level: LogLevel | None = None

    @property
    def effective_slug(self) -> str:
        """What stands before ``__`` in the names of the server's tools."""
        return self.slug or self.id

    @property
    def effective_label(self) -> str:
        """What people and descriptions call the server."""
        return self.label or self.effective_slug


class StdioServerRow(_Row):
    """A server started as a child process.

    Attributes:
        command: a program; looked up beside the running interpreter first, then on PATH.
        env: variables on top of the inherited ones.
        cwd: its working folder; None or "" is ours.
        child_env: what it inherits: None everything but secrets, ``"all"``, or names.
    """

    transport: Literal["stdio"] = "stdio"
    command: _Text
    args: _Texts | None = None
    env: Annotated[dict[StrictStr, StrictStr], AfterValidator(_environment)] | None = Field(
        default=None, repr=False
    )
    cwd: StrictStr | None = None
    child_env: Literal["all"] | _Texts | None = None


class IdentityProviderRow(_Written):
    """Where an organisation's sign-on is turned into a grant for the server (SEP-990).

    Attributes:
        token_url: takes the ID token in exchange.
        client_id: ours there; ``client_secret`` goes with it where there is one.
        id_token_file: holds the ID token; read anew for each exchange.
    """

    token_url: _Address
    client_id: _Text
    client_secret: _Text | None = Field(default=None, repr=False)
    id_token_file: _Text


class AuthRow(_Written):
    """How authorisation is asked for, where OAuth's own discovery is not enough (RFC 6749).

    Attributes:
        grant: a person's (``authorization_code``, after ``login``), the client's own, or a
            signed assertion's (RFC 7523).
        client_id, client_secret: of a client registered beforehand; None registers one.
        client_metadata_url: a document about us that is our id where servers take one.
        scope: what to ask for; None asks for what the server names.
        redirect_port: where the browser comes back to; None takes any that is free.
        issuer: the only authorization server that may be asked.
        dpop: bind tokens to a key (RFC 9449); None does where the server demands it.
        private_key_file: a PEM key that takes the place of ``client_secret``.
        assertion_file: a JWT to trade for tokens, such as a workload's; read for each trade.
        identity_provider: where the assertion comes from, if not from a file.
    """

    grant: AuthGrant = "authorization_code"
    client_id: _Text | None = None
    client_secret: _Text | None = Field(default=None, repr=False)
    client_metadata_url: _Document | None = None
    scope: _Scopes | None = None
    redirect_port: _Port | None = None
    issuer: _Address | None = None
    dpop: StrictBool | None = None
    private_key_file: _Text | None = None
    assertion_file: _Text | None = None
    identity_provider: IdentityProviderRow | None = None

    @model_validator(mode="after")
    def _without_conflicts(self) -> AuthRow:
        if auth_conflicts(self.model_dump(by_alias=True, exclude_none=True)):
            raise ValueError("fields that do not go together")
        return self


class HttpServerRow(_Row):
    """A server reached by streamable HTTP.

    Attributes:
        headers: sent with every request; ``Authorization`` among them takes the place of OAuth.
        auth: how OAuth is done; None finds out by itself.
        transport_fallback: ``"sse"`` tries the older transport where this one is not spoken.
    """

    transport: Literal["http"] = "http"
    url: _Address
    headers: dict[StrictStr, StrictStr] | None = Field(default=None, repr=False)
    auth: AuthRow | None = None
    transport_fallback: Literal["sse"] | None = None

    @property
    def has_own_authorization(self) -> bool:
        """Whether a header of the row, or its address, authorises: OAuth has no part in it then."""
        names = {name.strip().lower() for name in self.headers or {}}
        return "authorization" in names or _has_user(self.url)


ServerRow: TypeAlias = StdioServerRow | HttpServerRow


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFault:
    """One way in which a written row does not have a row's shape.

    Attributes:
        path: field names and positions, outermost first, as in JSON.
        kind: a required field is ``missing``, a field is not known (``unknown``), or ``wrong``.
    """

    path: tuple[str | int, ...]
    kind: Literal["missing", "unknown", "wrong"]


def read_row(written: Mapping[str, Any]) -> ServerRow | tuple[RowFault, ...]:
    """The row, or everything that keeps it from being one.

    Without a usable ``transport`` there is a fault for it, and the other fields are judged by the
    arm they look like.
    """
    transport = written.get("transport")
    faults: list[RowFault] = []
    if transport not in ("stdio", "http"):
        kind: Literal["missing", "wrong"] = "missing" if transport is None else "wrong"
        faults.append(RowFault(path=("transport",), kind=kind))
        transport = "http" if "url" in written and "command" not in written else "stdio"
    model = HttpServerRow if transport == "http" else StdioServerRow
    try:
        row: ServerRow = model.model_validate({**written, "transport": transport})
    except ValidationError as error:
        return (*faults, *_faults(error))
    return tuple(faults) or row


def _faults(error: ValidationError) -> list[RowFault]:
    kinds: dict[str, Literal["missing", "unknown"]] = {
        "missing": "missing",
        "extra_forbidden": "unknown",
        "invalid_key": "unknown",
    }
    found: dict[RowFault, None] = {}
    for details in error.errors(include_url=False, include_context=False, include_input=False):
        path = details["loc"]
        if path[0] == "childEnv":
            path = path[:1]  # what follows names a branch of the union, not a place in the row
        elif path[-1] == "[key]":
            path = path[:-1]
        fault = RowFault(path=path, kind=kinds.get(details["type"], "wrong"))
        found[fault] = None
    return list(found)


def field_names(transport: str) -> tuple[str, ...]:
    """The JSON names of a row's fields, for one ``transport``; all of them for any other text."""
    models: list[type[BaseModel]] = [StdioServerRow, HttpServerRow]
    if transport in ("stdio", "http"):
        models = [HttpServerRow if transport == "http" else StdioServerRow]
    return tuple(dict.fromkeys(to_camel(name) for model in models for name in model.model_fields))


def hook_field_names() -> tuple[str, ...]:
    """The JSON names of a hook's fields."""
    return tuple(to_camel(name) for name in HookRow.model_fields)


def sampling_field_names() -> tuple[str, ...]:
    """The JSON names of the fields of ``sampling``."""
    return tuple(to_camel(name) for name in SamplingRow.model_fields)


def auth_field_names(path: tuple[str | int, ...]) -> tuple[str, ...]:
    """The JSON names of the fields of the object at a path that begins with ``auth``."""
    model = IdentityProviderRow if "identityProvider" in path[1:-1] else AuthRow
    return tuple(to_camel(name) for name in model.model_fields)


def copied_row(row: ServerRow) -> ServerRow:
    """A copy that shares nothing with the row; what was absent stays absent (pool spec §2)."""
    return row.model_copy(deep=True)


def same_connection(a: ServerRow, b: ServerRow) -> bool:
    """True if an open connection of ``a`` serves ``b`` as well: no edit that needs a new one.

    The fields of pool spec §2, and of ours those that only a new connection can apply.
    """
    return _connection(a) == _connection(b)


def _connection(row: ServerRow) -> tuple[object, ...]:
    ours = (row.era, row.roots or (), row.log_level, row.sampling or SamplingRow())
    if isinstance(row, StdioServerRow):
        spoken: tuple[object, ...] = (
            row.command,
            row.cwd or "",
            row.args or (),
            row.env or {},
            row.child_env,
        )
    else:
        spoken = (row.url, row.headers or {}, row.auth or AuthRow(), row.transport_fallback)
    return (row.enabled, row.transport, *spoken, *ours)
