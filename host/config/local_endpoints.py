"""Looking for a model server on this machine, at the ports such servers usually listen on."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from host.errors import HostError
from host.wire import Endpoints, EndpointSettings

PROBE_SECONDS = 0.3

LOCAL_SERVERS = (
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("vLLM", "http://127.0.0.1:8000/v1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEndpoint:
    """A model server that answered, and the models it lists."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def find_local_endpoints(
    endpoints: Endpoints, *, servers: tuple[tuple[str, str], ...] = LOCAL_SERVERS
) -> list[LocalEndpoint]:
    """Asks every usual port at once, without a key, for its models; 0.3 s each at most.

    Returns those that answer with a list of at least one model, in the order of ``servers``.
    """
    found: dict[str, LocalEndpoint] = {}

    async def probe(name: str, base_url: str) -> None:
        settings = EndpointSettings(base_url=base_url, request_timeout_seconds=PROBE_SECONDS)
        with anyio.move_on_after(PROBE_SECONDS):
            try:
                models = await endpoints.list_models(settings)
            except HostError:
                return  # nothing there, or something else than a model server
            if models:
                names = tuple(model.id for model in models)
                found[base_url] = LocalEndpoint(name=name, base_url=base_url, models=names)

    async with anyio.create_task_group() as group:
        for name, base_url in servers:
            group.start_soon(probe, name, base_url)
    return [found[base_url] for _, base_url in servers if base_url in found]
