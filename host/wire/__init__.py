"""An OpenAI-compatible endpoint: everything between a request and a turn; usable alone.

    import anyio
    from host.wire import EndpointModel, Endpoints, EndpointSettings, ModelParams

    async def main() -> None:
        here = EndpointSettings(base_url="http://localhost:8080/v1")
        question = [{"role": "user", "content": "Say hello."}]
        async with Endpoints() as endpoints:
            model = EndpointModel(endpoints, here, ModelParams(model="local", max_tokens=200))
            turn = await model.turn(question, tools=[], on_output=print)
        print(turn.content, turn.usage.completion_tokens)

    anyio.run(main)

Names are loaded when they are first used, so that a question about settings does not pay for the
openai SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from host.text.thinking import FenceSplitter, strip_thinking
    from host.text.tokens import compact_count, estimate_tokens, message_tokens, request_tokens
    from host.text.tool_arguments import parse_tool_arguments
    from host.text.tool_call_recovery import recover_tool_calls
    from host.wire.answers import clean, list_lines, parse_json
    from host.wire.calibration import Calibration
    from host.wire.capabilities import Capabilities, ModelCapabilities
    from host.wire.clients import Endpoints
    from host.wire.continuation import continue_turn
    from host.wire.endpoint import run_turn
    from host.wire.listings import ListedModel
    from host.wire.model import EndpointModel
    from host.wire.negotiation import Produced, negotiate
    from host.wire.request_body import build_body
    from host.wire.retry import backoff_seconds, is_model_loading, is_overflow, is_transient
    from host.wire.schema_compat import (
        is_grammar_error,
        relax_schema,
        relax_tools,
        sanitize_schema,
        sanitize_tools,
    )
    from host.wire.settings import (
        NO_KEY,
        EndpointSettings,
        ModelParams,
        RetryPolicy,
        endpoint_id,
        resolve_api_key,
    )
    from host.wire.side_tasks import ask, ask_json, try_ask
    from host.wire.streaming import stream_turn

__all__ = [
    "NO_KEY",
    "Calibration",
    "Capabilities",
    "EndpointModel",
    "EndpointSettings",
    "Endpoints",
    "FenceSplitter",
    "ListedModel",
    "ModelCapabilities",
    "ModelParams",
    "Produced",
    "RetryPolicy",
    "ask",
    "ask_json",
    "backoff_seconds",
    "build_body",
    "clean",
    "compact_count",
    "continue_turn",
    "endpoint_id",
    "estimate_tokens",
    "is_grammar_error",
    "is_model_loading",
    "is_overflow",
    "is_transient",
    "list_lines",
    "message_tokens",
    "negotiate",
    "parse_json",
    "parse_tool_arguments",
    "recover_tool_calls",
    "relax_schema",
    "relax_tools",
    "request_tokens",
    "resolve_api_key",
    "run_turn",
    "sanitize_schema",
    "sanitize_tools",
    "stream_turn",
    "strip_thinking",
    "try_ask",
]

_HOMES = {
    "host.text.thinking": ("FenceSplitter", "strip_thinking"),
    "host.text.tokens": ("compact_count", "estimate_tokens", "message_tokens", "request_tokens"),
    "host.text.tool_arguments": ("parse_tool_arguments",),
    "host.text.tool_call_recovery": ("recover_tool_calls",),
    "host.wire.answers": ("clean", "list_lines", "parse_json"),
    "host.wire.calibration": ("Calibration",),
    "host.wire.capabilities": ("Capabilities", "ModelCapabilities"),
    "host.wire.clients": ("Endpoints",),
    "host.wire.continuation": ("continue_turn",),
    "host.wire.endpoint": ("run_turn",),
    "host.wire.listings": ("ListedModel",),
    "host.wire.model": ("EndpointModel",),
    "host.wire.negotiation": ("Produced", "negotiate"),
    "host.wire.request_body": ("build_body",),
    "host.wire.retry": ("backoff_seconds", "is_model_loading", "is_overflow", "is_transient"),
    "host.wire.schema_compat": (
        "is_grammar_error",
        "relax_schema",
        "relax_tools",
        "sanitize_schema",
        "sanitize_tools",
    ),
    "host.wire.settings": (
        "NO_KEY",
        "EndpointSettings",
        "ModelParams",
        "RetryPolicy",
        "endpoint_id",
        "resolve_api_key",
    ),
    "host.wire.side_tasks": ("ask", "ask_json", "try_ask"),
    "host.wire.streaming": ("stream_turn",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
