"""Latched refusals as JSON, so that a restart need not be refused again: no key and no URL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from host.wire.capabilities import AcceptedForm, Capabilities, ModelCapabilities
from host.wire.tool_forms import proven_tools

SNAPSHOT_VERSION = 1

_ENDPOINT_FLAGS = {"strict_schemas": "strictSchemas", "usage_in_stream": "usageInStream"}
_MODEL_FLAGS = {
    "reasoning_effort": "reasoningEffort",
    "legacy_token_limit": "legacyTokenLimit",
    "chosen_temperature": "chosenTemperature",
    "structured_output": "structuredOutput",
    "assistant_prefill": "assistantPrefill",
    "thinking_hints": "thinkingHints",
    "tools": "tools",
}
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MODEL_SETS = {"refused_fields": "refusedFields", "refused_efforts": "refusedEfforts"}


def capabilities_json(known: Mapping[str, Capabilities], *, saved_at: datetime) -> dict[str, Any]:
    """The refusals of all endpoints as a JSON object; endpoints and models without one stay out.

    Args:
        known: by endpoint id, which is a digest.
    """
    entries = {
        name: _endpoint_json(capabilities)
        for name, capabilities in known.items()
        if _is_refused(capabilities)
    }
    return {"version": SNAPSHOT_VERSION, "savedAt": _iso(saved_at), "endpoints": entries}


def read_capabilities(blob: object) -> dict[str, Capabilities] | None:
    """The refusals of a snapshot by endpoint id; None for what is no snapshot of this version.

    Only ``false`` is a refusal; a field of another type says nothing.
    """
    match blob:
        case {"version": int() as version, "endpoints": Mapping() as endpoints}:
            if isinstance(version, bool) or version != SNAPSHOT_VERSION:
                return None
        case _:
            return None
    read = {
        name: _endpoint(entry)
        for name, entry in endpoints.items()
        if isinstance(name, str) and isinstance(entry, Mapping)
    }
    return {name: found for name, found in read.items() if _is_refused(found)}


def merge_capabilities(into: Capabilities, refused: Capabilities) -> None:
    """Turns off in ``into``, in place, what ``refused`` has off; turns nothing on.

    The older ``since`` wins.
    """
    for name in _ENDPOINT_FLAGS:
        setattr(into, name, getattr(into, name) and getattr(refused, name))
    stamps = [stamp for stamp in (into.since, refused.since) if stamp is not None]
    into.since = min(stamps, default=None)
    for model, known in refused.models.items():
        _merge_model(into.for_model(model), known)


def _merge_model(into: ModelCapabilities, refused: ModelCapabilities) -> None:
    for name in _MODEL_FLAGS:
        setattr(into, name, getattr(into, name) and getattr(refused, name))
    into.refused_fields |= refused.refused_fields
    into.refused_efforts |= refused.refused_efforts
    into.supported_efforts = into.supported_efforts or refused.supported_efforts
    limits = [limit for limit in (into.max_tools, refused.max_tools) if limit is not None]
    into.max_tools = min(limits, default=None)
    for digest, form in refused.refused_tools.items():
        into.refused_tools[digest] = (
            "out" if form == "out" else into.refused_tools.get(digest, form)
        )


def _is_refused(capabilities: Capabilities) -> bool:
    flags = all(getattr(capabilities, name) for name in _ENDPOINT_FLAGS)
    return not flags or any(map(_is_model_refused, capabilities.models.values()))


def _is_model_refused(model: ModelCapabilities) -> bool:
    proven = replace(model, refused_tools=proven_tools(model.refused_tools))
    return proven != ModelCapabilities()


def _endpoint_json(capabilities: Capabilities) -> dict[str, Any]:
    entry: dict[str, Any] = {
        key: getattr(capabilities, name) for name, key in _ENDPOINT_FLAGS.items()
    }
    if capabilities.since is not None:
        entry["since"] = int(capabilities.since.timestamp() * 1000)
    entry["models"] = {
        name: _model_json(model)
        for name, model in capabilities.models.items()
        if _is_model_refused(model)
    }
    return entry


def _model_json(model: ModelCapabilities) -> dict[str, Any]:
    entry: dict[str, Any] = {key: getattr(model, name) for name, key in _MODEL_FLAGS.items()}
    entry |= {key: sorted(getattr(model, name)) for name, key in _MODEL_SETS.items()}
    if model.supported_efforts is not None:
        entry["supportedEfforts"] = list(model.supported_efforts)
    if model.max_tools is not None:
        entry["maxTools"] = model.max_tools
    if proven := proven_tools(model.refused_tools):
        entry["refusedTools"] = dict(sorted(proven.items()))
    return entry


def _endpoint(entry: Mapping[str, Any]) -> Capabilities:
    models = entry.get("models")
    return Capabilities(
        **{name: entry.get(key) is not False for name, key in _ENDPOINT_FLAGS.items()},
        models={
            name: _model(model)
            for name, model in (models if isinstance(models, Mapping) else {}).items()
            if isinstance(name, str) and isinstance(model, Mapping)
        },
        since=_time(entry.get("since")),
    )


def _model(entry: Mapping[str, Any]) -> ModelCapabilities:
    flags: dict[str, Any] = {
        name: entry.get(key) is not False for name, key in _MODEL_FLAGS.items()
    }
    return ModelCapabilities(
        **flags,
        refused_fields=set(_strings(entry.get("refusedFields"))),
        refused_efforts=set(_strings(entry.get("refusedEfforts"))),
        supported_efforts=tuple(_strings(entry.get("supportedEfforts"))) or None,
        max_tools=_count(entry.get("maxTools")),
        refused_tools=_tool_forms(entry.get("refusedTools")),
    )


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value > 0 else None


def _tool_forms(value: object) -> dict[str, AcceptedForm]:
    forms: dict[str, AcceptedForm] = {}
    for digest, form in value.items() if isinstance(value, Mapping) else ():
        if isinstance(digest, str) and _DIGEST.fullmatch(digest) and form in ("bare", "out"):
            forms[digest] = form
    return forms


def _strings(value: object) -> Iterable[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _time(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
