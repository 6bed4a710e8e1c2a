"""Names and forms tell what is a secret; closed kinds of values tell nothing."""

from __future__ import annotations

import string
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.secret_forms import (
    is_key,
    is_ordinary,
    is_prose,
    is_switch,
    is_telling_name,
    keys_in,
)

TELLING = st.sampled_from(["key", "token", "secret", "password", "auth", "credentials", "dsn"])
PLAIN = st.sampled_from(["max", "author", "region", "name", "tokens", "monocle", "path"])


def joined(words: list[str], style: str) -> str:
    """The words as the names of variables, flags, headers and JSON write them."""
    match style:
        case "upper":
            return "_".join(words).upper()
        case "flag":
            return "--" + "-".join(words)
        case "header":
            return "-".join(word.capitalize() for word in words)
        case _:
            return words[0] + "".join(word.capitalize() for word in words[1:])


STYLES = st.sampled_from(["upper", "flag", "header", "camel"])


@given(st.lists(PLAIN, max_size=2), TELLING, st.lists(PLAIN, max_size=2), STYLES)
def test_a_name_with_a_telling_word_is_telling_in_every_style(
    before: list[str], word: str, after: list[str], style: str
) -> None:
    assert is_telling_name(joined([*before, word, *after], style))
    assert not before + after or not is_telling_name(joined(before + after, style))


@pytest.mark.parametrize(
    "name", ["PGPASSWORD", "APIKEY", "OpenAIKey", "authtoken", "X-Auth", "tokenId", "passphrase"]
)
def test_words_written_together_are_telling(name: str) -> None:
    assert is_telling_name(name)


@pytest.mark.parametrize(
    "name", ["", "TOKENIZERS_PARALLELISM", "keyboard", "compass", "MAX_TOKENS", "GIT_AUTHOR_NAME"]
)
def test_words_that_only_look_alike_are_not(name: str) -> None:
    assert not is_telling_name(name)


REGIONS = "us-east-1 eu-central-1 us-gov-west-1 ap-southeast-2 europe-west4 asia-northeast1"
WORDS = """
production INFO Warning 0 8080 -1.5 30s 512MB 75% 1.2.3 v2.0 2024-11-05
en_US.UTF-8 C.UTF-8 Europe/Berlin America/Argentina/Ushuaia
localhost:80 127.0.0.1 example.com http://localhost:3000 https://api.example.com/v1/
redis://cache:6379/0 /home/me/my.files ~/x ./run
"""
OTHERS = ["", "  ", "true", "None", "/srv/my files (2)", "C:\\Users\\me"]
ORDINARY = [*REGIONS.split(), *WORDS.split(), *OTHERS]


@given(st.sampled_from(ORDINARY), st.sampled_from(["", " ", "\n"]))
def test_closed_kinds_of_values_are_ordinary(value: str, blank: str) -> None:
    assert is_ordinary(blank + value + blank)
    assert not is_key(value)


@given(st.text(string.ascii_letters + string.digits + "-_!", min_size=8), st.data())
def test_letters_with_digits_are_not_ordinary(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(text) - 1))
    assert not is_ordinary(text[:at] + "q7x9" + text[at:])


@pytest.mark.parametrize(
    "value",
    [
        *("hunter2", "canary-env", "my-project", "gpt-4o", "abc.def", "correct-horse-battery"),
        *("https://me:pw@h.example", "https://h.example/T0B0/x9", "https://h.example/x?y=z"),
        *("päss wörd", "/9j4AAQSkZJRgABAQ/EASABIAAD", "a b", "12345678", "abcdefghijklm"),
    ],
)
def test_whatever_else_there_is_may_be_a_secret(value: str) -> None:
    assert not is_ordinary(value)


@given(
    st.sampled_from(["sk-", "sk_live_", "ghp_", "github_pat_", "xoxb-", "acme_live_", "hf_"]),
    st.text(string.ascii_letters + string.digits, min_size=8, max_size=20).map("7{}".format),
    st.sampled_from(["", "--x=", "say ", '{"a": "', "key is:"]),
    st.sampled_from(["", " ", '"}', ","]),
)
def test_a_key_of_a_known_make_is_found_in_a_text(
    start: str, rest: str, before: str, after: str
) -> None:
    key = start + rest
    assert is_key(key)
    assert keys_in(before + key + after) == (key,)


@given(st.uuids())
def test_a_uuid_and_a_long_random_text_are_keys(made: uuid.UUID) -> None:
    assert is_key(str(made))
    assert keys_in(f"--id={made}") == (str(made),)
    assert is_key("AbCdEf0123456789")


@pytest.mark.parametrize(
    "text",
    [
        *("mcp-server-fetch==2025.4.7", "@scope/my-api-server-name", "acme-test-mcp-server"),
        "image@sha256:" + 16 * "ab12",
        "git+https://h.example/x@" + 10 * "ab12",
        "/nix/store/zcc1k2m3n4p5q6r7s8t9zcc1k2m3n4p5-python",
        "a-very-long-name-without-any-digit-in-it",
    ],
)
def test_names_of_packages_paths_and_digests_are_no_keys(text: str) -> None:
    assert keys_in(text) == ()


@pytest.mark.parametrize("piece", ["a", "a-", "a1", "sk-", "a.", "/a", "=", "A", "eyJ.", "a://"])
def test_a_long_text_takes_linear_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))  # minutes when quadratic
    assert is_ordinary(text) is text.startswith("/a")
    assert is_telling_name(text) in (True, False)
    assert isinstance(keys_in(text), tuple)


@given(st.lists(st.sampled_from(["no", "luck,", "What's", "today?"]), min_size=1, max_size=4))
def test_words_in_a_row_are_prose_until_one_of_them_is_odd(words: list[str]) -> None:
    assert is_prose(" ".join(words)) is (len(words) > 1)
    assert not is_prose(" ".join([*words, "c4nary"]))


def test_words_that_switch_something_are_no_secrets_under_any_name() -> None:
    assert all(map(is_switch, ["", " ", "True", "oauth", "none"]))
    assert not is_switch("hunter")
