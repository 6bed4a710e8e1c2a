"""What refusals say about tools, and what is told of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import (
    ContextOverflow,
    EndpointRefused,
    EndpointSilent,
    EndpointUnavailable,
    WireError,
)
from host.wire.culprit_search import Finding
from host.wire.failure import words_of
from host.wire.tool_refusals import (
    blames_ceiling,
    blames_choice,
    is_probe_refused,
    isolation_notice,
    may_be_tools,
    reason_of,
    suspects_in,
)

SPENT = (
    "Could not finish the message because max_tokens or model output limit was reached. Please "
    "try again with higher max_tokens."
)
NAMES = ["mail__send", "mail__send_all", "disk-read", "x", "", "clock__now"]


@pytest.mark.parametrize(
    "error",
    [
        EndpointRefused(400, "Failed to initialize samplers: failed to parse grammar"),
        EndpointRefused(400, "Bad Request"),
        EndpointRefused(400, ""),
        EndpointRefused(422, "Provider returned error"),
        EndpointRefused(400, "Invalid schema for function 'f': array schema missing items"),
        EndpointRefused(400, "tools.0.custom.input_schema: JSON schema is invalid"),
        EndpointRefused(400, "registry.ollama.ai/library/gemma does not support tools"),
        EndpointRefused(404, "No endpoints found that support tool use"),
        EndpointRefused(None, "failed to parse grammar"),
        EndpointUnavailable(1, 500, detail="Failed to parse tools: Unsupported tool type: custom"),
        EndpointUnavailable(1, 500, detail="failed to parse grammar"),
    ],
)
def test_a_refusal_that_may_be_about_tools_is_looked_into(error: WireError) -> None:
    assert may_be_tools(error, words_of(error))


@pytest.mark.parametrize(
    "error",
    [
        EndpointRefused(400, "no such model"),
        EndpointRefused(400, "max_tokens is too large: 900000"),
        EndpointRefused(400, "Your credit balance is too low"),
        EndpointRefused(400, "Unrecognized request argument supplied: top_k"),
        EndpointRefused(400, "Conversation roles must alternate"),
        EndpointRefused(401, "no tools for you"),
        EndpointRefused(404, "File Not Found"),
        EndpointRefused(None, "oops"),
        EndpointUnavailable(1, 500, detail="image input is not supported"),
        EndpointUnavailable(1, 503, detail="overloaded"),
        EndpointUnavailable(1, 429, detail="too many tools per minute"),
        EndpointSilent(3, True),
        ContextOverflow(9, 0, 8, detail="the tools exceed the context size"),
        EndpointRefused(
            400,
            "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' "
            "is required to be supplied and to be false.",
        ),
    ],
)
def test_a_refusal_about_something_else_costs_no_probe(error: WireError) -> None:
    assert not may_be_tools(error, words_of(error))


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (EndpointRefused(400, "anything"), True),
        (EndpointRefused(None, "anything"), True),
        (EndpointUnavailable(1, 500, detail="failed to parse grammar"), True),
        (EndpointUnavailable(1, 500, detail="Failed to parse tools: no name"), True),
        (EndpointRefused(400, SPENT), False),
        (EndpointRefused(400, "Could not finish: model output limit reached"), False),
        (EndpointRefused(400, "In context=('properties', 'max_tokens'): no 'type'"), True),
        (EndpointRefused(400, "max_tokens must be greater than thinking.budget_tokens"), True),
        (EndpointRefused(400, "Failed to call a function. Please adjust your prompt."), False),
        (EndpointRefused(401, "Invalid API Key"), None),
        (EndpointUnavailable(1, 429, detail="slow down"), None),
        (EndpointUnavailable(1, None, detail="lost"), None),
        (EndpointSilent(3, True), None),
        (ContextOverflow(9, 0, 8), None),
    ],
)
def test_a_probe_is_refused_by_words_about_the_request_alone(
    error: WireError, refused: bool | None
) -> None:
    assert is_probe_refused(error, words_of(error)) is refused


@pytest.mark.parametrize(
    ("words", "ceiling", "choice"),
    [
        ("`max_tokens` must be greater than `thinking.budget_tokens`.", True, False),
        ("Invalid 'max_output_tokens': integer below minimum value", True, False),
        ("min_tokens must not exceed max_tokens=1", True, False),
        ("Thinking mode does not support this tool_choice", False, True),
        ("Invalid schema for function 'f'", False, False),
        ("", False, False),
    ],
)
def test_what_a_refusal_blames_beside_the_tools(words: str, ceiling: bool, choice: bool) -> None:
    assert (blames_ceiling(words), blames_choice(words)) == (ceiling, choice)


@given(
    st.lists(st.integers(0, len(NAMES) - 1).filter(lambda i: NAMES[i]), max_size=3, unique=True),
    st.sampled_from(
        ["'{}'", "`{}`", " {} ", "function {}:", "tools[{i}].parameters", "tools.{i}.schema"]
    ),
)
def test_the_tools_a_refusal_names_are_suspected_and_no_others(
    indices: list[int], template: str
) -> None:
    words = "; ".join(template.format(NAMES[index], i=index) for index in indices)
    assert suspects_in(f"Invalid schema. {words}", NAMES) == sorted(indices)


@pytest.mark.parametrize(
    "words", ["mail__sender", "pre-disk-read", f"tools[{len(NAMES)}]", "tools[999999999]"]
)
def test_a_part_of_a_name_is_no_name(words: str) -> None:
    assert suspects_in(words, NAMES) == []


@pytest.mark.parametrize(
    ("finding", "notice"),
    [
        (
            Finding(fault="tools", bare=(1,)),
            "m does not take the schema of b (why 1): its parameters are told in words",
        ),
        (
            Finding(fault="tools", bare=(0, 1), out=(2,)),
            (
                "m does not take the schemas of a (same), b (why 1): their parameters are told in "
                "words; does not take c (why 2) in any form: left out"
            ),
        ),
        (
            Finding(fault="tools", bare=(0, 3), unproven=(0, 3)),
            "m takes not every schema of a (same), d: their parameters are told in words",
        ),
        (
            Finding(fault="tools", bare=tuple(range(7))),
            (
                "m does not take the schemas of a (same), b (why 1), c (why 2), d (same), e, "
                "2 more: their parameters are told in words"
            ),
        ),
        (
            Finding(fault="too many", bare=(1,), out=(5, 6), unproven=(5, 6), most=5),
            (
                "m does not take the schema of b (why 1): its parameters are told in words; takes "
                "5 tools in one request and no more: left out f, g"
            ),
        ),
        (Finding(fault="all tools"), "m takes no tools (same); going on without any"),
    ],
)
def test_the_notice_says_which_tools_why_and_what_is_sent(finding: Finding, notice: str) -> None:
    reasons = {0: "same", 1: "why 1", 2: "why 2", 3: "same", 4: "same"}
    assert isolation_notice("m", finding, list("abcdefg"), reasons) == notice


def test_a_notice_is_one_clean_line_however_a_server_names_its_tools() -> None:
    finding = Finding(fault="tools", out=(0, 1))
    notice = isolation_notice("m", finding, ["a\n\x1b[31mb", ""], {})
    assert notice == "m does not take a b, a tool without a name in any form: left out"


@given(st.text(alphabet="ab \n\x1b[31m", max_size=400))
def test_a_reason_is_one_printable_line_of_bounded_length(words: str) -> None:
    reason = reason_of(words)
    assert reason == "" or reason.isprintable()
    assert len(reason) < 200
