"""Where no endpoint is named one is looked for; what was found, or what to write, is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from host.config import (
    AgentSettings,
    EndpointChoice,
    EndpointWish,
    HostConfig,
    ModelFile,
    configured_model,
    local_endpoints,
    resolve_endpoint,
    resolve_model,
)
from host.config.local_endpoints import find_local_endpoints
from host.errors import ConfigError, EndpointRefused, EndpointUnavailable
from host.wire import NO_KEY, Endpoints
from tests.fakes.endpoint import Mute, Reply, as_json, refused, streamed
from tests.fakes.gguf import write_model
from tests.fakes.loopback_endpoint import LoopbackEndpoint

NOTHING = EndpointWish()


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


def models(*names: str) -> Reply:
    return as_json({"object": "list", "data": [{"id": name} for name in names]})


async def resolved(
    flags: EndpointWish,
    *,
    config: HostConfig = HostConfig(),  # noqa: B008  # frozen
    local: Sequence[str] = (),
    env: dict[str, str] | None = None,
) -> tuple[str, str, str | None, list[str]]:
    notices: list[str] = []
    choice = await resolve_endpoint(
        config,
        flags,
        on_notice=notices.append,
        env=env or {},
        local_servers=[(f"server {number}", url) for number, url in enumerate(local)],
    )
    return choice.base_url, choice.api_key, choice.model, notices


@pytest.fixture(autouse=True)
def busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Local servers may take longer to answer where tests run side by side."""
    monkeypatch.setattr(local_endpoints, "PROBE_SECONDS", 20.0)


async def test_what_the_flags_name_is_taken_without_asking_anybody() -> None:
    flags = EndpointWish(base_url="http://127.0.0.1:9/v1", model="m")
    assert await resolved(flags) == ("http://127.0.0.1:9/v1", NO_KEY, "m", [])


async def test_with_nothing_named_the_first_local_server_with_models_is_taken() -> None:
    async with (
        LoopbackEndpoint(as_json({"hello": "world"})) as other,
        LoopbackEndpoint(models("one"), models("one")) as endpoint,
    ):
        local = ["http://127.0.0.1:9/v1", other.base_url, endpoint.base_url]
        base_url, key, model, notices = await resolved(NOTHING, local=local)
        assert (base_url, key, model) == (endpoint.base_url, NO_KEY, "one")
        assert any("server 2" in notice and "one" in notice for notice in notices)


async def test_a_mute_local_server_is_given_up_in_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    async with LoopbackEndpoint(streamed(Mute())) as mute, Endpoints() as endpoints:
        assert await find_local_endpoints(endpoints, servers=(("mute", mute.base_url),)) == []


async def test_a_local_server_with_several_models_wants_one_named() -> None:
    async with LoopbackEndpoint(models("one", "two"), models("one", "two")) as endpoint:
        with pytest.raises(ConfigError, match="--model: one, two"):
            await resolved(NOTHING, local=[endpoint.base_url])


async def test_the_one_model_of_a_named_endpoint_is_taken_and_said() -> None:
    async with LoopbackEndpoint(models("only")) as endpoint:
        flags = EndpointWish(base_url=endpoint.base_url)
        _, _, model, notices = await resolved(flags)
        assert model == "only"
        assert "only" in notices[0]


async def test_an_endpoint_that_is_not_there_is_told_as_that_and_not_as_a_missing_model() -> None:
    flags = EndpointWish(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(EndpointUnavailable, match=r"127\.0\.0\.1:9"):
        await resolved(flags)


async def test_an_endpoint_that_lists_no_models_wants_one_named() -> None:
    async with LoopbackEndpoint(refused(404, "no such route")) as endpoint:
        with pytest.raises(ConfigError, match="give --model"):
            await resolved(EndpointWish(base_url=endpoint.base_url))


@pytest.mark.parametrize("status", [401, 403])
async def test_an_endpoint_that_refuses_the_key_says_so_itself(status: int) -> None:
    async with LoopbackEndpoint(refused(status, "bad key")) as endpoint:
        with pytest.raises(EndpointRefused, match="bad key"):
            await resolved(EndpointWish(base_url=endpoint.base_url))


async def test_with_nothing_anywhere_the_ways_to_name_one_are_said() -> None:
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        await resolved(NOTHING)


async def test_an_unset_variable_of_the_file_is_named() -> None:
    agent = AgentSettings(base_url="http://127.0.0.1:9/v1", model="m")
    config = HostConfig(source="s.json", agent=agent, unset_agent=("MY_KEY",))
    with pytest.raises(ConfigError, match="MY_KEY is not set"):
        await resolved(NOTHING, config=config)
    flags = EndpointWish(base_url="http://127.0.0.1:8/v1", model="x")
    assert (await resolved(flags, config=config))[0] == "http://127.0.0.1:8/v1"


async def test_an_unset_address_is_named_before_anybody_else_is_asked() -> None:
    config = HostConfig(source="s.json", unset_agent=("MY_URL",))
    with pytest.raises(ConfigError, match="MY_URL is not set"):
        await resolved(NOTHING, config=config, env={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})


async def model_of(config: HostConfig, flags: EndpointWish) -> EndpointChoice | ModelFile:
    return await resolve_model(config, flags, on_notice=lambda _: None, env={})


async def test_a_model_s_file_lies_beside_the_servers_file_that_names_it(tmp_path: Path) -> None:
    path = write_model(tmp_path)
    agent = AgentSettings(gguf=path.name, model="mine")
    config = HostConfig(source=str(tmp_path / "servers.json"), agent=agent)
    found = await model_of(config, NOTHING)
    assert isinstance(found, ModelFile)
    assert (found.path, found.name) == (path, "mine")
    assert found == configured_model(config, env={"OPENAI_BASE_URL": "http://h/v1"})


async def test_an_address_or_a_file_in_the_flags_comes_before_both_in_the_file(
    tmp_path: Path,
) -> None:
    path = write_model(tmp_path)
    address = EndpointWish(base_url="http://127.0.0.1:9/v1", model="m")
    found = await model_of(HostConfig(agent=AgentSettings(gguf="none.gguf")), address)
    assert isinstance(found, EndpointChoice)
    assert found.base_url == address.base_url
    config = HostConfig(agent=AgentSettings(base_url="http://h/v1", model="other"))
    found = await model_of(config, EndpointWish(gguf=str(path)))
    assert isinstance(found, ModelFile)
    assert (found.path, found.name) == (path, "tiny")


async def test_a_home_that_is_not_there_is_part_of_the_path(tmp_path: Path) -> None:
    agent = AgentSettings(gguf="~nosuchuser/m.gguf")
    config = HostConfig(source=str(tmp_path / "s.json"), agent=agent)
    with pytest.raises(ConfigError, match=r"~nosuchuser/m\.gguf does not exist"):
        await model_of(config, NOTHING)
    address = EndpointWish(base_url="http://127.0.0.1:9/v1", model="m")
    assert isinstance(await model_of(config, address), EndpointChoice)


async def test_an_unset_variable_of_a_file_s_path_is_named() -> None:
    config = HostConfig(source="s.json", unset_agent=("MODELS",))
    with pytest.raises(ConfigError, match="MODELS is not set"):
        await model_of(config, NOTHING)
