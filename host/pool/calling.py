"""One tool call, from a name to text: the order of pool spec §10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from host.errors import PoolError
from host.pool.arguments import coerce_arguments, unsendable
from host.pool.bounded import Patience, WorkAbandoned, checked_seconds
from host.pool.call_progress import CallProgress
from host.pool.changed_schema import changed_schema_refusal
from host.pool.entry import Entry
from host.pool.failure_words import CallFailed, call_failure, is_closed, is_cut_stream
from host.pool.fleet import Fleet
from host.pool.pool_events import PoolEvents
from host.pool.result_cache import Question, ResultCache, is_read_only, may_cache
from host.pool.results import result_text
from host.pool.settings import PoolSettings
from host.pool.tool_finder import ToolFinder
from host.pool.tool_index import IndexedTool, Scope
from host.text.redaction import Redactor
from host.text.truncation import truncate_text

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from host.pool.connection import Connection

NO_OUTPUT = "(no output)"
NO_WORDS = "the tool failed and gave no reason"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """How one call is made; None leaves it to the row, and then to the pool.

    Attributes:
        written_for: the schema that the arguments were written for; None for the last one listed.
    """

    scope: Scope = None
    timeout_seconds: float | None = None
    coerce: bool | None = None
    max_result_chars: int | None = None
    cache: bool = True
    hidden: bool = False
    raw: bool = False
    written_for: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checked_seconds("timeout_seconds", self.timeout_seconds)


@dataclass(slots=True, kw_only=True)
class _Facts:
    """What the event of a call will say, and what takes secrets out of it."""

    server_id: str | None = None
    ok: bool = False
    code: str | None = None
    error: str | None = None
    chars: int | None = None
    truncated: bool | None = None
    cached: bool | None = None
    redactor: Redactor = field(default_factory=Redactor)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A call that may be made: its tool, its server, its arguments as they will be sent."""

    name: str
    entry: Entry
    found: IndexedTool
    arguments: dict[str, Any]
    options: CallOptions

    @property
    def trusted(self) -> bool:
        return self.entry.row.trust_annotations is True

    @property
    def max_chars(self) -> int | None:
        own = self.entry.row.max_result_chars
        return own if self.options.max_result_chars is None else self.options.max_result_chars


class Caller:
    """Makes calls, and tells of each in one event."""

    def __init__(
        self,
        fleet: Fleet,
        finder: ToolFinder,
        events: PoolEvents,
        cache: ResultCache | None,
        settings: PoolSettings,
    ) -> None:
        self._fleet = fleet
        self._finder = finder
        self._events = events
        self._cache = cache
        self._settings = settings

    async def text(self, name: str, arguments: object, options: CallOptions) -> str:
        """The answer as text, whole results cut; "" for an empty one.

        Raises:
            PoolError: see ``ServerPool.call``.
        """
        facts, began = _Facts(), anyio.current_time()
        try:
            call = await self._prepared(name, arguments, options, facts)
            whole = await self._whole_text(call, facts)
            limit = call.max_chars
            if limit is None:
                limit = self._settings.max_result_chars
            shown = truncate_text(whole, limit)
            facts.ok, facts.truncated = True, shown != whole
        except BaseException as error:
            _note(facts, error)
            raise
        finally:
            self._tell(name, options, facts, began)
        return shown

    async def raw(self, name: str, arguments: object, options: CallOptions) -> CallToolResult:
        """The answer as the protocol has it, errors of the tool included.

        Raises:
            PoolError: see ``ServerPool.call``; never ``tool-error`` for an ``isError`` result.
        """
        facts, began = _Facts(), anyio.current_time()
        try:
            call = await self._prepared(name, arguments, options, facts)
            result = await self._sent(call)
            facts.ok = not result.is_error
            facts.code = "tool-error" if result.is_error else None
        except BaseException as error:
            _note(facts, error)
            raise
        finally:
            self._tell(name, options, facts, began)
        return result

    async def _prepared(
        self, name: str, arguments: object, options: CallOptions, facts: _Facts
    ) -> _Call:
        known = self._finder.schema(name) if options.written_for is None else options.written_for
        entry, found = await self._finder.find(name, scope=options.scope, hidden=options.hidden)
        facts.server_id, facts.redactor = entry.id, entry.redactor
        fitted, problems = self._fitted(entry, found, arguments, options)
        if problems:  # they quote the arguments, in part; those of a hook may hold secrets
            shown = entry.redactor.redact_values(arguments)
            problems = self._fitted(entry, found, shown, options)[1] or problems
        call = _Call(name=name, entry=entry, found=found, arguments=fitted, options=options)
        _judge(call, known, problems)
        return call

    def _fitted(
        self, entry: Entry, found: IndexedTool, arguments: object, options: CallOptions
    ) -> tuple[dict[str, Any], list[str]]:
        """The arguments as they would be sent, and what keeps them from being sent."""
        switches = (options.coerce, entry.row.coerce_arguments, self._settings.coerce_arguments)
        if next(switch for switch in switches if switch is not None):
            fitted, problems = coerce_arguments(found.tool.input_schema, arguments)
        else:
            fitted = dict(arguments) if isinstance(arguments, Mapping) else {}
            is_usable = arguments is None or isinstance(arguments, Mapping)
            problems = [] if is_usable else ["`arguments` must be a JSON object"]
        return fitted, problems or unsendable(fitted)

    async def _whole_text(self, call: _Call, facts: _Facts) -> str:
        question = self._question(call)
        if question is not None and call.options.cache and self._cache is not None:
            kept = self._cache.answer(question)
            if kept is not None:
                facts.cached, facts.chars = True, len(kept)
                return kept
        result = await self._sent(call)
        text = call.entry.redactor.for_models.redact(result_text(result))
        facts.chars = len(text)
        if result.is_error:
            limit = call.max_chars
            shown = truncate_text(
                call.entry.redactor.redact(text) or NO_WORDS,
                self._settings.max_result_chars if limit is None else limit,
            )
            raise PoolError("tool-error", shown, server_id=call.entry.id, tool_name=call.name)
        if question is not None and self._cache is not None:
            if not self._is_read(call):  # its own write made earlier questions void
                question = self._question(call)
            if question is not None:
                self._cache.keep(question, text)
        return text

    def _question(self, call: _Call) -> Question | None:
        annotations = call.found.tool.annotations
        if self._cache is None or not may_cache(annotations, trusted=call.trusted):
            return None
        return self._cache.question(call.entry.id, call.found.tool.name, call.arguments)

    def _is_read(self, call: _Call) -> bool:
        return is_read_only(call.found.tool.annotations, trusted=call.trusted)

    async def _sent(self, call: _Call) -> CallToolResult:
        writes = self._cache is not None and not self._is_read(call)
        if writes and self._cache is not None:
            self._cache.clear_server(call.entry.id)
        try:
            return await self._answered(call)
        finally:
            if writes and self._cache is not None:
                self._cache.clear_server(call.entry.id)

    async def _answered(self, call: _Call) -> CallToolResult:
        """The answer; asked once more on a new connection where that cannot do harm."""
        entry, connection = call.entry, call.entry.connection
        assert connection is not None
        try:
            return await self._asked(call, connection)
        except CallFailed as failed:
            if is_closed(failed.reason):
                await connection.ends_soon()
            if not _may_repeat(failed, call.found):
                raise self._error(call, connection, failed) from failed.bare()
            first = failed
        try:
            entry, found = await self._finder.find(
                call.name, scope=call.options.scope, hidden=call.options.hidden
            )
        except PoolError as gone:
            if first.note.session_lost:
                raise
            raise self._error(call, connection, first) from gone
        again = entry.connection
        assert again is not None
        repeated = _Call(
            name=call.name,
            entry=entry,
            found=found,
            arguments=call.arguments,
            options=call.options,
        )
        _judge(repeated, call.found.tool.input_schema, [])
        try:
            return await self._asked(repeated, again)
        except CallFailed as failed:
            raise self._error(repeated, again, failed) from failed.bare()

    async def _asked(self, call: _Call, connection: Connection) -> CallToolResult:
        row = call.entry.row
        seconds = call.options.timeout_seconds
        if seconds is None:
            seconds = call.entry.seconds(row.call_timeout_ms, self._settings.call_timeout_seconds)
        longest = call.entry.seconds(row.max_call_timeout_ms, None)
        progress = self._progress_of(call)
        try:
            return await connection.call_tool(
                call.found.tool.name,
                call.arguments,
                Patience(seconds, longest),
                renews=row.progress_extends_timeout is True,
                on_progress=None if progress is None else progress.report,
            )
        except TimeoutError as error:
            raise PoolError(
                "timeout",
                f"{call.name} did not answer within {seconds:g} s",
                server_id=call.entry.id,
                tool_name=call.name,
                timeout_seconds=seconds,
            ) from error
        except WorkAbandoned as error:
            raise PoolError(
                "tool-error", f"{call.name}: {error}", server_id=call.entry.id, tool_name=call.name
            ) from error
        finally:
            if progress is not None:
                progress.end()
            self._fleet.touch(call.entry)

    def _progress_of(self, call: _Call) -> CallProgress | None:
        """What tells of the call's progress; None while nobody would hear it."""
        if not self._events.is_heard:
            return None

        def tell(progress: float, total: float | None, text: str | None) -> None:
            self._events.emit(
                "progress",
                call.entry.id,
                tool_name=call.name,
                progress=progress,
                total=total,
                text=text,
            )

        return CallProgress(tell, call.entry.redactor.redact, anyio.current_time)

    def _error(self, call: _Call, connection: Connection, failed: CallFailed) -> PoolError:
        why = call_failure(
            failed.reason, failed.note, end_note=connection.end_note(), redactor=call.entry.redactor
        )
        redact = call.entry.redactor.redact
        words = connection.last_words() if connection.has_ended else ""
        return PoolError(
            "tool-error",
            redact(f'{call.name}: server "{call.entry.row.effective_label}" {why}'),
            server_id=call.entry.id,
            tool_name=call.name,
            detail=redact(words) or None,
        )

    def _tell(self, name: str, options: CallOptions, facts: _Facts, began: float) -> None:
        self._events.emit(
            "call",
            facts.server_id,
            tool_name=name,
            hidden=options.hidden,
            raw=options.raw,
            seconds=anyio.current_time() - began,
            ok=facts.ok,
            code=facts.code,
            error=facts.error,
            chars=facts.chars,
            truncated=facts.truncated,
            cached=facts.cached,
        )


def _note(facts: _Facts, error: BaseException) -> None:
    facts.code = error.code if isinstance(error, PoolError) else None
    facts.error = facts.redactor.redact(str(error)) or type(error).__name__


def _judge(call: _Call, known: Mapping[str, Any] | None, problems: Sequence[str]) -> None:
    """Refuse a call with problems, or with arguments that a changed schema does not take.

    Args:
        known: the schema the arguments were written for; None for the present one.
    """
    schema = call.found.tool.input_schema
    text = f"{call.name}: {'; '.join(problems)}" if problems else ""
    if known is not None and known is not schema and known != schema:
        text = changed_schema_refusal(
            call.name, known=known, current=schema, arguments=call.arguments, problems=problems
        )
    if text:
        text = call.entry.redactor.redact(text)
        raise PoolError("invalid-arguments", text, server_id=call.entry.id, tool_name=call.name)


def _may_repeat(failed: CallFailed, found: IndexedTool) -> bool:
    """Whether the call was not dispatched, or does no harm twice (design §8 "Replay")."""
    if failed.note.session_lost:
        return True
    hints = found.tool.annotations or {}
    harmless = hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True
    is_cut = is_closed(failed.reason) or is_cut_stream(failed.reason)
    cut = is_cut or bool(failed.note.failure) or failed.note.broken_body
    return harmless and cut
