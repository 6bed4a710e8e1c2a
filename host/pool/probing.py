"""Dialling a row once to see what it offers, and hanging up. Source: pool spec §17."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from host.pool.commons import Commons
from host.pool.fingerprint import tools_fingerprint
from host.pool.listing import read_listing
from host.pool.row_secrets import RowRedactor
from host.pool.rows import ServerRow
from host.pool.sdk_loading import load_sdk
from host.pool.server_state import ProbedTool, ProbeReport
from host.pool.settings import PoolSettings
from host.pool.wiring import Wiring

if TYPE_CHECKING:
    from host.pool.connection import Connection

NAME_SUFFIX = "-probe"


async def probe(
    row: ServerRow, *, settings: PoolSettings | None = None, timeout_seconds: float | None = None
) -> ProbeReport:
    """Dial a row without a pool, list its tools, and hang up; never raises.

    Patience is ``timeout_seconds``, else the row's connect timeout, else the settings'.

    Args:
        settings: who we are and what children inherit; None for the defaults.
    """
    settings = settings or PoolSettings()
    seconds = timeout_seconds
    if seconds is None:
        seconds = row_connect_seconds(row, settings.connect_timeout_seconds)
    async with anyio.create_task_group() as group:
        commons = Commons(settings, group)
        try:
            report = await probe_with(commons, row, seconds)
        finally:
            await commons.guard.aclose()
    return report


def row_connect_seconds(row: ServerRow, default: float | None) -> float | None:
    """The row's connect timeout, or the default where it has none."""
    return default if row.connect_timeout_ms is None else row.connect_timeout_ms / 1000


async def probe_with(commons: Commons, row: ServerRow, seconds: float | None) -> ProbeReport:
    """Dial a row with what a pool shares; stores nothing of what it finds."""
    await load_sdk()
    from host.pool.connection import Connection

    wiring: Wiring[Connection] = Wiring(
        on_gone=lambda _: None,
        on_end=lambda _: None,
        on_lost=lambda _: None,
        on_tools=lambda _, __: False,
        on_notification=lambda _: None,
        on_notice=lambda _, __: None,
    )
    connection = Connection(
        row,
        commons,
        wiring,
        connect_seconds=seconds,
        lists_tools=True,
        client_name=commons.settings.client_name + NAME_SUFFIX,
    )
    try:
        await connection.open()
        return _report(row, connection, commons.authorities.redactor(row))
    finally:
        connection.stop("shutdown")
        with anyio.CancelScope(shield=True):
            await connection.ended.wait()


def _report(row: ServerRow, connection: Connection, redactor: RowRedactor) -> ProbeReport:
    client = connection.client
    if client is None:
        failure = connection.failure or connection.end_failure()
        return ProbeReport(ok=False, error=redactor.redact(failure.text))
    slug, label = row.effective_slug, row.effective_label
    models = redactor.for_models  # as in a pool, so that the fingerprints are the same
    tools = read_listing(connection.tools, slug=slug, label=label, redactor=models).tools
    return ProbeReport(
        ok=True,
        tools=tuple(
            ProbedTool(
                name=tool.name,
                description=redactor.redact(tool.description),
                title=tool.title and redactor.redact(tool.title),
                annotations=redactor.redact_values(tool.annotations),
            )
            for tool in tools
        ),
        tools_fingerprint=tools_fingerprint(tools),
        instructions=client.instructions and redactor.redact(client.instructions),
        era=client.protocol_version,
    )
