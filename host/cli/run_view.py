"""A run as a person watches it: text as it comes, one line for each call, notices dimmed."""

from __future__ import annotations

from datetime import datetime

from host.cli.screen import Screen, counted, duration
from host.receipt import Receipt
from host.records import PoolEvent, RunEvent
from host.text.terminal_text import one_line

MAX_ARGUMENTS_CHARS = 100
MAX_NAME_CHARS = 100
MAX_NOTICE_CHARS = 1000
MAX_REASON_CHARS = 160
MAX_ERROR_CHARS = 300

PROGRESS_SECONDS = 3.0
"""How far apart the lines are that say how far a call is; quick ones get none."""

WORRYING = frozenset({"warning", "error", "critical", "alert", "emergency"})
"""Levels of log lines that a person should see."""


class RunView:
    """A subscriber that shows a run's events on a screen."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._asked: dict[str, tuple[RunEvent, str]] = {}
        self._told_progress: dict[str, datetime] = {}

    def __call__(self, event: RunEvent | PoolEvent) -> None:
        """Shows one event; kinds that a person need not see pass by."""
        if isinstance(event, PoolEvent):
            line = self._progress(event) or pool_line(event)
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
                self._screen.notice(f"· {shortened(event.text, MAX_NOTICE_CHARS)}")
            case _:
                pass

    def _progress(self, event: PoolEvent) -> str:
        """The line for a call that takes long, now and then; "" for most of what is reported."""
        name = event.tool_name or ""
        if event.kind == "call":
            self._told_progress.pop(name, None)
        if event.kind != "progress":
            return ""
        before = self._told_progress.setdefault(name, event.at)
        if (event.at - before).total_seconds() < PROGRESS_SECONDS:
            return ""
        self._told_progress[name] = event.at
        return progress_line(event)

    def _show_call(self, event: RunEvent) -> None:
        asked, arguments = self._asked.pop(event.id or event.name, (event, ""))
        took = duration((event.at - asked.at).total_seconds())
        mark = "→" if event.ok else "✗"
        name = shortened(event.name, MAX_NAME_CHARS)
        line = f"{mark} {name} {shortened(arguments, MAX_ARGUMENTS_CHARS)}  {took}"
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
        case "sampling":
            return _sampling_line(event)
        case "log" if event.level in WORRYING and event.source == "server":
            part = f" ({event.logger})" if event.logger else ""
            return _with_reason(f"· {event.server_id}{part} says:", event.text or "")
        case "log" if event.level in WORRYING or _is_of_the_host(event):
            return _with_reason(f"· {event.server_id or 'servers'}:", event.text or "")
        case _:
            return ""


def _is_of_the_host(event: PoolEvent) -> bool:
    """Whether it tells of the host's own doing: what became of an edited servers file."""
    return event.server_id is None and event.level == "notice"


def progress_line(event: PoolEvent) -> str:
    """How far a call is, in one line."""
    done = event.progress or 0.0
    far = f"{done:g}"
    if event.total:
        far = f"{min(max(done / event.total, 0.0), 1.0):.0%}"
    return _with_reason(f"… {event.tool_name} {far}", event.text or "").rstrip()


def _sampling_line(event: PoolEvent) -> str:
    """What a server's question to the model came to."""
    if not event.ok:
        return _with_reason(f"· {event.server_id} asked the model in vain:", event.error or "")
    spent = f"{event.prompt_tokens or 0:,} + {event.completion_tokens or 0:,} tokens"
    return one_line(f"· {event.server_id} asked the model: {spent}")


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
