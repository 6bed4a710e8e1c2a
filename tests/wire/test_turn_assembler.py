"""Turns, put together from chunks."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.records import Turn, TurnUsage
from host.text.thinking import DEFAULT_FENCES, Piece
from host.wire.turn_assembler import Progress, TurnAssembler

Chunk: TypeAlias = dict[str, Any]


def delta(**fields: Any) -> Chunk:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}], "usage": None}


def end(reason: str = "stop") -> Chunk:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def output(text: str) -> Progress:
    return Progress(pieces=(Piece(kind="output", text=text),), carried=True)


def reasoning(text: str) -> Progress:
    return Progress(pieces=(Piece(kind="reasoning", text=text),), carried=True)


def assembled(*chunks: object, **options: Any) -> Turn:
    assembler = TurnAssembler(**options)
    for chunk in chunks:
        assembler.feed(chunk)
    return assembler.finish()


def test_a_stream_as_llama_server_sends_it_is_a_turn() -> None:
    assembler = TurnAssembler()
    assert assembler.feed(delta(role="assistant", content=None)) == Progress()
    assert assembler.feed(delta(content="Hel")) == output("Hel")
    assert assembler.feed(delta(content="lo!")) == output("lo!")
    assert assembler.finish_reason == ""
    assert assembler.feed(end()) == Progress()
    assert assembler.finish_reason == "stop"
    counted = {"choices": [], "usage": {"prompt_tokens": 36, "completion_tokens": 3}}
    assert assembler.feed(counted) == Progress()
    assert assembler.flush() == Progress()
    assert assembler.finish() == Turn(
        content="Hello!",
        finish_reason="stop",
        usage=TurnUsage(prompt_tokens=36, completion_tokens=3),
    )


@pytest.mark.parametrize(
    "chunk",
    [
        delta(role="assistant"),
        delta(role="assistant", content=None),
        delta(content=""),
        delta(tool_calls=[]),
        delta(tool_calls=None, reasoning_content=None, reasoning=""),
        delta(tool_calls=["x", None]),
        end(),
        {"choices": []},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"delta": None}]},
        {"choices": [{}]},
        {"choices": {"0": {}}},
        {"usage": {"prompt_tokens": 1}},
        {},
        [],
        None,
        "text",
    ],
)
def test_a_chunk_without_text_reasoning_or_call_carries_nothing(chunk: object) -> None:
    assert TurnAssembler().feed(chunk) == Progress()


@pytest.mark.parametrize(
    ("chunk", "progress"),
    [
        (delta(content="a"), output("a")),
        (delta(reasoning_content="t"), reasoning("t")),
        (delta(reasoning="t"), reasoning("t")),
        (delta(reasoning_content="", reasoning="t"), reasoning("t")),
        (delta(reasoning_content="one", reasoning="other"), reasoning("one")),
        (delta(content=[{"type": "text", "text": "a"}, {"type": "image"}]), output("a")),
        (delta(content=[{"type": "thinking", "thinking": [{"text": "t"}]}]), reasoning("t")),
        (delta(reasoning_details=[{"type": "reasoning.text", "text": "t"}]), reasoning("t")),
        (delta(reasoning_text="t"), reasoning("t")),
        (delta(content=None, refusal="no"), output("no")),
        (delta(content="<thi"), Progress(carried=True)),
        (delta(tool_calls=[{"index": 0}]), Progress(carried=True)),
        (
            delta(content="a", reasoning_content="t"),
            Progress(
                pieces=(Piece(kind="reasoning", text="t"), Piece(kind="output", text="a")),
                carried=True,
            ),
        ),
    ],
)
def test_what_a_chunk_carries_is_told(chunk: Chunk, progress: Progress) -> None:
    assert TurnAssembler().feed(chunk) == progress


def test_reasoning_never_stands_in_the_content() -> None:
    turn = assembled(
        delta(reasoning_content="first "),
        delta(content="<think>second</think>an"),
        delta(content="swer"),
    )
    assert turn.content == "answer"
    assert turn.reasoning == "first second"


def test_a_held_tail_is_given_out_at_the_end_and_once() -> None:
    assembler = TurnAssembler()
    assembler.feed(delta(content="x <thi"))
    assert assembler.flush().pieces == (Piece(kind="output", text="<thi"),)
    assert assembler.flush() == Progress()
    assert assembler.finish().content == "x <thi"


def test_a_turn_finished_without_flushing_is_whole() -> None:
    assert assembled(delta(content="x <thi")).content == "x <thi"


def test_a_fence_the_template_opened_is_closed_by_the_answer() -> None:
    turn = assembled(delta(content="t</think>a"), start_in_reasoning=True)
    assert (turn.content, turn.reasoning) == ("a", "t")


def test_without_fences_the_text_stays_as_it_is() -> None:
    assert assembled(delta(content="<think>a</think>"), fences=()).content == "<think>a</think>"


def test_only_the_first_choice_counts() -> None:
    chunk = {"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]}
    assert assembled(chunk).content == "a"


def test_a_finish_reason_is_read_without_a_delta_and_the_last_one_wins() -> None:
    bare = {"choices": [{"finish_reason": "tool_calls"}]}
    assert assembled(end("stop"), bare, delta(content="")).finish_reason == "tool_calls"
    assert assembled(delta(content="a")).finish_reason == ""


def test_a_whole_answer_reads_as_one_chunk() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    answer = {
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 4},
    }
    turn = assembled(answer)
    assert turn.tool_calls == (call,)
    assert turn.finish_reason == "tool_calls"
    assert turn.usage.prompt_tokens == 4


def test_counts_come_from_the_latest_report_and_are_not_summed() -> None:
    reports = [{"usage": {"prompt_tokens": 10, "completion_tokens": n}} for n in (1, 2, 3)]
    usage = assembled(*reports, {"usage": None}).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (10, 3)


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": [{"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 9}}]},
        {"choices": [], "x_groq": {"id": "r", "usage": {"prompt_tokens": 9}}},
    ],
)
def test_a_report_is_found_where_moonshot_and_groq_put_it(chunk: Chunk) -> None:
    assert assembled(delta(content="a"), chunk).usage.prompt_tokens == 9
    standard = {**chunk, "usage": {"prompt_tokens": 8}}
    assert assembled(standard).usage.prompt_tokens == 8


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_reported_cache_count_wins_over_timings_in_either_order(order: tuple[int, int]) -> None:
    reports = [
        {"usage": {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 0}}},
        {"timings": {"cache_n": 70, "prompt_ms": "x"}},
    ]
    usage = assembled(*(reports[at] for at in order)).usage
    assert (usage.cached_tokens, usage.uncached_tokens) == (0, 100)
    assert usage.prompt_seconds is None


def test_timings_in_the_finish_chunk_are_read_without_a_usage_block() -> None:
    timed = {**end(), "timings": {"predicted_ms": 250, "cache_n": 3}}
    usage = TurnUsage(cached_tokens=3, predicted_seconds=0.25)
    assert assembled(timed).usage == assembled(timed, {"choices": []}).usage == usage


OPEN_CLOSE = [(fence.open, fence.close) for fence in DEFAULT_FENCES]
TEXTS = st.lists(
    st.sampled_from(["Hello", " ", "<", "a < b", "é", "{", "\n", "<thin", "◁", "<|"]), max_size=5
).map("".join)


def _cut(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@st.composite
def streams(draw: st.DrawFn) -> tuple[Turn, list[Chunk]]:
    """A turn, and chunks that some server would send it in."""
    thought, answer = draw(TEXTS), draw(TEXTS)
    way = draw(st.sampled_from(["reasoning_content", "reasoning", *OPEN_CLOSE]))
    if isinstance(way, str):
        chunks = [delta(**{way: piece}) for piece in _cut(draw, thought)]
        chunks += [delta(content=piece) for piece in _cut(draw, answer)]
    else:
        chunks = [
            delta(content=piece) for piece in _cut(draw, f"{way[0]}{thought}{way[1]}{answer}")
        ]
    called = draw(st.lists(st.sampled_from(['{"a":1}', "{}"]), max_size=2))
    calls: list[Any] = []
    for at, arguments in enumerate(called):
        function = {"name": "f", "arguments": arguments}
        calls.append({"id": f"c{at}", "type": "function", "function": function})
        head = {"index": at, "id": f"c{at}", "function": {"name": "f", "arguments": ""}}
        chunks.append(delta(tool_calls=[head]))
        for piece in _cut(draw, arguments):
            part = {"index": at, "function": {"arguments": piece}}
            chunks.append(delta(tool_calls=[part]))
    reason = draw(st.sampled_from(["stop", "length", "tool_calls"]))
    tokens = draw(st.integers(0, 5))
    for at in range(tokens + 1):
        place = draw(st.integers(0, len(chunks))) if at < tokens else len(chunks)
        chunks.insert(place, {"choices": []})
    chunks += [end(reason), {"choices": [], "usage": {"completion_tokens": tokens}}]
    return (
        Turn(
            content=answer,
            tool_calls=tuple(calls),
            usage=TurnUsage(completion_tokens=tokens),
            finish_reason=reason,
            reasoning=thought,
        ),
        [delta(role="assistant", content=None), *chunks],
    )


@given(streams())
def test_a_turn_comes_back_whole_however_it_was_cut(stream: tuple[Turn, list[Chunk]]) -> None:
    turn, chunks = stream
    assembler = TurnAssembler()
    told = [assembler.feed(chunk) for chunk in chunks] + [assembler.flush()]
    assert assembler.finish() == turn
    pieces = [piece for progress in told for piece in progress.pieces]
    assert "".join(piece.text for piece in pieces if piece.kind == "output") == turn.content
    assert "".join(piece.text for piece in pieces if piece.kind == "reasoning") == turn.reasoning
    for chunk, progress in zip(chunks, told, strict=False):
        fields = chunk["choices"][0]["delta"] if chunk["choices"] else {}
        assert progress.carried == any(value for key, value in fields.items() if key != "role")
