"""Flags before file before environment; a key goes only where it was given for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.config.endpoint_choice import (
    OPENAI_BASE_URL,
    EndpointWish,
    FileWish,
    choose_endpoint,
    choose_file,
    environment_wish,
)
from host.wire.settings import NO_KEY

NOTHING = EndpointWish()
addresses = st.none() | st.sampled_from(["http://a/v1", "http://a/v1/", "http://b/v1"])
models = st.none() | st.sampled_from(["m1", "m2"])


def wishes(key: str) -> st.SearchStrategy[EndpointWish]:
    return st.builds(
        EndpointWish, base_url=addresses, api_key=st.none() | st.just(key), model=models
    )


@given(wishes("flag-key"), wishes("file-key"), wishes("env-key"))
def test_a_key_is_sent_only_to_the_address_it_was_given_for(
    flags: EndpointWish, file: EndpointWish, environment: EndpointWish
) -> None:
    chosen = choose_endpoint(flags=flags, file=file, environment=environment)
    address = flags.base_url or file.base_url or environment.base_url
    if address is None:
        assert chosen is None
        return
    assert chosen is not None
    assert chosen.base_url == address
    given_for = {
        "flag-key": address,
        "file-key": file.base_url or environment.base_url,
        "env-key": environment.base_url,
    }
    if chosen.api_key != NO_KEY:
        assert (given_for[chosen.api_key] or "").rstrip("/") == address.rstrip("/")
    if flags.api_key:
        assert chosen.api_key == "flag-key"
    if flags.model:
        assert chosen.model == flags.model


places = st.none() | st.sampled_from(["a.gguf", "b.gguf"])


@given(addresses, places, models, addresses, places, models)
def test_a_file_is_served_unless_something_nearer_names_an_address(
    flag_url: str | None,
    flag_path: str | None,
    flag_model: str | None,
    file_url: str | None,
    file_path: str | None,
    file_model: str | None,
) -> None:
    flags = EndpointWish(base_url=flag_url, gguf=flag_path, model=flag_model)
    file = EndpointWish(base_url=file_url, gguf=file_path, model=file_model)
    chosen = choose_file(flags=flags, file=file, source="s.json")
    if flag_path:
        assert chosen == FileWish(path=flag_path, name=flag_model, origin="--gguf")
    elif flag_url or not file_path:
        assert chosen is None
    else:
        name = flag_model or file_model
        assert chosen == FileWish(path=file_path, name=name, origin="s.json: agent.gguf")


def test_the_environment_alone_is_enough() -> None:
    env = {"OPENAI_BASE_URL": "http://a/v1", "OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"}
    chosen = choose_endpoint(flags=NOTHING, file=NOTHING, environment=environment_wish(env))
    assert chosen is not None
    assert (chosen.base_url, chosen.api_key, chosen.model) == ("http://a/v1", "k", "m")
    assert chosen.origin == "the environment"


def test_a_key_alone_in_the_environment_means_openai() -> None:
    assert environment_wish({"OPENAI_API_KEY": "k"}).base_url == OPENAI_BASE_URL
    assert environment_wish({"OPENAI_API_KEY": "  "}) == NOTHING


def test_an_address_in_the_flags_keeps_the_key_and_model_of_the_environment_away() -> None:
    environment = environment_wish({"OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"})
    flags = EndpointWish(base_url="http://127.0.0.1:8080/v1")
    chosen = choose_endpoint(flags=flags, file=NOTHING, environment=environment)
    assert chosen is not None
    assert chosen.api_key == NO_KEY
    assert chosen.model is None
    assert chosen.origin == "the flags"


def test_an_address_is_asked_with_its_credentials_and_shown_without_them() -> None:
    flags = EndpointWish(base_url="http://me:s3cret@h:8080/v1?token=abc")
    chosen = choose_endpoint(flags=flags, file=NOTHING, environment=NOTHING)
    assert chosen is not None
    assert chosen.base_url == flags.base_url
    assert "h:8080/v1" in chosen.shown_url
    assert not any(secret in chosen.shown_url for secret in ("me", "s3cret", "abc"))


def test_with_nothing_said_there_is_nothing_to_choose() -> None:
    assert choose_endpoint(flags=NOTHING, file=NOTHING, environment=environment_wish({})) is None
