"""A run as a person watches it: text as it comes, one line for each call, notices dimmed."""

from __future__ import annotations

from host.cli.screen import Screen, counted, duration
from host.receipt import Receipt
from host.records import PoolEvent, RunEvent
from host.text.terminal_text import one_line

MAX_ARGUMENTS_CHARS = 100
MAX_REASON_CHARS = 160
MAX_ERROR_CHARS = 300

WORRYING = frozenset({"warning", "error", "critical", "alert", "emergency"})
"""Levels of log lines that a person should see."""


class RunView:
    """A subscriber that shows a run's events on a screen."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._asked: dict[str, tuple[RunEvent, str]] = {}

    def __call__(self, event: RunEvent | PoolEvent) -> None:
        """Shows one event; kinds that a person need not see pass by."""
        if isinstance(event, PoolEvent):
            line = pool_line(event)
            if line:
                self._screen.notice(line)
            return
        match event.kind:
            case "output":
                self._screen.stream(event.text)
            case "tool-call":
                self._asked[event.id or event.name] = (event, event.text)
            case "tool-result":
                self._show_call(event)
            case "notice":
                self._screen.notice(f"· {event.text}")
            case _:
                pass

    def _show_call(self, event: RunEvent) -> None:
        asked, arguments = self._asked.pop(event.id or event.name, (event, ""))
        took = duration((event.at - asked.at).total_seconds())
        mark = "→" if event.ok else "✗"
        line = f"{mark} {event.name} {shortened(arguments, MAX_ARGUMENTS_CHARS)}  {took}"
        if not event.ok:
            line += f"  {shortened(event.text, MAX_REASON_CHARS)}"
        self._screen.notice(line, style="cyan" if event.ok else "red")


def pool_line(event: PoolEvent) -> str:
    """The line for what happened to a server, or "" for what nobody waits for."""
    match event.kind:
        case "connect":
            tools = counted(event.tools or 0, "tool")
            return one_line(f"✓ {event.server_id}: {tools}, {duration(event.seconds or 0)}")
        case "connect-failed":
            return _with_reason(f"✗ {event.server_id}:", event.error or "did not come up")
        case "close" if event.reason == "crash":
            return _with_reason(f"✗ {event.server_id} died:", event.error or "no reason known")
        case "log" if event.level in WORRYING:
            return _with_reason(f"· {event.server_id or 'servers'}:", event.text or "")
        case _:
            return ""


def receipt_lines(bill: Receipt) -> list[str]:
    """The receipt in words, aligned; estimates say that they are."""
    cached = "" if bill.cached_tokens is None else f", {bill.cached_tokens:,} from cache"
    counted_by = (
        f"{bill.prompt_tokens:,} prompt + {bill.completion_tokens:,} completion{cached}"
        if bill.prompt_tokens or bill.completion_tokens
        else "the endpoint counted none"
    )
    failed = f" ({bill.failed_calls} failed)" if bill.failed_calls else ""
    beside = f" ({bill.asides} beside the turns: {bill.aside_tokens:,} tokens)"
    idle = counted(bill.wasted_round_trips, "turn")
    wasted = f"; {idle} loaded tools for nothing" if bill.wasted_round_trips else ""
    saved = f" (estimate; {bill.saved_share:.0%} saved)" if bill.eager_tokens else " (estimate)"
    spent = f"model {duration(bill.model_seconds)}, tools {duration(bill.tool_seconds)}"
    rows = [
        ("requests", f"{bill.requests}{beside if bill.asides else ''}"),
        ("tokens", counted_by),
        (
            "tools in prompt",
            f"{bill.catalogue_tokens:,} catalogue + {bill.schema_tokens:,} schemas (estimate)",
        ),
        ("all schemas, always", f"{bill.eager_tokens:,}{saved}"),
        (
            "tool calls",
            f"{bill.tool_calls}, after {counted(bill.loads, 'load')}{failed}{wasted}",
        ),
        ("time", f"{duration(bill.seconds)} ({spent})"),
    ]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]


def shortened(text: str, limit: int) -> str:
    """The text on one line, without what steers a terminal, cut to so many characters."""
    line = one_line(text)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _with_reason(what: str, reason: str) -> str:
    return f"{one_line(what)} {shortened(reason, MAX_ERROR_CHARS)}"
