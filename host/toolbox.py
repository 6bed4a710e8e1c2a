"""The pool's tools as one run sees them: the loop's Toolbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from host.catalogue import advice
from host.errors import HostError, PoolError, http_status_for
from host.pool.arguments import argument_problems, coerce_arguments
from host.records import (
    CatalogueServer,
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
    """

    def __init__(
        self,
        pool: ServerPool,
        *,
        servers: Sequence[str] | None = None,
        max_result_chars: int | None = None,
    ) -> None:
        self._pool = pool
        self._servers = None if servers is None else frozenset(servers)
        self._max_result_chars = max_result_chars
        self._catalogue = pool.catalogue(self._servers)
        self._definitions: dict[str, ToolDefinition] = {
            tool["function"]["name"]: tool for tool in pool.tools(servers=self._servers)
        }

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

    async def call(self, request: ToolCallRequest) -> ToolSuccess | ToolFailure:
        """Makes the call; whatever goes wrong comes back in words the model can act on."""
        try:
            text = await self._pool.call(
                request.name,
                request.args,
                servers=self._servers,
                max_result_chars=self._max_result_chars,
            )
        except PoolError as error:
            return self._failure(request.name, error)
        except HostError as error:
            return ToolFailure(code="call-failed", message=str(error))
        return ToolSuccess(result=text)

    def _failure(self, name: str, error: PoolError) -> ToolFailure:
        message = str(error)
        if error.code in {"unknown-tool", "out-of-scope"} and name not in self._definitions:
            near = advice(name, self._catalogue)
            message = f"{message.rstrip('.')}. {near}" if near else message
        return ToolFailure(code=error.code, message=message, status=http_status_for(error.code))
