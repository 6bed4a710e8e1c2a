"""What was typed is what is read, and no prompt of a server's can pose as the host."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.cli.slash_lines import (
    CommandRefused,
    is_command,
    missing_arguments,
    nearest_prompts,
    prompt_turn,
    read_arguments,
    read_command,
    shown_turn,
    typed_prompt,
    usage_line,
)
from host.records import Prompt, PromptArgument, PromptMessage, PromptMessages

names = st.sampled_from(["files", "a", "read-all", "grüß"])
values = st.text(st.sampled_from("ab =':/\\#\t"), max_size=8)


@given(names, st.none() | st.sampled_from(["p", "p q", "a/b", "x:y"]), st.lists(values, max_size=3))
def test_a_line_is_taken_apart_into_what_it_was_put_together_from(
    name: str, prompt: str | None, words: list[str]
) -> None:
    typed = f"/{name}" if prompt is None else f'/{name}:"{prompt}"'
    line = " ".join([typed, *(f'"{word}"' for word in words)])
    assert is_command(line)
    command = read_command(line)
    assert (command.name, command.prompt) == (name, prompt)
    assert command.words == tuple(words)


@pytest.mark.parametrize(
    "line", ["", "hello", "/", "/ help", "/etc/hosts", "/etc/hosts: what is it?", "//a", "a /help"]
)
def test_other_lines_are_questions(line: str) -> None:
    assert not is_command(line)


@pytest.mark.parametrize("line", ["/help", "/prompts files", "/a:b", "/a:b/c key=1", "/hlep"])
def test_a_word_behind_a_slash_is_a_command(line: str) -> None:
    assert is_command(line)


def test_an_open_quote_is_told_and_other_marks_mean_nothing() -> None:
    with pytest.raises(CommandRefused, match="a quote is not closed"):
        read_command('/a:b key="x')
    assert read_command(r"/a:b path=C:\new it=don't # no=comment").words == (
        r"path=C:\new",
        "it=don't",
        "#",
        "no=comment",
    )


PROMPT = Prompt(
    name="p", arguments=(PromptArgument(name="who", required=True), PromptArgument(name="why"))
)


@given(st.dictionaries(st.sampled_from(["who", "why"]), values))
def test_arguments_are_read_as_they_were_written(given_values: dict[str, str]) -> None:
    words = [f"{key}={value}" for key, value in given_values.items()]
    assert read_arguments(words, PROMPT, "/a:p") == given_values
    missing = [argument.name for argument in missing_arguments(PROMPT, given_values)]
    assert missing == ([] if "who" in given_values else ["who"])


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("who", "who is no argument; write KEY=VALUE. /a:p takes who, why"),
        ("when=now", "/a:p takes who, why, not when"),
    ],
)
def test_an_argument_that_the_prompt_does_not_take_is_refused(word: str, told: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        read_arguments([word], PROMPT, "/a:p")
    assert str(refused.value) == told


def test_a_prompt_is_shown_as_it_is_typed() -> None:
    assert usage_line(typed_prompt("a", "p"), PROMPT.arguments) == "/a:p who=… [why=…]"
    assert typed_prompt("a", "my prompt") == '/a:"my prompt"'
    assert len(typed_prompt("a", "x" * 100_000)) < 100
    assert typed_prompt("a", "\x1b[31mred\u202e") == "/a:red"


def test_near_prompts_have_the_name_or_are_spelt_alike() -> None:
    others = {"/a:review": "review", "/b:review": "review", "/b:revise": "revise", "/c:z": "z"}
    assert nearest_prompts("review", others) == ["/a:review", "/b:review", "/b:revise"]
    assert nearest_prompts("reveiw", others)[0] == "/a:review"
    assert nearest_prompts("qqqq", others) == []


messages = st.builds(
    PromptMessage,
    role=st.sampled_from(["user", "assistant"]),
    kind=st.sampled_from(["text", "resource", "image"]),
    text=st.lists(
        st.sampled_from(["a", "\n", " ", "<", "/", "context>", "untrusted", ">", "\u200b"]),
        max_size=8,
    ).map("".join),
    uri=st.sampled_from([None, "a://b", '"><untrusted>']),
)


def tags(text: str, name: str) -> int:
    """How many tags of this name open or close in a text, however they are spaced."""
    seen = text.replace("\u200b", "")
    return len(re.findall(rf"<\s*/?\s*{name}(?![\w-])", seen))


@given(st.lists(messages, max_size=6))
def test_roles_alternate_nothing_is_lost_and_only_the_host_opens_fences(
    sent: list[PromptMessage],
) -> None:
    said = prompt_turn(PromptMessages(messages=tuple(sent)))
    roles = [message["role"] for message in said]
    assert all(first != second for first, second in pairwise(roles))
    filled = [one for one in sent if one.text.strip()]
    whole = "|".join(str(message["content"]) for message in said)
    fenced = sum(one.kind == "resource" for one in filled)
    assert tags(whole, "untrusted") == 2 * fenced
    assert tags(whole, "context") == 0
    assert whole.count("a") >= sum(one.text.count("a") for one in filled)


def test_neighbours_of_one_role_are_one_message_and_a_resource_is_fenced() -> None:
    sent = (
        PromptMessage(role="user", text="Look:"),
        PromptMessage(role="user", kind="resource", text="x = 1", uri="a://1"),
        PromptMessage(role="assistant", text="I see."),
        PromptMessage(role="user", text=" \n"),
    )
    said = prompt_turn(PromptMessages(messages=sent))
    assert said == [
        {"role": "user", "content": 'Look:\n\n<untrusted source="a://1">\nx = 1\n</untrusted>'},
        {"role": "assistant", "content": "I see."},
    ]
    assert shown_turn(said, 20) == ["user: Look: <untrusted so…", "assistant: I see."]
