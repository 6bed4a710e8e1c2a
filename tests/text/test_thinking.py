"""The fence splitter: cuts never matter, and it agrees with a slow reading of the whole text."""

from __future__ import annotations

from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.thinking import (
    ALL_FENCES,
    DEFAULT_FENCES,
    Fence,
    FenceSplitter,
    Piece,
    strip_thinking,
)

_ODD_FENCES = (
    *ALL_FENCES,
    Fence(open="<<", close=">>", framing=("<<<",)),
    Fence(open="[a", close="[ab]", framing=("]",)),
)
_MARKERS = [m for fence in _ODD_FENCES for m in (fence.open, fence.close, *fence.framing)]
_TEXTS = st.lists(
    st.sampled_from([*_MARKERS, *(m[:-1] for m in _MARKERS), *(m[1:] for m in _MARKERS)])
    | st.sampled_from(["x", "y z", "<", "</", "\n", "İ", "<THINK>", "</Think>"]),
    max_size=5,
).map("".join)


def _pieces(deltas: list[str], fences: tuple[Fence, ...], start_inside: bool) -> list[Piece]:
    splitter = FenceSplitter(fences, start_inside=start_inside)
    pieces = [piece for delta in deltas for piece in splitter.push(delta)] + splitter.finish()
    merged = [
        Piece(kind=kind, text="".join(piece.text for piece in run))
        for kind, run in groupby(pieces, key=lambda piece: piece.kind)
    ]
    told = "".join(piece.text for piece in pieces)
    assert len(splitter.output) + len(splitter.reasoning) == len(told)
    return merged


def _reading(text: str, fences: tuple[Fence, ...], start_inside: bool) -> tuple[str, str]:
    """Output and reasoning of a whole text, found by trying every marker at every place."""
    opens = {fence.open: fence.close for fence in fences}
    framing = {marker for fence in fences for marker in fence.framing}
    closes: set[str] = set(opens.values())
    unopened = {fence.close for fence in fences if fence.closes_unopened}
    unopened |= {marker for fence in fences for marker in fence.starts_answer}
    wanted = closes if start_inside and fences else None
    met = wanted is not None
    output = reasoning = ""
    at = 0
    while at < len(text):
        here = {
            marker
            for marker in (wanted if wanted is not None else {*opens, *closes, *framing, *unopened})
            if text[at : at + len(marker)].lower() == marker.lower()
        }
        if not here:
            if wanted is None:
                output += text[at]
            else:
                reasoning += text[at]
            at += 1
            continue
        marker = max(here, key=len)
        at += len(marker)
        if wanted is not None:
            wanted = None
        elif marker in opens:
            wanted = {opens[marker]}
        elif marker in unopened and not met:
            output, reasoning = "", output
        met = True
    return output, reasoning


@given(_TEXTS, st.sampled_from([DEFAULT_FENCES, ALL_FENCES, _ODD_FENCES, ()]), st.booleans())
def test_output_and_reasoning_are_those_of_a_slow_reading(
    text: str, fences: tuple[Fence, ...], start_inside: bool
) -> None:
    splitter = FenceSplitter(fences, start_inside=start_inside)
    splitter.push(text)
    splitter.finish()
    assert (splitter.output, splitter.reasoning) == _reading(text, fences, start_inside)


@given(_TEXTS, st.sampled_from([ALL_FENCES, _ODD_FENCES]), st.booleans())
def test_every_cut_gives_the_same_output_and_reasoning(
    text: str, fences: tuple[Fence, ...], start_inside: bool
) -> None:
    expected = _reading(text, fences, start_inside)
    for deltas in [*([text[:cut], text[cut:]] for cut in range(len(text) + 1)), list(text)]:
        splitter = FenceSplitter(fences, start_inside=start_inside)
        for delta in deltas:
            splitter.push(delta)
        splitter.finish()
        assert (splitter.output, splitter.reasoning) == expected


@given(_TEXTS)
def test_every_cut_gives_the_same_pieces_once_a_fence_was_opened(text: str) -> None:
    text = "<think>" + text
    whole = _pieces([text], _ODD_FENCES, False)
    assert _pieces(list(text), _ODD_FENCES, False) == whole
    for cut in range(len(text) + 1):
        assert _pieces([text[:cut], text[cut:]], _ODD_FENCES, False) == whole


@given(_TEXTS)
def test_stripped_text_is_what_the_splitter_puts_out(text: str) -> None:
    assert strip_thinking(text) == _reading(text, ALL_FENCES, False)[0]


@pytest.mark.parametrize(
    ("text", "output", "reasoning"),
    [
        ("<think>p</think>q", "q", "p"),
        ("a<think>b</think>c", "ac", "b"),
        ("x</think>y", "y", "x"),
        ("<think>x", "", "x"),
        ("x <thi", "x <thi", ""),
        ("p</think>q</think>r", "qr", "p"),
        ("a<think>b</think>c</think>d", "acd", "b"),
        ("<think>a<think>b</think>c", "c", "a<think>b"),
        ("◁think▷p◁/think▷q", "q", "p"),
        (
            (
                "<|channel|>analysis<|message|>p<|end|><|start|>assistant"
                "<|channel|>final<|message|>q<|return|>"
            ),
            "q",
            "p",
        ),
        ("<|channel|>final<|message|>q<|end|>", "q", ""),
        ("The capital is Paris.<|end|>", "The capital is Paris.", ""),
        ("<|channel|>commentary<|message|>I look.<|end|><|start|>assistant", "I look.", ""),
        ("p<|end|><|start|>assistant<|channel|>commentary<|message|>q<|end|>", "pq", ""),
        ("p<|end|><|start|>assistant<|channel|>final<|message|>q", "q", "p"),
        ("<THINK>p</Think>q", "q", "p"),
        ("<think >p</think   >q", "q", "p"),
        ("İİ<think>p</think>q", "İİq", "p"),
        ("<thinking>p</thinking>q", "<thinking>p</thinking>q", ""),
    ],
)
def test_default_fences_split_a_text(text: str, output: str, reasoning: str) -> None:
    splitter = FenceSplitter()
    splitter.push(text)
    splitter.finish()
    assert (splitter.output, splitter.reasoning) == (output, reasoning)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        *((f"<{tag}>", f"</{tag}>") for tag in ("thinking", "reasoning", "think", "seed:think")),
        ("[THINK]", "[/THINK]"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
    ],
)
def test_side_tasks_also_strip_what_an_answer_might_quote(opening: str, closing: str) -> None:
    assert strip_thinking(f" {opening}p{closing} q\n") == "  q\n"


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name":"f","arguments":{"a":"keep <think>this</think> too"}}</tool_call>',
        '<tool_call>{"name":"f","arguments":{"a":"ends with </think>\\n"}}</tool_call>',
        '<tool_call>{"name":"f","arguments":{"a":"a \\"</think>\n</think>"}}</tool_call>',
        '[TOOL_CALLS]f[ARGS]{"a":"</think> and <|end|>"}',
        '{"name":"f","arguments":{"a":"</think>"}}',
        "<|python_start|>[f(a=\"<think>\", b='<|return|>')]<|python_end|>",
        "<function=f>\n<parameter=a>\n<think>x</think>\n</think>\n</parameter>\n</function>",
        "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value></think>x</arg_value>\n</tool_call>",
        "Search for `</think>` and cut there.",
        "Wrap it: `<think>…</think>`, then the answer.",
        "``a ` <think>`` opens it.",
        "```python\nre.sub(r'<think>.*?</think>', '', s)\n```",
        "- ~~~\n  </think>\n  ~~~\nDone.",
        "```markdown\n```text\n<think>\n```\n</think>\n```",
        "See ```\n<think>\nx\n</think>\n```",
        "```\nthe reasoning\n</think>\nthe answer\n```\nThat is all.",
        "```\n<think>\nthe reasoning\n</think>\nand the reply was cut",
        "Wrap it in <think> and go on; the </think> tag ends it.",
        'The tag "</think>" ends it, “<think>” opens it.',
        "A turn ends with the token <|end|> or (<|return|>), says Phi.",
    ],
)
def test_a_marker_that_the_answer_quotes_is_text(text: str) -> None:
    for pieces in ([text], list(text)):
        assert _pieces(pieces, DEFAULT_FENCES, False) == [Piece(kind="output", text=text)]
    for pieces in (["<think>p</think>", text], list(f"<think>p</think>{text}")):
        assert _pieces(pieces, DEFAULT_FENCES, False)[1:] == [Piece(kind="output", text=text)]


@pytest.mark.parametrize(
    ("text", "output", "reasoning"),
    [
        ("It is the ` key.\n</think>\nPress `", "\nPress `", "It is the ` key.\n"),
        ("the ` key.</think>q", "q", "the ` key."),
        ("the ``` marker.</think>q", "q", "the ``` marker."),
        ("a ```json\n{\n</think>Press `x`.", "Press `x`.", "a ```json\n{\n"),
        ('I try <tool_call>{"name": "f", no.</think>q', "q", 'I try <tool_call>{"name": "f", no.'),
        ('<tool_call>{"name\n</think>q', "q", '<tool_call>{"name\n'),
        ("<parameter=a>b\n</think>q", "q", "<parameter=a>b\n"),
        ("I use <think> here.\n</think>q", "q", "I use <think> here.\n"),
        ("It’s f('a'). </think> q", " q", "It’s f('a'). "),
        ("`a` <think>b</think>", "`a` ", "b"),
        ('{"a": "b"}\n<think>c', '{"a": "b"}\n', "c"),
        ('{"a": [1,\n\n"<think>c', '{"a": [1,\n\n"', "c"),
        ("<function=f><parameter=a>b</parameter></function><think>c", None, "c"),
        ('"<think>c', '"', "c"),
    ],
)
def test_a_marker_that_only_seems_quoted_counts(
    text: str, output: str | None, reasoning: str
) -> None:
    if output is None:
        output = text.removesuffix(f"<think>{reasoning}")
    assert _split_up([text]) == _split_up(list(text)) == (output, reasoning)


def test_what_may_be_quoted_is_held_until_that_is_told() -> None:
    splitter = FenceSplitter()
    assert splitter.push("Find `</think>") == [Piece(kind="output", text="Find `")]
    assert splitter.push("`") == []
    assert splitter.push(" and") == [Piece(kind="output", text="</think>` and")]
    assert splitter.push(" `</think>") == [Piece(kind="output", text=" `")]
    assert splitter.push("\n") == [Piece(kind="output", text="\n")]
    assert splitter.reasoning == "Find `</think>` and `"


_QUOTING = st.lists(
    st.sampled_from(
        [
            *["<think>", "</think>", "</think >", "<|end|>", "<|return|>", "`", "``", "```", "~~~"],
            *["\n", "\n\n", " ", "x", "- ", "> ", "md", '"', "'", "\\", '{"', "[{", "}", "]", "f("],
            *["<parameter=a>", "</parameter>", "</function>", "<tool_call>", "</tool_call>"],
            *["<arg_value>", "</arg_value>", "<|channel|>final<|message|>", "<|start|>assistant"],
        ]
    ),
    max_size=14,
).map("".join)


def _split_up(deltas: list[str]) -> tuple[str, str]:
    splitter = FenceSplitter()
    for delta in deltas:
        splitter.push(delta)
    splitter.finish()
    return splitter.output, splitter.reasoning


@given(_QUOTING, st.lists(st.integers(0, 100), max_size=6))
def test_cuts_never_matter_to_what_is_quoted(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(text)]
    parts = [text[start:end] for start, end in pairwise(places)]
    assert _split_up(parts) == _split_up(list(text)) == _split_up([text])


@given(_QUOTING, st.booleans())
def test_text_is_kept_whole_but_for_markers(text: str, start_inside: bool) -> None:
    splitter = FenceSplitter(start_inside=start_inside)
    pieces = [piece for char in text for piece in splitter.push(char)] + splitter.finish()
    rest = iter(text)
    assert all(char in rest for piece in pieces for char in piece.text)
    assert "".join(piece.text for piece in pieces if piece.kind == "output").endswith(
        splitter.output
    )


def test_the_longest_tail_that_could_begin_a_marker_is_held() -> None:
    splitter = FenceSplitter()
    assert splitter.push("a <") == [Piece(kind="output", text="a ")]
    assert splitter.output == "a "
    assert splitter.push("b") == [Piece(kind="output", text="<b")]
    assert splitter.push(" <thi") == [Piece(kind="output", text=" ")]
    assert splitter.finish() == [Piece(kind="output", text="<thi")]
    assert splitter.finish() == []


def test_inside_a_fence_only_its_own_close_is_held_back() -> None:
    splitter = FenceSplitter()
    assert splitter.push("<think>a<th") == [Piece(kind="reasoning", text="a<th")]
    assert splitter.push("b◁/think▷<|end|></th") == [
        Piece(kind="reasoning", text="b◁/think▷<|end|>")
    ]
    assert splitter.push("ink>c") == [Piece(kind="output", text="c")]


def test_a_first_marker_that_closes_moves_what_was_put_out_before_it() -> None:
    splitter = FenceSplitter()
    assert splitter.push("told ") == [Piece(kind="output", text="told ")]
    assert splitter.push("late</think>answer") == [
        Piece(kind="reasoning", text="late"),
        Piece(kind="output", text="answer"),
    ]
    assert (splitter.reasoning, splitter.output) == ("told late", "answer")


def test_a_splitter_may_start_inside_a_fence_that_the_template_opened() -> None:
    splitter = FenceSplitter(start_inside=True)
    assert splitter.push("p</think>q") == [
        Piece(kind="reasoning", text="p"),
        Piece(kind="output", text="q"),
    ]
    cut = FenceSplitter(start_inside=True)
    cut.push("never closed")
    cut.finish()
    assert (cut.reasoning, cut.output) == ("never closed", "")


def test_without_fences_everything_passes_through() -> None:
    splitter = FenceSplitter([], start_inside=True)
    assert splitter.push("<think>a</think") == [Piece(kind="output", text="<think>a</think")]
    assert splitter.finish() == []


@pytest.mark.parametrize("marker", ["<think>", "</think>", "<think></think>x", "x<|return|>", "<"])
def test_five_thousand_markers_are_split(marker: str) -> None:
    assert len(strip_thinking(marker * 5_000)) in (0, 5_000)


@pytest.mark.parametrize(
    "piece",
    [
        "`<think>`",
        "` <think></think> ",
        "`</think>\n",
        "```\n</think>\n",
        "```\n</think>\n```\n",
        '{"a',
        '{"</think>"}',
        '{"\n</think>\n"}',
        "<parameter=a>\n</think>\n",
        "<parameter=a>\n</think></parameter>",
        "x <think> ",
        "x </think> ",
        "".join("`" * length + "<think></think>x" for length in range(1, 200)),
    ],
)
def test_hostile_quoting_takes_linear_time(piece: str) -> None:
    text = piece * (60_000 // len(piece))  # minutes when quadratic
    assert _split_up([text]) == _split_up(list(text))
