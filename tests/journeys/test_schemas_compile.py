"""The schemas of some 2,300 real tools become grammars on a real llama.cpp server.

A server builds the grammar of a request before it looks at the length of its prompt (xllamacpp
2026.10, b10229). So every request here is longer than the window: a refusal of its length says
that all of its tools compiled, and no prompt is ever read. ``tool_choice`` is ``required``, since
some builds put off the grammar of tools that may be left uncalled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, cast

import httpx2
import pytest

from host.records import ToolDefinition
from host.wire import is_grammar_error, relax_tools, sanitize_tools
from tests.journeys.model_servers import ENGINES, model_server
from tests.wire.real_schemas import fleet_tools, livemcpbench_tools

pytestmark = pytest.mark.slow

WINDOW = 512
BATCH = 25
LONGER_THAN_WINDOW = "word " * 2 * WINDOW
REQUEST_SECONDS = 120

Compiles = Callable[[list[ToolDefinition]], str]
"""What the server says against these tools; "" when they compile."""


@pytest.fixture(scope="module", params=ENGINES)
def refusal(request: pytest.FixtureRequest) -> Iterator[Compiles]:
    with (
        model_server(request.param, "--ctx", str(WINDOW)) as server,
        httpx2.Client(timeout=REQUEST_SECONDS) as client,
    ):

        def asked(tools: list[ToolDefinition]) -> str:
            body = {
                "messages": [{"role": "user", "content": LONGER_THAN_WINDOW}],
                "max_tokens": 1,
                "tools": tools,
                "tool_choice": "required",
            }
            reply = client.post(f"{server.base_url}/chat/completions", json=body)
            error = reply.json()["error"]
            return "" if error["type"] == "exceed_context_size_error" else error["message"]

        yield asked


def defined(name: str, parameters: dict[str, Any]) -> ToolDefinition:
    function = {"name": name, "description": "", "parameters": parameters}
    return cast("ToolDefinition", {"type": "function", "function": function})


def test_a_schema_that_does_not_compile_is_told_apart(refusal: Compiles) -> None:
    hostile = {"type": "object", "properties": {"x": {"type": "str"}}}
    assert refusal([defined("good", {"type": "object", "properties": {}})]) == ""
    assert is_grammar_error(refusal([defined("bad", hostile)]))


def test_every_real_schema_compiles_as_it_is_sent(refusal: Compiles) -> None:
    schemas = livemcpbench_tools() | fleet_tools()
    tools = [defined(f"tool_{at}", schema) for at, schema in enumerate(schemas.values())]
    sanitized = sanitize_tools(tools)
    relaxed = relax_tools(sanitized)
    names = [*schemas]
    needed = []
    for first in range(0, len(tools), BATCH):
        if said := refusal(sanitized[first : first + BATCH]):
            assert is_grammar_error(said), said
            for at in range(first, min(first + BATCH, len(tools))):
                if refusal([sanitized[at]]):
                    needed.append(names[at])
        assert refusal(relaxed[first : first + BATCH]) == "", names[first : first + BATCH]
    print(json.dumps({"tools": len(tools), "compiled only when relaxed": needed}))  # noqa: T201
