"""What ``ServerPool.state`` shows of an entry, without its secrets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from host.pool.entry import Entry
from host.pool.rows import (
    AuthRow,
    HookRow,
    HttpServerRow,
    IdentityProviderRow,
    ServerRow,
    StdioServerRow,
    copied_row,
)
from host.pool.server_state import ServerState, ToolState
from host.pool.tool_index import ListedServer, tool_states
from host.pool.written_secrets import shown_fields
from host.text.redaction import REDACTED, Redactor


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
        error=entry.error,
        tools=tuple(_shown(tool, entry.redactor) for tool in _tools(entry)),
        stale=entry.stale,
        era=client.protocol_version if client else None,
        tools_fingerprint=entry.fingerprint,
        pid=connection.pid if connection else None,
        started_at=entry.started_at,
        retry_at=entry.retry_at,
        instructions=redact(client.instructions) if client and client.instructions else None,
        capabilities=entry.redactor.redact_values(_capabilities(client)) if client else None,
        stderr_tail=redact(words),
    )


def _tools(entry: Entry) -> tuple[ToolState, ...]:
    return tool_states(ListedServer(row=entry.row, tools=entry.listing))


def _shown(tool: ToolState, redactor: Redactor) -> ToolState:
    """The tool with nothing in what describes it that may be a secret; its names stay."""
    if not redactor:
        return tool
    return replace(
        tool,
        description=redactor.redact(tool.description),
        title=tool.title and redactor.redact(tool.title),
        annotations=redactor.redact_values(tool.annotations),
    )


def blanked_row(row: ServerRow, redactor: Redactor) -> ServerRow:
    """A copy with every value of ``env`` and ``headers`` blanked.

    Secrets are taken out of command, folder, roots, arguments, address and hook arguments as well
    (pool spec §9 [H]).
    """
    shown = shown_fields(vars(row), redactor)
    shown["hooks"] = row.hooks and tuple(_blanked_hook(hook, redactor) for hook in row.hooks)
    if isinstance(row, StdioServerRow):
        shown["env"] = _blanked(row.env)
    elif isinstance(row, HttpServerRow):
        shown["headers"] = _blanked(row.headers)
        shown["auth"] = row.auth and _blanked_auth(row.auth)
    return row.model_copy(update=shown, deep=True)


def _blanked(values: dict[str, Any] | None) -> dict[str, str] | None:
    return None if values is None else dict.fromkeys(values, REDACTED)


def _blanked_auth(auth: AuthRow) -> AuthRow:
    shown = _blanked_client(auth)
    provider = auth.identity_provider
    blanked = provider and provider.model_copy(update=_blanked_client(provider))
    return auth.model_copy(update=shown | {"identity_provider": blanked})


def _blanked_client(client: AuthRow | IdentityProviderRow) -> dict[str, Any]:
    shown = shown_fields(vars(client))
    return shown | {"client_secret": client.client_secret and REDACTED}


def _blanked_hook(hook: HookRow, redactor: Redactor) -> HookRow:
    return hook.model_copy(update=shown_fields(vars(hook), redactor))


def _capabilities(client: Any) -> dict[str, Any]:
    shown: dict[str, Any] = client.server_capabilities.model_dump(by_alias=True, exclude_none=True)
    return shown
