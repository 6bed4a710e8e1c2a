"""Running the hooks of an event: all at once, bounded, never raising. Source: pool spec §14."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import anyio

from host.errors import HostError
from host.pool.hook_templates import VETO_EVENTS, expand_args
from host.pool.naming import qualified_name
from host.pool.row_secrets import row_redactor
from host.pool.rows import HookRow, ServerRow
from host.records import INJECT_EVENTS, HookContext, HookEvent, HookOutcome
from host.text.json_text import parse_json_strict

logger = logging.getLogger("host.pool")

ANSWER_SECONDS = 3.0
"""How long a hook may hold up what waits for its answer, unless its row says otherwise."""


class CallHook(Protocol):
    """Calls a server's tool for a hook and gives its whole answer, "" for an empty one."""

    def __call__(
        self, server_id: str, name: str, arguments: dict[str, Any], seconds: float | None
    ) -> Awaitable[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    row: ServerRow
    hook: HookRow
    event: HookEvent

    @property
    def injects(self) -> bool:
        return self.hook.inject and self.event in INJECT_EVENTS

    @property
    def may_veto(self) -> bool:
        return self.hook.veto and self.event in VETO_EVENTS

    @property
    def seconds(self) -> float | None:
        if self.hook.timeout_ms is not None:
            return self.hook.timeout_ms / 1000
        return ANSWER_SECONDS if self.event in INJECT_EVENTS or self.may_veto else None


async def run_hooks(
    rows: Iterable[ServerRow],
    event: HookEvent,
    context: HookContext,
    call: CallHook,
    *,
    ready: Callable[[str], Awaitable[None]],
    now: Callable[[], datetime],
    servers: Collection[str] | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> list[HookOutcome]:
    """What each hook of the event did, in configuration order.

    They start together. A failed or skipped one is told to ``on_notice`` in a line; a placeholder
    without a value skips its hook. A server that is still connecting, at rest or due is waited
    for within the hook's own time; one that fails ends that wait at once. Nothing but a
    cancellation comes out of here.

    Args:
        ready: returns when the server of this id can be called, and raises when it cannot.
        servers: ids of the servers in reach; None for all, empty for none.
    """
    due = [
        _Due(row=row, hook=hook, event=event)
        for row in rows
        if row.enabled and (servers is None or row.id in servers)
        for hook in row.hooks or ()
        if hook.on == event and hook.enabled
    ]
    known: Mapping[str, Any] = {"now": now().isoformat(), **context}
    outcomes: dict[int, HookOutcome] = {}

    async def run(place: int, hook: _Due) -> None:
        outcomes[place] = await _outcome(hook, known, call, ready)
        if not outcomes[place].ok:
            _tell(outcomes[place], on_notice)

    async with anyio.create_task_group() as tasks:
        for place, hook in enumerate(due):
            tasks.start_soon(run, place, hook)
    return [outcomes[place] for place in range(len(due))]


async def _outcome(
    due: _Due,
    context: Mapping[str, Any],
    call: CallHook,
    ready: Callable[[str], Awaitable[None]],
) -> HookOutcome:
    began = anyio.current_time()
    args, missing = expand_args(due.hook.args, context)
    if missing:
        paths = ", ".join(f"{{{{ {path} }}}}" for path in missing)
        return _made(due, began, error=f"nothing to fill {paths} with", skipped=True)
    name = qualified_name(due.row.effective_slug, due.hook.tool)
    text, error = "", f"its server was not connected within {due.seconds or 0:g} s"
    with anyio.move_on_after(due.seconds):
        _, error = await _answer(ready(due.row.id))
        if not error:
            error = f"no answer within {due.seconds or 0:g} s"
            text, error = await _answer(call(due.row.id, name, args, due.seconds))
    if error:
        return _made(due, began, error=error)
    if due.may_veto:
        veto, reason = _veto(text)
        return _made(due, began, text=reason if veto else text, veto=veto)
    return _made(due, began, text=text)


async def _answer(call: Awaitable[str | None]) -> tuple[str, str]:
    """The answer and ""; or "" and why there is none."""
    try:
        return await call or "", ""
    except HostError as error:
        return "", str(error)
    except Exception as error:  # containment: a hook never ends the run it belongs to
        logger.warning("a hook failed in an unknown way", exc_info=True)
        return "", f"{type(error).__name__}: {error}"


def _made(
    due: _Due,
    began: float,
    *,
    text: str = "",
    error: str | None = None,
    skipped: bool = False,
    veto: bool = False,
) -> HookOutcome:
    return HookOutcome(
        server_id=due.row.id,
        label=due.row.effective_label,
        hook_id=due.hook.id,
        event=due.event,
        ok=error is None,
        text=text or None,
        error=error and row_redactor(due.row).redact(error),
        skipped=skipped,
        veto=veto,
        seconds=anyio.current_time() - began,
        inject=due.injects,
        max_tokens=due.hook.max_tokens,
    )


def _veto(text: str) -> tuple[bool, str]:
    """Whether the answer says no, and its reason ("" for none given)."""
    try:
        said = parse_json_strict(text)
    except ValueError:
        return False, ""
    if not isinstance(said, dict) or said.get("veto") is not True:
        return False, ""
    reason = said.get("reason")
    return True, reason if isinstance(reason, str) and reason.strip() else ""


def _tell(outcome: HookOutcome, on_notice: Callable[[str], None] | None) -> None:
    what = "was skipped" if outcome.skipped else "failed"
    text = f'{outcome.label}: hook "{outcome.hook_id}" ({outcome.event}) {what}: {outcome.error}'
    logger.info("%s", text)
    if on_notice is None:
        return
    try:
        on_notice(text)
    except Exception:  # containment: who watches must not fail who is watched
        logger.warning("a notice callback raised", exc_info=True)
