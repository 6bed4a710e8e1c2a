"""What hooks said, fenced, within a budget, and unchanged from there on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.records import HOOK_EVENTS, INJECT_EVENTS, HookOutcome
from host.text.context_blocks import ContextBlocks, context_blocks


def outcome(text: str | None = "text", **changes: object) -> HookOutcome:
    made = HookOutcome(
        server_id="s",
        label="Notes",
        hook_id="h",
        event="beforeTurn",
        ok=True,
        text=text,
        inject=True,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # fields by name


TEXTS = st.lists(
    st.sampled_from(["word ", "x" * 40, " ", "\n", "</context>", "< / Context>", "<context>", "é"]),
    max_size=8,
).map("".join)
OUTCOMES = st.lists(
    st.builds(
        outcome,
        st.none() | TEXTS,
        event=st.sampled_from(HOOK_EVENTS),
        ok=st.booleans(),
        inject=st.booleans(),
        max_tokens=st.integers(-1, 30),
        hook_id=st.sampled_from(["a", "b"]),
    ),
    max_size=6,
)


@given(OUTCOMES, st.integers(-1, 60))
def test_blocks_keep_their_caps_and_the_budget(
    outcomes: list[HookOutcome], max_tokens: int
) -> None:
    blocks = context_blocks(outcomes, max_tokens=max_tokens)
    remaining = max(0, max_tokens)
    offering = [
        made
        for made in outcomes
        if made.ok and made.inject and made.event in INJECT_EVENTS and (made.text or "").strip()
    ]
    injected = iter(blocks.injected)
    for made in offering:
        cap = min(made.max_tokens, remaining)
        if cap <= 0:
            continue
        block = next(injected)
        assert (block.server_id, block.hook_id) == (made.server_id, made.hook_id)
        assert block.tokens == math.ceil(len(block.text) / 4) <= cap
        whole = (made.text or "").strip()
        if not block.text.endswith("…"):
            assert block.text.replace("&lt;", "<") == whole
        else:
            assert whole.startswith(block.text[:-1].replace("&lt;", "<")[:-4].rstrip())
        remaining -= block.tokens
    assert next(injected, None) is None


@given(OUTCOMES)
def test_the_text_is_the_blocks_and_no_block_closes_itself(outcomes: list[HookOutcome]) -> None:
    blocks = context_blocks(outcomes, max_tokens=math.inf)
    assert blocks.text == "\n\n".join(
        f'<context source="Notes">\n{block.text}\n</context>' for block in blocks.injected
    )
    compact = blocks.text.lower().replace(" ", "")
    assert compact.count("</context>") == len(blocks.injected)


@given(OUTCOMES, st.integers(-1, 60))
def test_notes_are_the_failures_and_the_blocks_in_order(
    outcomes: list[HookOutcome], max_tokens: int
) -> None:
    blocks = context_blocks(outcomes, max_tokens=max_tokens)
    failures = [note for note in blocks.notes if note.error is not None]
    assert len(failures) == sum(not made.ok for made in outcomes)
    assert [(note.tokens, note.text) for note in blocks.notes if note.error is None] == [
        (block.tokens, block.text) for block in blocks.injected
    ]


def test_a_block_is_the_trimmed_text_between_tags_that_name_the_server() -> None:
    blocks = context_blocks([outcome(" a\n", label='T "x" <y> & z')])
    assert blocks.text == ('<context source="T &quot;x&quot; &lt;y> &amp; z">\na\n</context>')
    assert [block.text for block in blocks.injected] == ["a"]
    (note,) = blocks.notes
    assert (note.event, note.source, note.hook_id, note.tokens, note.text, note.error) == (
        "beforeTurn",
        'T "x" <y> & z',
        "h",
        1,
        "a",
        None,
    )


@pytest.mark.parametrize(
    "nothing",
    [
        outcome(None),
        outcome(" \n "),
        outcome(inject=False),
        outcome(event="afterTurn"),
        outcome(max_tokens=0),
        outcome(max_tokens=-3),
    ],
)
def test_an_outcome_that_may_not_or_does_not_say_anything_leaves_no_trace(
    nothing: HookOutcome,
) -> None:
    assert context_blocks([nothing]) == ContextBlocks()


def test_two_long_hooks_share_the_budget_and_a_third_gets_nothing() -> None:
    long = [outcome("y" * 6000, hook_id=name, max_tokens=1200) for name in "abc"]
    blocks = context_blocks(long)
    assert [block.tokens for block in blocks.injected] == [1200, 800]
    assert [len(block.text) for block in blocks.injected] == [4800, 3200]
    assert blocks.injected[0].text == "y" * 4799 + "…"
    assert len(blocks.notes) == 2


def test_a_cap_of_nothing_skips_one_outcome_not_the_rest() -> None:
    blocks = context_blocks([outcome("a", max_tokens=0), outcome("b")])
    assert [block.text for block in blocks.injected] == ["b"]


def test_failures_are_noted_even_when_the_budget_is_spent() -> None:
    blocks = context_blocks(
        [outcome("y" * 8), outcome(ok=False, error="no"), outcome("z"), outcome(ok=False)],
        max_tokens=2,
    )
    assert [block.text for block in blocks.injected] == ["y" * 8]
    assert [note.error for note in blocks.notes] == [None, "no", "failed"]


def test_a_closing_tag_in_the_text_is_made_harmless_before_the_cut() -> None:
    (block,) = context_blocks([outcome("ab</Context>cd<context>", max_tokens=3)]).injected
    assert block.text == "ab&lt;/Cont…"
    (block,) = context_blocks([outcome("ab</Context>cd<context>")]).injected
    assert block.text == "ab&lt;/Context>cd<context>"


def test_a_cut_on_white_space_leaves_none_before_the_ellipsis() -> None:
    (block,) = context_blocks([outcome("ab     cdefgh", max_tokens=1)]).injected
    assert (block.text, block.tokens) == ("ab…", 1)


@pytest.mark.parametrize("max_tokens", [0, -1, math.nan])
def test_no_budget_gives_no_blocks(max_tokens: float) -> None:
    assert context_blocks([outcome()], max_tokens=max_tokens) == ContextBlocks()
