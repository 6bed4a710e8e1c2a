"""Which tools the pool offers, to whom, and under which names: everything that needs no server.

An index is built from the rows in their order and their listings, and never changes; a new
listing, a rename or an edited row makes a new one. Sources: pool spec §7 to §9, design §8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from host.pool.naming import namespace_owners
from host.pool.search import rank_tools
from host.pool.server_state import ToolDescription, ToolState
from host.records import CatalogueServer, CatalogueTool, ToolDefinition

if TYPE_CHECKING:
    from host.pool.listing import ListedTool
    from host.pool.rows import ServerRow

Refusal: TypeAlias = Literal["unknown-tool", "out-of-scope"]
Scope: TypeAlias = frozenset[str] | None
"""Ids of the servers a run may reach; None for all of them, empty for none."""


def scope_of(servers: Iterable[str] | None) -> Scope:
    """The scope as it is now, whatever becomes of the iterable; a bare text is one id."""
    if servers is None:
        return None
    return frozenset([servers] if isinstance(servers, str) else servers)


def is_in_scope(server_id: str, scope: Scope) -> bool:
    """Whether a run of this scope may reach the server."""
    return scope is None or server_id in scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedServer:
    """A row and its tools, present or last known; without any it is simply empty."""

    row: ServerRow
    tools: tuple[ListedTool, ...] = ()
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedTool:
    """A tool that a name leads to.

    Attributes:
        hidden: kept from the model by its row, or by what it is; calls of the host reach it.
    """

    server_id: str
    tool: ListedTool
    hidden: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NameClash:
    """A name that more than one claims; equal clashes are the same one, so it is told once.

    Attributes:
        name: a namespace that rows share, or a qualified name within or across namespaces.
        owner: the id of the server that has it; loser: that goes without.
    """

    kind: Literal["namespace", "tool"]
    name: str
    owner: str
    loser: str

    @property
    def text(self) -> str:
        """What a person is told."""
        if self.kind == "namespace":
            return (
                f'servers "{self.owner}" and "{self.loser}" share the namespace "{self.name}"; '
                f'the tools of "{self.loser}" are not offered until one has another slug'
            )
        return (
            f'two tools would be called "{self.name}"; the first one is offered, '
            f'the other one of "{self.loser}" is not'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolIndex:
    """Every tool by its qualified name, in the order of the rows and of their listings.

    Attributes:
        entries: hidden tools included; tools that lost their name are not here.
        servers: the rows with their tools, as given.
        clashes: why some tools are not here.
    """

    entries: Mapping[str, IndexedTool] = field(default_factory=dict)
    servers: tuple[ListedServer, ...] = ()
    clashes: frozenset[NameClash] = frozenset()
    _by_server: Mapping[str, tuple[IndexedTool, ...]] = field(default_factory=dict, repr=False)
    _catalogue: tuple[CatalogueServer, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, servers: Iterable[ListedServer]) -> ToolIndex:
        """The index of the servers in their order.

        Of rows that share a namespace the lowest id has it, whatever its state; a disabled row
        has none and offers nothing. Of two tools with one name the first listed has it. Of two
        rows with one id the first counts.
        """
        unique: dict[str, ListedServer] = {}
        for server in servers:
            unique.setdefault(server.row.id, server)
        kept = tuple(unique.values())
        owners = namespace_owners(server.row for server in kept)
        entries: dict[str, IndexedTool] = {}
        clashes: set[NameClash] = set()
        for server in kept:
            row = server.row
            owner = owners.get(row.effective_slug, row.id)
            if not row.enabled:
                continue
            if owner != row.id:
                namespace = row.effective_slug
                clashes.add(NameClash(kind="namespace", name=namespace, owner=owner, loser=row.id))
                continue
            clashes.update(_enter(server, entries))
        return cls(
            entries=entries,
            servers=kept,
            clashes=frozenset(clashes),
            _by_server=_grouped(entries),
            _catalogue=tuple(_catalogue(kept, _grouped(entries))),
        )

    def resolve(
        self, name: str, *, scope: Scope = None, hidden: bool = False
    ) -> IndexedTool | Refusal:
        """The tool, or why a call of this name must be refused; scope is asked before hiding."""
        entry = self.entries.get(name)
        if entry is None:
            return "unknown-tool"
        if not is_in_scope(entry.server_id, scope):
            return "out-of-scope"
        return "unknown-tool" if entry.hidden and not hidden else entry

    def definitions(
        self, names: Iterable[str] | None = None, *, scope: Scope = None
    ) -> list[ToolDefinition]:
        """Definitions in the order of the names, each once; without names those of all tools.

        Unknown, hidden and out-of-scope names are passed over. The definitions are the index's
        own: nobody may change them.
        """
        wanted = self.entries if names is None else dict.fromkeys(names)
        found = (self.resolve(name, scope=scope) for name in wanted)
        return [entry.tool.definition for entry in found if isinstance(entry, IndexedTool)]

    def catalogue(self, scope: Scope = None) -> list[CatalogueServer]:
        """Every server with a tool to offer, with its tools; last known ones are ``stale``."""
        return [server for server in self._catalogue if is_in_scope(server.id, scope)]

    def search(self, query: str, *, scope: Scope = None, limit: int = 10) -> list[CatalogueServer]:
        """The catalogue of the best hits: servers by their best one, tools best first.

        The tool's own name is searched, not the qualified one, and the server's slug and label.
        """
        candidates = (
            _Candidate(
                name=entry.tool.name,
                title=entry.tool.title,
                description=entry.tool.description,
                server=f"{server.row.effective_slug} {server.row.effective_label}",
                listed=server,
                tool=entry.tool,
            )
            for server in self.servers
            if is_in_scope(server.row.id, scope)
            for entry in self._by_server.get(server.row.id, ())
            if not entry.hidden
        )
        hits: dict[str, tuple[ListedServer, list[CatalogueTool]]] = {}
        for candidate, _ in rank_tools(query, candidates, limit=limit):
            server = candidate.listed
            hits.setdefault(server.row.id, (server, []))[1].append(_entry(candidate.tool))
        return [_catalogue_server(server, tools) for server, tools in hits.values()]

    def always_loaded(self, scope: Scope = None) -> list[str]:
        """Qualified names of the tools that rows want loaded from the start, if they are offered.

        In the order of the rows and of their ``alwaysLoad``, each once.
        """
        names: dict[str, None] = {}
        for server in self.servers:
            if is_in_scope(server.row.id, scope):
                offered = {
                    entry.tool.name: entry.tool.qualified
                    for entry in self._by_server.get(server.row.id, ())
                    if not entry.hidden
                }
                wanted = (offered.get(name) for name in server.row.always_load or ())
                names.update(dict.fromkeys(name for name in wanted if name is not None))
        return list(names)

    def describe(
        self, name: str, *, scope: Scope = None, hidden: bool = False
    ) -> ToolDescription | None:
        """Everything about the tool; None wherever a call would be refused."""
        entry = self.resolve(name, scope=scope, hidden=hidden)
        if not isinstance(entry, IndexedTool):
            return None
        tool = entry.tool
        return ToolDescription(
            server_id=entry.server_id,
            name=tool.name,
            qualified=tool.qualified,
            description=tool.description,
            input_schema=tool.input_schema,
            title=tool.title,
            annotations=tool.annotations,
            output_schema=tool.output_schema,
            meta=tool.meta,
            hidden=entry.hidden,
        )


def is_hidden(tool: ListedTool, row: ServerRow) -> bool:
    """Whether the model is not offered the tool: its row hides it, or it is withheld."""
    return tool.withheld is not None or tool.name in (row.hidden_tools or ())


def tool_states(server: ListedServer) -> tuple[ToolState, ...]:
    """The server's tools as ``state()`` shows them: all of them, in the server's order."""
    return tuple(
        ToolState(
            name=tool.name,
            qualified=tool.qualified,
            description=tool.description,
            title=tool.title,
            annotations=tool.annotations,
            hidden=is_hidden(tool, server.row),
            tokens=tool.tokens,
            withheld=tool.withheld,
        )
        for tool in server.tools
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """What a search looks at, and what it found it for."""

    name: str
    title: str | None
    description: str
    server: str
    listed: ListedServer
    tool: ListedTool


def _enter(server: ListedServer, entries: dict[str, IndexedTool]) -> Iterator[NameClash]:
    row = server.row
    for tool in server.tools:
        holder = entries.get(tool.qualified)
        if holder is None:
            entries[tool.qualified] = IndexedTool(
                server_id=row.id, tool=tool, hidden=is_hidden(tool, row)
            )
        else:
            yield NameClash(kind="tool", name=tool.qualified, owner=holder.server_id, loser=row.id)


def _grouped(entries: Mapping[str, IndexedTool]) -> dict[str, tuple[IndexedTool, ...]]:
    grouped: dict[str, list[IndexedTool]] = {}
    for entry in entries.values():
        grouped.setdefault(entry.server_id, []).append(entry)
    return {server_id: tuple(tools) for server_id, tools in grouped.items()}


def _catalogue(
    servers: Iterable[ListedServer], by_server: Mapping[str, tuple[IndexedTool, ...]]
) -> Iterator[CatalogueServer]:
    for server in servers:
        entries = by_server.get(server.row.id, ())
        tools = [_entry(entry.tool) for entry in entries if not entry.hidden]
        if tools:
            yield _catalogue_server(server, tools)


def _catalogue_server(server: ListedServer, tools: Iterable[CatalogueTool]) -> CatalogueServer:
    return CatalogueServer(
        id=server.row.id,
        label=server.row.effective_label,
        tools=tuple(tools),
        stale=server.stale,
    )


def _entry(tool: ListedTool) -> CatalogueTool:
    return CatalogueTool(
        name=tool.qualified,
        description=tool.description,
        title=tool.title,
        annotations=tool.annotations,
        tokens=tool.tokens,
    )
