"""Hook rows on paper: are they right, and what do their templates become?

Running hooks is another module's work. Source: pool spec §14, design §8 "Hooks".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from host.records import HOOK_EVENTS, INJECT_EVENTS, HookEvent
from host.text.json_text import compact_json

VETO_EVENTS: tuple[HookEvent, ...] = ("beforeCompact",)
"""The events whose hooks may say no."""

COMMON_PLACEHOLDERS = ("session.id", "host", "now")
VARS_PREFIX = "vars."

EVENT_PLACEHOLDERS: Mapping[HookEvent, tuple[str, ...]] = {
    "sessionStart": ("prompt",),
    "beforeTurn": ("prompt", "turn.index"),
    "afterTurn": ("prompt", "reply", "turn.index", "turn.messages"),
    "beforeCompact": ("compacting", "range.from", "range.through"),
    "sessionEnd": ("status", "reply"),
    "sessionDelete": (),
}
"""What each event offers besides ``COMMON_PLACEHOLDERS`` and everything under ``vars.``."""

_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z0-9_.]+)\s*\}\}")


def expand_args(
    args: Mapping[str, Any] | None, context: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The arguments with their placeholders filled, and the paths that the context lacks.

    A string that is one placeholder becomes the value itself, whatever its type; inside other
    text strings stand as they are and everything else as compact JSON. Only values are templates,
    keys are not. A null is a value. A missing placeholder is left as written; each path is
    reported once, in order of appearance.
    """
    missing: dict[str, None] = {}
    expanded = {name: _expand(value, context, missing) for name, value in (args or {}).items()}
    return expanded, list(missing)


def _expand(value: object, context: Mapping[str, Any], missing: dict[str, None]) -> object:
    if isinstance(value, Mapping):
        return {name: _expand(inner, context, missing) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_expand(inner, context, missing) for inner in value]
    if not isinstance(value, str):
        return value
    if whole := _PLACEHOLDER.fullmatch(value):
        found, filled = _look_up(whole[1], context, missing)
        return filled if found else value

    def written(match: re.Match[str]) -> str:
        found, filled = _look_up(match[1], context, missing)
        if not found:
            return match[0]
        return filled if isinstance(filled, str) else _json_or_text(filled)

    return _PLACEHOLDER.sub(written, value)


def _json_or_text(value: object) -> str:
    """Compact JSON; what a host put into the context that is no JSON, as Python writes it."""
    try:
        return compact_json(value)
    except (ValueError, TypeError):
        return str(value)


def _look_up(
    path: str, context: Mapping[str, Any], missing: dict[str, None]
) -> tuple[bool, object]:
    value: object = context
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            missing[path] = None
            return False, None
        value = value[key]
    return True, value


def validate_hooks(hooks: object) -> list[str]:
    """Everything wrong with a row's ``hooks``, in words that name the hook and the remedy.

    Takes anything; None is no hooks. Hooks without an id are called by their position, from 1.
    Whether the tools exist is not asked.
    """
    if hooks is None:
        return []
    if not isinstance(hooks, list | tuple):
        return ["hooks must be a list of objects like {id, on, tool}"]
    problems: list[str] = []
    seen: set[str] = set()
    for number, hook in enumerate(hooks, start=1):
        if not isinstance(hook, Mapping):
            problems.append(f"hook {number} must be an object with id, on and tool")
            continue
        hook = {name: value for name, value in hook.items() if value is not None}
        name, shown = _hook_id(hook), hook_label(hook, number)
        problems += (f"{shown}: {problem}" for problem in _hook_problems(hook))
        if name and name in seen:
            problems.append(f"{shown}: the id is used twice; give each hook its own")
        seen.add(name)
    return problems


def hook_label(hook: object, number: int) -> str:
    """How problems call a hook: by its id, or by its position (from 1) without one."""
    name = _hook_id(hook) if isinstance(hook, Mapping) else ""
    return f'hook "{name}"' if name else f"hook {number}"


def _hook_id(hook: Mapping[str, Any]) -> str:
    name = hook.get("id")
    return name if isinstance(name, str) and name.strip() else ""


def _hook_problems(hook: Mapping[str, Any]) -> Iterator[str]:
    if not _hook_id(hook):
        yield "id is missing; give it a short name of its own"
    tool = hook.get("tool")
    if not isinstance(tool, str) or not tool.strip():
        yield "tool is missing; name one of this server's tools as the server calls it"
    for flag in ("inject", "veto", "enabled"):
        if not isinstance(hook.get(flag, False), bool):
            yield f"{flag} must be true or false"
    for limit in ("maxTokens", "timeoutMs"):
        if limit in hook and not _is_positive_whole(hook[limit]):
            yield f"{limit} must be a whole number of at least 1"
    args = hook.get("args", {})
    if not isinstance(args, Mapping) or not all(isinstance(name, str) for name in args):
        yield "args must be an object with the tool's arguments"
    yield from _event_problems(hook)


def _is_positive_whole(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value >= 1 and value % 1 == 0


def _event_problems(hook: Mapping[str, Any]) -> Iterator[str]:
    event = next((known for known in HOOK_EVENTS if known == hook.get("on")), None)
    if event is None:
        yield f"on must be one of {', '.join(HOOK_EVENTS)}"
        return
    for flag, events in (("inject", INJECT_EVENTS), ("veto", VETO_EVENTS)):
        if hook.get(flag) is True and event not in events:
            yield f"{flag} does nothing on {event}; it works on {', '.join(events)}"
    offered = (*COMMON_PLACEHOLDERS, *EVENT_PLACEHOLDERS[event])
    for path in dict.fromkeys(_placeholders(hook.get("args"))):
        if path not in offered and not path.startswith(VARS_PREFIX):
            yield (
                f"{{{{ {path} }}}} is not offered on {event}; "
                f"there are {', '.join(offered)} and {VARS_PREFIX}*"
            )


def _placeholders(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _placeholders(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _placeholders(inner)
    elif isinstance(value, str):
        yield from (match[1] for match in _PLACEHOLDER.finditer(value))
