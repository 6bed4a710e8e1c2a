"""Rows: how a server is configured. JSON writes the fields in camelCase, Python in snake_case.

A row is what somebody wrote; ``null`` and absent are the same for every optional field and mean
"use the pool's". Times are whole milliseconds here as in the file. Sources: pool spec §2 and §14,
design §8 "Row fields beyond the spec".
"""

from __future__ import annotations

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

from host.records import HookEvent
from host.text.redaction import redact_url

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
Era = Literal["auto", "legacy", "2026-07-28"]


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


def _web_address(url: str) -> str:
    if "${" in url or "{env:" in url:
        return url  # an import leaves variables without a value as written
    parts = urlsplit(url)
    _ = parts.port  # raises ValueError for a port that is no number
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not an http address")
    return url


def _environment(env: dict[str, str]) -> dict[str, str]:
    if any(not name or "=" in name or "\0" in name + value for name, value in env.items()):
        raise ValueError("not a variable")
    return env


_Text: TypeAlias = Annotated[StrictStr, AfterValidator(_not_blank)]
_Texts: TypeAlias = Annotated[tuple[StrictStr, ...], BeforeValidator(_listed)]
_Count: TypeAlias = Annotated[int, BeforeValidator(_whole), Field(strict=True, ge=0)]
_Positive: TypeAlias = Annotated[int, BeforeValidator(_whole), Field(strict=True, ge=1)]


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


class HttpServerRow(_Row):
    """A server reached by streamable HTTP.

    Attributes:
        headers: sent with every request.
        transport_fallback: ``"sse"`` tries the older transport where this one is not spoken.
    """

    transport: Literal["http"] = "http"
    url: Annotated[StrictStr, AfterValidator(_web_address)]
    headers: dict[StrictStr, StrictStr] | None = Field(default=None, repr=False)
    transport_fallback: Literal["sse"] | None = None

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """The fields of the repr; the address without its secret parts."""
        for name, value in super().__repr_args__():
            yield name, redact_url(self.url) if name == "url" else value


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


def copied_row(row: ServerRow) -> ServerRow:
    """A copy that shares nothing with the row; what was absent stays absent (pool spec §2)."""
    return row.model_copy(deep=True)


def same_connection(a: ServerRow, b: ServerRow) -> bool:
    """True if an open connection of ``a`` serves ``b`` as well: no edit that needs a new one.

    The fields of pool spec §2, and of ours those that only a new connection can apply.
    """
    return _connection(a) == _connection(b)


def _connection(row: ServerRow) -> tuple[object, ...]:
    ours = (row.era, row.roots or (), row.log_level)
    if isinstance(row, StdioServerRow):
        spoken: tuple[object, ...] = (
            row.command,
            row.cwd or "",
            row.args or (),
            row.env or {},
            row.child_env,
        )
    else:
        spoken = (row.url, row.headers or {}, row.transport_fallback)
    return (row.enabled, row.transport, *spoken, *ours)
