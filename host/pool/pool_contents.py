"""What a pool hands out beside tools: resources, prompts, and servers' words about themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from host.pool.content_reading import contents_of, prompt_messages_of
from host.pool.contents import ContentRequests
from host.pool.fleet import Fleet
from host.pool.tool_index import is_in_scope, scope_of
from host.records import (
    Prompt,
    PromptMessages,
    Resource,
    ResourceContent,
    ResourceTemplate,
    ServerInstructions,
)


class PoolContents:
    """The part of ``ServerPool`` that asks for what servers hold.

    A server is connected if it is due, as for ``ServerPool.client``. ``timeout_seconds`` bounds
    the whole of one request, all its pages included; None leaves it to row and pool, as for calls.
    """

    _fleet: Fleet
    _requests: ContentRequests

    async def list_resources(
        self, server_id: str, *, timeout_seconds: float | None = None
    ) -> list[Resource]:
        """All resources that a server lists; [] from one that has none.

        The list is kept for as long as the connection lasts and the server has not said that it
        changed; one that would not say so is asked each time.

        Raises:
            PoolError: as ``ServerPool.client``; ``timeout``; ``tool-error`` when the server
                failed, or repeats a page. A partial list is never returned.
            ValueError: ``timeout_seconds`` is NaN.
        """
        self._check_open()
        return await self._requests.listed(server_id, "resources", timeout_seconds)

    async def list_resource_templates(
        self, server_id: str, *, timeout_seconds: float | None = None
    ) -> list[ResourceTemplate]:
        """All patterns of addresses that a server lists; kept and raising as ``list_resources``."""
        self._check_open()
        return await self._requests.listed(server_id, "templates", timeout_seconds)

    async def read_resource(
        self, server_id: str, uri: str, *, timeout_seconds: float | None = None
    ) -> list[ResourceContent]:
        """The parts of a resource, whole; it need not be listed.

        Raises:
            PoolError: as ``ServerPool.client``; ``timeout``; ``tool-error`` when the server
                failed or has no such resource.
            ValueError: ``timeout_seconds`` is NaN.
        """
        self._check_open()
        return await self._requests.asked(
            server_id, lambda client: client.read_resource(uri), contents_of, timeout_seconds
        )

    async def list_prompts(
        self, server_id: str, *, timeout_seconds: float | None = None
    ) -> list[Prompt]:
        """All prompts that a server lists; kept and raising as ``list_resources``."""
        self._check_open()
        return await self._requests.listed(server_id, "prompts", timeout_seconds)

    async def get_prompt(
        self,
        server_id: str,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout_seconds: float | None = None,
    ) -> PromptMessages:
        """A prompt with its arguments filled in by the server.

        Raises:
            PoolError: as ``read_resource``.
            ValueError: ``timeout_seconds`` is NaN.
        """
        self._check_open()
        given = dict(arguments or {})
        return await self._requests.asked(
            server_id,
            lambda client: client.get_prompt(name, given),
            prompt_messages_of,
            timeout_seconds,
        )

    def instructions(self, servers: Iterable[str] | None = None) -> list[ServerInstructions]:
        """What servers last told models about themselves, in configuration order.

        Those that said nothing and disabled ones are left out; nothing is connected.
        """
        scope = scope_of(servers)
        return [
            ServerInstructions(
                server_id=entry.id, label=entry.row.effective_label, text=entry.instructions
            )
            for entry in self._fleet.entries.values()
            if entry.instructions and entry.row.enabled and is_in_scope(entry.id, scope)
        ]

    def servers_declaring(
        self, capability: str, servers: Iterable[str] | None = None
    ) -> dict[str, str]:
        """Labels, by id, of the enabled servers that last declared the capability.

        In configuration order, and whether they are connected or not.
        """
        scope = scope_of(servers)
        return {
            entry.id: entry.row.effective_label
            for entry in self._fleet.entries.values()
            if capability in entry.capabilities
            and entry.row.enabled
            and is_in_scope(entry.id, scope)
        }

    if TYPE_CHECKING:

        def _check_open(self) -> None: ...
