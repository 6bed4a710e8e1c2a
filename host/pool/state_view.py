"""What ``ServerPool.state`` shows of an entry, without its secrets."""

from __future__ import annotations

from typing import Any

from host.pool.entry import Entry
from host.pool.rows import HookRow, HttpServerRow, ServerRow, StdioServerRow, copied_row
from host.pool.server_state import ServerState
from host.pool.tool_index import ListedServer, tool_states
from host.text.redaction import REDACTED, Redactor, redact_url


def server_state(entry: Entry, *, secrets: bool) -> ServerState:
    """The server as it is now; a row of ``secrets=False`` cannot connect any more."""
    row, connection = entry.row, entry.connection
    client = connection.client if connection else None
    redact = entry.redactor.redact
    words = connection.last_words() if connection else entry.words
    return ServerState(
        id=row.id,
        slug=row.effective_slug,
        label=row.effective_label,
        row=copied_row(row) if secrets else blanked_row(row, entry.redactor),
        status=entry.status,
        error=entry.failure.text if entry.failure else "",
        tools=tool_states(ListedServer(row=row, tools=entry.listing)),
        stale=entry.stale,
        era=client.protocol_version if client else None,
        tools_fingerprint=entry.fingerprint,
        pid=connection.pid if connection else None,
        started_at=entry.started_at,
        retry_at=entry.retry_at,
        instructions=client.instructions if client else None,
        capabilities=_capabilities(client) if client else None,
        stderr_tail=redact(words),
    )


def blanked_row(row: ServerRow, redactor: Redactor) -> ServerRow:
    """A copy with every value of ``env`` and ``headers`` blanked.

    The same values are taken out of command, folder, roots, arguments, address and hook arguments
    (pool spec §9 [H]).
    """
    hooks = row.hooks and tuple(_blanked_hook(hook, redactor) for hook in row.hooks)
    roots = row.roots and tuple(redactor.redact(root) for root in row.roots)
    shown: dict[str, Any] = {"hooks": hooks, "roots": roots}
    if isinstance(row, StdioServerRow):
        shown["command"] = redactor.redact(row.command)
        shown["cwd"] = row.cwd and redactor.redact(row.cwd)
        shown["env"] = _blanked(row.env)
        shown["args"] = row.args and tuple(redactor.redact(arg) for arg in row.args)
    elif isinstance(row, HttpServerRow):
        shown["headers"] = _blanked(row.headers)
        shown["url"] = redactor.redact(redact_url(row.url))
    return row.model_copy(update=shown, deep=True)


def _blanked(values: dict[str, Any] | None) -> dict[str, str] | None:
    return None if values is None else dict.fromkeys(values, REDACTED)


def _blanked_hook(hook: HookRow, redactor: Redactor) -> HookRow:
    return hook.model_copy(update={"args": _redacted(hook.args, redactor)})


def _redacted(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.redact(value)
    if isinstance(value, dict):
        return {name: _redacted(inner, redactor) for name, inner in value.items()}
    if isinstance(value, list):
        return [_redacted(inner, redactor) for inner in value]
    return value


def _capabilities(client: Any) -> dict[str, Any]:
    shown: dict[str, Any] = client.server_capabilities.model_dump(by_alias=True, exclude_none=True)
    return shown
