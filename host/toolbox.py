"""The pool's tools as one run sees them: the loop's Toolbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from host.catalogue import advice
from host.catalogue.resource_tools import (
    LIST_RESOURCES,
    READ_RESOURCE,
    RESOURCE_TOOLS,
    ServerResources,
    asked_server,
    resource_text,
    resources_text,
    unknown_server_text,
)
from host.errors import HostError, PoolError, http_status_for
from host.pool.arguments import argument_problems, coerce_arguments
from host.records import (
    CatalogueServer,
    ServerInstructions,
    ToolCallRequest,
    ToolDefinition,
    ToolFailure,
    ToolSuccess,
)

if TYPE_CHECKING:
    from host.pool import ServerPool


class PoolToolbox:
    """A view of the pool that keeps the catalogue and the definitions the run began with.

    Args:
        servers: ids of the servers the run may reach; None for all, empty for none.
        max_result_chars: cut for results of servers whose row names none; None leaves it to the
            pool's settings.
        resources: True offers tools that read resources, if a server in reach has any.
    """

    def __init__(
        self,
        pool: ServerPool,
        *,
        servers: Sequence[str] | None = None,
        max_result_chars: int | None = None,
        resources: bool = False,
    ) -> None:
        self._pool = pool
        self._servers = None if servers is None else frozenset(servers)
        self._max_result_chars = max_result_chars
        self._catalogue = pool.catalogue(self._servers)
        self._definitions: dict[str, ToolDefinition] = {
            tool["function"]["name"]: tool for tool in pool.tools(servers=self._servers)
        }
        self._resources = _Resources(pool, self._servers if resources else ())

    def catalogue(self) -> list[CatalogueServer]:
        """Every offered tool by server, as it stood when the run began."""
        return self._catalogue

    def definitions(self, names: Sequence[str]) -> list[ToolDefinition]:
        """The definitions of the named tools, in the names' order; unknown names are left out."""
        return [self._definitions[name] for name in names if name in self._definitions]

    def check(self, name: str, args: dict[str, Any]) -> list[str]:
        """What is wrong with arguments after coercion; [] when they fit, or the name is unknown."""
        definition = self._definitions.get(name)
        if definition is None:
            return []
        schema = definition["function"].get("parameters", {})
        coerced, problems = coerce_arguments(schema, args)
        return problems or argument_problems(schema, coerced)

    def meta_tools(self) -> Sequence[ToolDefinition]:
        """The tools that read resources, if that was asked for and a server has some."""
        return RESOURCE_TOOLS if self._resources.servers else ()

    def instructions(self) -> list[ServerInstructions]:
        """What the servers of the catalogue, and those with resources, say of themselves."""
        offered = {*self._resources.servers, *(server.id for server in self._catalogue)}
        return [
            said for said in self._pool.instructions(self._servers) if said.server_id in offered
        ]

    def wake(self, names: Sequence[str]) -> None:
        """Has the servers of these tools dialled, since the model will call them; never waits."""
        self._pool.wake(names, servers=self._servers)

    async def call(self, request: ToolCallRequest) -> ToolSuccess | ToolFailure:
        """Makes the call; whatever goes wrong comes back in words the model can act on."""
        if self._resources.servers and request.name in (LIST_RESOURCES, READ_RESOURCE):
            return await self._resources.answer(request)
        try:
            text = await self._pool.call(
                request.name,
                request.args,
                servers=self._servers,
                max_result_chars=self._max_result_chars,
                written_for=self._schema(request.name),
            )
        except PoolError as error:
            return self._failure(request.name, error)
        except HostError as error:
            return ToolFailure(code="call-failed", message=str(error))
        return ToolSuccess(result=text)

    def _schema(self, name: str) -> dict[str, Any] | None:
        definition = self._definitions.get(name)
        return definition["function"].get("parameters") if definition else None

    def _failure(self, name: str, error: PoolError) -> ToolFailure:
        message, near = str(error), ""
        if error.code in {"unknown-tool", "out-of-scope"}:
            if name not in self._definitions:
                near = advice(name, self._catalogue)
            elif self._pool.describe(name, servers=self._servers) is None:
                message = f'the tool "{name}" is gone: its server does not list it any more'
                near = advice(name, self._pool.catalogue(self._servers))
        if near:
            message = f"{message.rstrip('.')}. {near}"
        return ToolFailure(code=error.code, message=message, status=http_status_for(error.code))


class _Resources:
    """Lists and reads the resources of the servers that had some when the run began.

    Attributes:
        servers: what the model may call each of them, by its id.
    """

    def __init__(self, pool: ServerPool, scope: Iterable[str] | None) -> None:
        self._pool = pool
        labels = pool.servers_declaring("resources", scope)
        counts = Counter(map(str.casefold, labels.values()))
        self.servers = {
            server_id: label if counts[label.casefold()] == 1 else server_id
            for server_id, label in labels.items()
        }

    async def answer(self, request: ToolCallRequest) -> ToolSuccess | ToolFailure:
        """What the model reads of a call of one of the two tools."""
        server_id = asked_server(request.args, self.servers)
        is_listing = request.name == LIST_RESOURCES
        if is_listing and not request.args.get("server"):
            return await self._listed(list(self.servers), request.args)
        if server_id is None:
            text = unknown_server_text(request.args, self.servers)
            return ToolFailure(code="unknown-server", message=text)
        if is_listing:
            return await self._listed([server_id], request.args)
        return await self._read(server_id, request.args.get("uri"))

    async def _listed(self, server_ids: Sequence[str], args: dict[str, Any]) -> ToolSuccess:
        found: dict[str, ServerResources] = {}

        async def ask(server_id: str) -> None:
            name = self.servers[server_id]
            try:
                resources = await self._pool.list_resources(server_id)
                templates = await self._pool.list_resource_templates(server_id)
            except PoolError as error:
                found[server_id] = ServerResources(server=name, problem=str(error))
            else:
                found[server_id] = ServerResources(
                    server=name, resources=resources, templates=templates
                )

        async with anyio.create_task_group() as asking:
            for server_id in server_ids:
                asking.start_soon(ask, server_id)
        search = args.get("search")
        listed = [found[server_id] for server_id in server_ids]
        return ToolSuccess(result=resources_text(listed, search if isinstance(search, str) else ""))

    async def _read(self, server_id: str, uri: object) -> ToolSuccess | ToolFailure:
        if not isinstance(uri, str) or not uri.strip():
            text = f"Give the resource's address as uri; {LIST_RESOURCES} shows them."
            return ToolFailure(code="invalid-arguments", message=text)
        try:
            contents = await self._pool.read_resource(server_id, uri.strip())
        except PoolError as error:
            return ToolFailure(
                code=error.code, message=str(error), status=http_status_for(error.code)
            )
        return ToolSuccess(result=resource_text(contents, uri.strip(), self.servers[server_id]))
