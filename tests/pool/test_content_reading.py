"""SDK objects and wire objects come to the same records; bytes survive any spelling of base64."""

from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st
from mcp_types import GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceTemplate

from host.pool.content_reading import (
    contents_of,
    prompt_messages_of,
    prompt_of,
    resource_of,
    template_of,
    without_secrets,
)
from host.records import PromptArgument
from host.text.redaction import Redactor

texts = st.sampled_from(["", "a", "Title", "ä\n"])
optional = st.none() | texts


@given(
    st.fixed_dictionaries(
        {"uri": st.sampled_from(["a://b", "x"]), "name": st.sampled_from(["n", "m"])},
        optional={
            "title": texts,
            "description": texts,
            "mimeType": texts,
            "size": st.integers(0, 9),
        },
    )
)
def test_a_resource_reads_alike_from_the_wire_and_from_the_sdk(sent: dict[str, object]) -> None:
    record = resource_of(sent)
    assert record == resource_of(Resource.model_validate(sent, by_name=False))
    assert record.uri == sent["uri"]
    assert record.name == sent["name"]
    assert record.mime_type == sent.get("mimeType")
    assert record.size == sent.get("size")
    template = {**sent, "uriTemplate": sent["uri"]}
    read = template_of(template)
    assert read == template_of(ResourceTemplate.model_validate(template, by_name=False))
    assert (read.uri_template, read.title) == (sent["uri"], sent.get("title"))


@given(
    st.lists(
        st.fixed_dictionaries(
            {"name": st.sampled_from(["a", "b", "c"])},
            optional={"required": st.booleans(), "description": texts},
        ),
        max_size=5,
    )
)
def test_of_two_arguments_with_one_name_the_first_counts(sent: list[dict[str, object]]) -> None:
    whole = {"name": "p", "arguments": sent}
    prompt = prompt_of(whole)
    assert prompt == prompt_of(Prompt.model_validate(whole, by_name=False))
    firsts = {str(one["name"]): one for one in reversed(sent)}
    assert {argument.name: argument.required for argument in prompt.arguments} == {
        name: one.get("required") is True for name, one in firsts.items()
    }


@given(st.binary(max_size=50), st.booleans(), st.booleans(), st.integers(0, 60))
def test_bytes_come_back_from_either_alphabet_padded_or_not_broken_or_not(
    held: bytes, url_safe: bool, padded: bool, line_break: int
) -> None:
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    text = encode(held).decode()
    text = text if padded else text.rstrip("=")
    text = text[:line_break] + "\n" + text[line_break:]
    sent = {"contents": [{"uri": "a://b", "mimeType": "text/plain", "blob": text}]}
    (read,) = contents_of(sent)
    assert read == contents_of(ReadResourceResult.model_validate(sent, by_name=False))[0]
    assert (read.blob, read.text) == (held, None)
    block = {"type": "resource", "resource": {"uri": "a://b", "blob": text}}
    (message,) = prompt_messages_of({"messages": [{"role": "user", "content": block}]}).messages
    assert (message.blob, message.kind, message.uri) == (held, "resource", "a://b")


def test_text_wins_over_bytes_and_what_is_no_base64_is_nothing() -> None:
    both, broken = contents_of(
        {"contents": [{"uri": "a", "text": "t", "blob": "aGk="}, {"uri": "b", "blob": "!"}]}
    )
    assert (both.text, both.blob) == ("t", None)
    assert (broken.text, broken.blob) == (None, None)


def test_messages_of_every_kind_are_readable_as_text() -> None:
    sent = {
        "description": "d",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "hi"}},
            {"role": "assistant", "content": {"type": "audio", "data": "aGk=", "mimeType": "a/b"}},
            {"role": "user", "content": {"type": "resource_link", "uri": "a://b", "name": "n"}},
        ],
    }
    read = prompt_messages_of(sent)
    assert read == prompt_messages_of(GetPromptResult.model_validate(sent, by_name=False))
    assert [(one.role, one.kind, one.text) for one in read.messages] == [
        ("user", "text", "hi"),
        ("assistant", "audio", "[audio a/b, 2 bytes omitted]"),
        ("user", "resource_link", "[resource_link a://b — n]"),
    ]
    assert [one.blob for one in read.messages] == [None, b"hi", None]


def test_an_argument_without_a_word_about_need_is_optional() -> None:
    assert prompt_of({"name": "p", "arguments": [{"name": "a"}]}).arguments == (
        PromptArgument(name="a"),
    )


@given(st.sampled_from(["s3same-0pen", "says s3same-0pen twice: s3same-0pen", "nothing"]))
def test_secrets_go_from_what_records_say_and_stay_in_what_they_are_read_by(text: str) -> None:
    redactor = Redactor(["s3same-0pen"])
    argument = {"name": "s3same-0pen", "description": text}
    prompt = prompt_of({"name": "s3same-0pen", "title": text, "arguments": [argument]})
    resource = resource_of({"uri": "x://s3same-0pen", "description": text})
    message = {"role": "user", "content": {"type": "text", "text": text}}
    said = prompt_messages_of({"messages": [message], "description": text})
    (content,) = contents_of({"contents": [{"uri": "x://s3same-0pen", "text": text}]})
    cleared = without_secrets(prompt, redactor)
    told = [cleared.title, cleared.arguments[0].description]
    told += [without_secrets([resource], redactor)[0].description]
    told += [without_secrets(content, redactor).text]
    cleared_messages = without_secrets(said, redactor)
    told += [cleared_messages.description, cleared_messages.messages[0].text]
    assert told == [text.replace("s3same-0pen", "***")] * 6
    assert (cleared.name, cleared.arguments[0].name) == ("s3same-0pen", "s3same-0pen")
    assert without_secrets(resource, redactor).uri == "x://s3same-0pen"
    assert without_secrets(prompt, Redactor()) is prompt
