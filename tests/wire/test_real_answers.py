"""What real servers answered (shared endpoints page), and what each answer is taken for.

llama-server b10434 unless a row says xllamacpp (2026.10).
"""

from __future__ import annotations

from typing import Any

import pytest

from host.errors import ContextOverflow, EndpointRefused, EndpointUnavailable, WireError
from host.text.redaction import Redactor
from host.wire.failure import failure_in_stream, words_of
from host.wire.patience import blames_output
from host.wire.retry import blames_request, is_model_loading, is_transient
from host.wire.schema_compat import is_grammar_error
from host.wire.streaming import stream_turn
from host.wire.tool_refusals import may_be_tools
from tests.fakes.endpoint import FakeEndpoint, refused

PARSER = "Unable to generate parser for this template. Automatic parser generation failed: "
CONVERSION = f"{PARSER}JSON schema conversion failed:\n"
NEWER = f"{PARSER}JSON schema error at #/properties/x: "
EXCEPTION = "[json.exception."

ROWS: list[tuple[int, str, str, str]] = [
    # status, type, message, taken for
    (503, "unavailable_error", "Loading model", "loading"),
    (401, "authentication_error", "Invalid API Key", "refused"),
    (404, "not_found_error", "File Not Found", "refused"),
    (
        400,
        "exceed_context_size_error",
        (
            "request (9030 tokens) exceeds the available context size (4096 tokens), "
            "try increasing it"
        ),
        "overflow",
    ),
    (400, "", "Field 'n': Value must be between 1 <= value <= 1, but got 2", "refused"),
    (400, "", f"Field 'temperature': {EXCEPTION}type_error.302] type must be number", "refused"),
    (400, "", "'messages' is required", "refused"),
    (400, "", "Expected 'messages' to be an array", "refused"),
    (400, "", 'response_format type must be one of "text" or "json_object"', "refused"),
    (400, "invalid_request_error", "Invalid tool_choice: always", "refused"),
    (
        500,
        "server_error",
        (
            f"Failed to parse tool call arguments as JSON: {EXCEPTION}parse_error.101] "
            "parse error at line 1, column 8: syntax error"
        ),
        "ours",
    ),
    (
        500,
        "server_error",
        (
            f"Failed to parse tool call arguments as JSON: {EXCEPTION}parse_error.101] "
            "attempting to parse an empty input"
        ),
        "ours",
    ),
    (
        500,
        "server_error",
        (
            "image input is not supported - hint: if this is unexpected, you may need to provide "
            "the mmproj"
        ),
        "ours",
    ),
    (500, "server_error", f"{EXCEPTION}parse_error.101] parse error at line 1", "ours"),
    (400, "invalid_request_error", f"{EXCEPTION}parse_error.101] parse error", "refused"),
    (500, "server_error", "Failed to parse tools: Expected 'tools' to be an array, got {", "ours"),
    (
        500,
        "server_error",
        f"Failed to parse tools: {EXCEPTION}out_of_range.403] key 'name' not found; tools = [",
        "ours",
    ),
    (500, "server_error", "Failed to parse tools: Unsupported tool type: custom", "ours"),
    (
        501,
        "not_supported_error",
        "This server does not support embeddings. Start it with `--embeddings`",
        "ours",
    ),
    (
        500,
        "server_error",
        "The model produced output that does not match the expected peg-native format",
        "output",
    ),
    # Tool schemas that the server refuses
    (400, "", "Failed to initialize samplers: failed to parse grammar", "grammar"),
    (400, "", f"{CONVERSION}Pattern must start with '^' and end with '$'", "grammar"),
    (400, "", f"{CONVERSION}Invalid number in curly brackets", "grammar"),
    (400, "", f'{CONVERSION}Unrecognized schema: {{"type":"str"}}', "grammar"),
    (400, "", f"{CONVERSION}Unrecognized schema: true", "grammar"),
    (400, "", f"{CONVERSION}Error resolving ref #/$defs/Missing: $defs not in", "grammar"),
    (400, "", f"{CONVERSION}Unsupported ref: #", "grammar"),
    # xllamacpp
    (400, "", f"{NEWER}minLength must be a non-negative integer", "grammar"),
    (400, "", f"{NEWER}unrecognized type str", "grammar"),
    (400, "", f"{NEWER}schema must be an object", "grammar"),
    (400, "", f"{NEWER}cannot resolve $ref #/$defs/Missing", "grammar"),
    (400, "", f"{NEWER}unsupported $ref #", "grammar"),
    (400, "", f"{NEWER}enum must be a non-empty array", "grammar"),
]


def taken_for(error: WireError) -> str:
    """The one thing an answer is taken for; fails when it is taken for two."""
    words = words_of(error)
    marks = {
        "overflow": isinstance(error, ContextOverflow),
        "loading": is_model_loading(error),
        "output": blames_output(error),
        "grammar": is_grammar_error(words),
        "ours": blames_request(error),
    }
    held = [name for name, holds in marks.items() if holds]
    assert len(held) <= 1, held
    return held[0] if held else "refused"


def facts(kind: str, message: str, status: int) -> dict[str, Any]:
    return {"code": status, "message": message, "type": kind or "invalid_request_error"}


async def over_http(status: int, kind: str, message: str) -> WireError:
    said = facts(kind, message, status)
    endpoint = FakeEndpoint(refused(status, said.pop("message"), **said))
    async with endpoint.client() as client:
        with pytest.raises(WireError) as caught:
            await stream_turn(client, {"model": "m", "messages": [], "stream": True})
    return caught.value


def inside_answer(status: int, kind: str, message: str) -> WireError:
    failure = failure_in_stream({"error": facts(kind, message, status)}, Redactor(()))
    assert failure is not None
    return failure


@pytest.mark.parametrize(("status", "kind", "message", "expected"), ROWS)
async def test_each_answer_is_taken_for_what_it_is_before_and_inside_a_stream(
    status: int, kind: str, message: str, expected: str
) -> None:
    for error in (await over_http(status, kind, message), inside_answer(status, kind, message)):
        assert taken_for(error) == expected
        assert message.split("\n")[0][:40] in str(error)
        # Only what may pass by itself is sent again as it was.
        assert is_transient(error) is (expected in {"loading", "output"})
        if expected != "overflow":
            assert isinstance(error, EndpointUnavailable if status >= 500 else EndpointRefused)
            assert error.status == status
        assert may_be_tools(error, words_of(error)) is (
            expected == "grammar" or ("tool" in message and "call arguments" not in message)
        )


def test_an_overflow_keeps_the_numbers_it_was_told_with() -> None:
    event = {
        "code": 400,
        "message": "request (9030 tokens) exceeds the available context size (4096 tokens)",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 9030,
        "n_ctx": 4096,
    }
    failure = failure_in_stream({"error": event}, Redactor(()))
    assert isinstance(failure, ContextOverflow)
    assert (failure.needed_tokens, failure.limit_tokens) == (9030, 4096)
