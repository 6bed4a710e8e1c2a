"""From what people said about the endpoint to one that can be asked, looking around if need be."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from host.config.agent_settings import AgentSettings
from host.config.endpoint_choice import (
    EndpointChoice,
    EndpointWish,
    choose_endpoint,
    choose_file,
    environment_wish,
)
from host.config.host_config import HostConfig
from host.config.local_endpoints import LOCAL_SERVERS, LocalEndpoint, find_local_endpoints
from host.config.model_file import ModelFile, read_model_file
from host.errors import ConfigError, EndpointRefused
from host.wire import NO_KEY, Endpoints, EndpointSettings

MAX_NAMES_SHOWN = 8

KEY_STATUSES = (401, 403)
"""The endpoint is there and does not take the key: naming a model would not help."""

HOW_TO_NAME_ONE = (
    "none was named and no local model server answered; give --base-url and --model, "
    "set OPENAI_BASE_URL and OPENAI_MODEL, or write agent.baseUrl and agent.model "
    "in the servers file; --gguf serves a model's file without any server"
)


async def resolve_model(
    config: HostConfig,
    flags: EndpointWish,
    *,
    on_notice: Callable[[str], None],
    env: Mapping[str, str] = os.environ,
) -> EndpointChoice | ModelFile:
    """Chooses a model's file to serve, where one is named, or an endpoint (`resolve_endpoint`).

    Raises:
        ConfigError: the file is no model's, or there is no endpoint; says what to write.
        WireError: no model was named and the endpoint could not be asked for one.
    """
    file = named_file(config, flags)
    if file is not None:
        return file
    return await resolve_endpoint(config, flags, on_notice=on_notice, env=env)


def named_file(config: HostConfig, flags: EndpointWish) -> ModelFile | None:
    """The model's file that flags or servers file name; None when they name none.

    Raises:
        ConfigError: it is no model's.
    """
    _refuse_unset(config, flags)
    wanted = choose_file(flags=flags, file=_file_wish(config), source=config.source)
    return None if wanted is None else read_model_file(wanted)


async def resolve_endpoint(
    config: HostConfig,
    flags: EndpointWish,
    *,
    on_notice: Callable[[str], None],
    env: Mapping[str, str] = os.environ,
    local_servers: Sequence[tuple[str, str]] = LOCAL_SERVERS,
) -> EndpointChoice:
    """Chooses an endpoint and a model: flags, file, environment, then the usual local ports.

    A model that nobody named is taken from the endpoint's own listing when it lists just one.
    ``on_notice`` hears what was found where nothing was named.

    Raises:
        ConfigError: there is no endpoint, or its model cannot be told; says what to write.
        WireError: no model was named and the endpoint could not be asked for one.
    """
    _refuse_unset(config, flags)
    choice = choose_endpoint(
        flags=flags, file=_file_wish(config), environment=environment_wish(env)
    )
    async with Endpoints() as endpoints:
        if choice is None:
            found = await find_local_endpoints(endpoints, servers=tuple(local_servers))
            choice = _first_found(found, flags, on_notice)
        if choice.model is None:
            choice = await _with_listed_model(choice, endpoints, on_notice)
    return choice


def configured_model(
    config: HostConfig, *, env: Mapping[str, str]
) -> EndpointChoice | ModelFile | None:
    """What the file or the environment names, without looking around; None for nothing.

    Raises:
        ConfigError: the model's file that is named is none.
    """
    wanted = choose_file(flags=EndpointWish(), file=_file_wish(config), source=config.source)
    if wanted is not None:
        return read_model_file(wanted)
    return choose_endpoint(
        flags=EndpointWish(), file=_file_wish(config), environment=environment_wish(env)
    )


def _refuse_unset(config: HostConfig, flags: EndpointWish) -> None:
    if config.unset_agent and flags.base_url is None and flags.gguf is None:
        names = ", ".join(config.unset_agent)
        raise ConfigError(config.source, [f"agent: {names} is not set; set it or write a default"])


def _file_wish(config: HostConfig) -> EndpointWish:
    agent = config.agent
    gguf = None
    if agent.gguf is not None:
        gguf = str(Path(config.source).parent / _at_home(Path(agent.gguf)))
    return EndpointWish(
        base_url=agent.base_url, api_key=agent.api_key, model=agent.model, gguf=gguf
    )


def _at_home(path: Path) -> Path:
    """The path with ``~`` read; of a user that is not there, as it is written."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _first_found(
    found: Sequence[LocalEndpoint], flags: EndpointWish, on_notice: Callable[[str], None]
) -> EndpointChoice:
    if not found:
        raise ConfigError("endpoint", [HOW_TO_NAME_ONE])
    for endpoint in found:
        on_notice(f"found {endpoint.name} at {endpoint.base_url}: {_names(endpoint.models)}")
    first = found[0]
    return EndpointChoice(
        base_url=first.base_url,
        api_key=flags.api_key or NO_KEY,
        model=flags.model or (first.models[0] if len(first.models) == 1 else None),
        origin=f"{first.name} on this machine",
    )


async def _with_listed_model(
    choice: EndpointChoice, endpoints: Endpoints, on_notice: Callable[[str], None]
) -> EndpointChoice:
    settings = EndpointSettings(base_url=choice.base_url, api_key=choice.api_key)
    try:
        models = [model.id for model in await endpoints.list_models(settings)]
    except EndpointRefused as error:
        if error.status in KEY_STATUSES:
            raise
        problem = f"no model is named and {choice.shown_url} lists none ({error}); give --model"
        raise ConfigError("endpoint", [problem]) from error
    if len(models) != 1:
        problem = f"{choice.shown_url} has {len(models)} models, give --model: {_names(models)}"
        raise ConfigError("endpoint", [problem])
    on_notice(f"asking {models[0]}, the one model of {choice.shown_url}")
    return EndpointChoice(
        base_url=choice.base_url, api_key=choice.api_key, model=models[0], origin=choice.origin
    )


def endpoint_settings(choice: EndpointChoice, agent: AgentSettings) -> EndpointSettings:
    """The wire's settings of a chosen endpoint, with the file's patience."""
    return EndpointSettings(
        base_url=choice.base_url,
        api_key=choice.api_key,
        request_timeout_seconds=agent.request_timeout_seconds,
        first_token_seconds=agent.first_token_seconds,
    )


def _names(models: Sequence[str]) -> str:
    more = len(models) - MAX_NAMES_SHOWN
    return ", ".join(models[:MAX_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
