"""What a server says of a task it has made of a call, read whoever wrote it. No I/O.

Two protocols have tasks: 2025-11-25 in its core, and 2026-07-28 as the extension
``io.modelcontextprotocol/tasks`` (SEP-2663). Names of fields differ, the meaning does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"

USUAL_POLL_SECONDS = 1.0
MIN_POLL_SECONDS = 0.1
MAX_POLL_SECONDS = 30.0
"""The longest pause between two questions, whatever the server would like."""


class TaskFailed(Exception):
    """A call that had become a task has no result; the text is a clause without its subject."""


TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]
_STATUSES: dict[str, TaskStatus] = {status: status for status in get_args(TaskStatus)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """A task at one moment.

    Attributes:
        message: what the server says of how it stands; "" for nothing.
        poll_seconds: when to ask again.
        stamp: changes whenever the server has got on with it.
        requests: what the server wants to know before it goes on, by the server's own keys.
        result: of the call, where it is handed over with the state.
        error: code and text of the JSON-RPC error that ended it; None for none.
    """

    task_id: str
    status: TaskStatus
    message: str = ""
    poll_seconds: float = USUAL_POLL_SECONDS
    stamp: tuple[str, ...] = ()
    requests: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    error: tuple[int, str] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status in ("completed", "failed", "cancelled")


def read_task(sent: Mapping[str, Any]) -> TaskState:
    """The state that an answer about a task stands for; what is odd beside id and status is left.

    Args:
        sent: the answer to ``tools/call`` or ``tasks/get``; the older one to ``tools/call`` has
            the task in a field of its own.

    Raises:
        ValueError: it names no task, or no status that there is.
    """
    inner = sent.get("task")
    task = inner if isinstance(inner, Mapping) else sent
    task_id, status = task.get("taskId"), _STATUSES.get(str(task.get("status")))
    if not isinstance(task_id, str) or not task_id or status is None:
        raise ValueError("answered about a task without saying which, or how it stands")
    message, changed = task.get("statusMessage"), task.get("lastUpdatedAt")
    return TaskState(
        task_id=task_id,
        status=status,
        message=message if isinstance(message, str) else "",
        poll_seconds=poll_seconds(task.get("pollIntervalMs", task.get("pollInterval"))),
        stamp=(status, str(message), str(changed)),
        requests=_mapping(task.get("inputRequests")) or {},
        result=_mapping(task.get("result")),
        error=_error(task.get("error")),
    )


def poll_seconds(milliseconds: object) -> float:
    """The pause that a server asks for, kept within bounds; the usual one for what is no number."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return USUAL_POLL_SECONDS
    if math.isnan(milliseconds):
        return USUAL_POLL_SECONDS
    return min(max(milliseconds, MIN_POLL_SECONDS * 1000), MAX_POLL_SECONDS * 1000) / 1000


def needs_task(tool: Mapping[str, Any]) -> bool:
    """Whether a tool, as sent, can only be called as a task."""
    return _nested(tool, "execution").get("taskSupport") == "required"


def speaks_tasks(capabilities: Mapping[str, Any], *, is_modern: bool) -> bool:
    """Whether tools of a server can be called as tasks.

    Args:
        capabilities: the server's, as on the wire.
        is_modern: it is spoken to in the era of 2026-07-28, not in that of sessions.
    """
    if is_modern:
        return TASKS_EXTENSION in _nested(capabilities, "extensions")
    return "call" in _nested(capabilities, "tasks", "requests", "tools")


def _nested(value: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        value = _mapping(value.get(name)) or {}
    return value


def _mapping(value: object) -> Mapping[str, Any] | None:
    return value if isinstance(value, Mapping) else None


def _error(value: object) -> tuple[int, str] | None:
    if not isinstance(value, Mapping):
        return None
    code, message = value.get("code"), value.get("message")
    if isinstance(code, bool) or not isinstance(code, int):
        code = 0
    return code, message if isinstance(message, str) else ""
