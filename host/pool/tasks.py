"""Calls that a server carries out as tasks: made, asked about, answered to, called off.

In the era of sessions (2025-11-25) the caller makes a task of a call, and only tools that need it
are called so. In that of 2026-07-28 the server does, of any call, once it knows that we speak the
extension. Whatever goes wrong once there is a task, the call may have run: nothing here is ever
taken for a call that was not made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import anyio
from mcp import MCPError
from mcp.client import ClaimContext, ClientExtension, ClientRequestContext, ResultClaim
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    CancelTaskRequest,
    CancelTaskRequestParams,
    ErrorData,
    GetTaskPayloadRequest,
    GetTaskPayloadRequestParams,
    GetTaskRequest,
    GetTaskRequestParams,
    InputRequest,
    InputResponse,
    Request,
    RequestParams,
    Result,
    TaskMetadata,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, TypeAdapter

from host.pool.exchange_note import noting_exchanges
from host.pool.failure_words import is_closed
from host.pool.result_mending import mend_result
from host.pool.task_states import (
    MIN_POLL_SECONDS,
    TASKS_EXTENSION,
    TaskFailed,
    TaskState,
    read_task,
    speaks_tasks,
)

if TYPE_CHECKING:
    from mcp.client import Client, ClientSession
    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import Tool

KEEP_MS = 86_400_000
"""How long a server of sessions is asked to keep a task: longer than anybody waits for a call."""
ANSWER_SECONDS = 10.0
"""How long it may take to say how a task stands."""
CALL_OFF_SECONDS = 2.0
MAX_MISSES = 3
"""So many questions in a row may go without an answer before the task is given up."""

_GONE = (INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND)
_UNKNOWN = "whether the tool ran is unknown"
_INPUT_REQUEST: TypeAdapter[InputRequest] = TypeAdapter(InputRequest)

_teller: ContextVar[ProgressFnT | None] = ContextVar("task_progress", default=None)


@contextmanager
def telling_progress(teller: ProgressFnT | None) -> Iterator[None]:
    """Have every step of tasks made in this block told to the teller; it must not raise."""
    token = _teller.set(teller)
    try:
        yield
    finally:
        _teller.reset(token)


def has_tasks(client: Client) -> bool:
    """Whether the server carries out calls as tasks, in the way of its era."""
    capabilities = client.server_capabilities.model_dump(by_alias=True, exclude_none=True)
    return speaks_tasks(capabilities, is_modern=client.protocol_version in MODERN_PROTOCOL_VERSIONS)


def only_as_tasks(tools: Iterable[Tool]) -> frozenset[str]:
    """Names of the tools that can only be called as tasks."""
    return frozenset(
        tool.name
        for tool in tools
        if tool.execution is not None and tool.execution.task_support == "required"
    )


async def call_tool(
    client: Client,
    name: str,
    arguments: dict[str, object],
    progressed: ProgressFnT | None,
    *,
    as_task: bool,
) -> CallToolResult:
    """The answer to a call, whether the server makes a task of it or not.

    Args:
        progressed: hears of the server's progress reports, and of each step of a task.
        as_task: the tool can only be called as a task.

    Raises:
        TaskFailed: the task came to nothing.
        MCPError: the server's own error, or the connection's.
        ValueError: the answer is malformed.
    """
    with telling_progress(progressed):
        if as_task and client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return await _call_as_task(client.session, name, arguments)
        return await client.call_tool(name, arguments, progress_callback=progressed)


async def _call_as_task(
    session: ClientSession, name: str, arguments: dict[str, object]
) -> CallToolResult:
    params = CallToolRequestParams(name=name, arguments=arguments, task=TaskMetadata(ttl=KEEP_MS))
    sent = await _sent(session, CallToolRequest(params=params))
    if isinstance(sent.get("task"), dict):
        result = await _Task(session, _made(sent)).result()
    else:  # it has answered at once
        result = _call_result(session, sent)
    if not result.is_error:
        await session.validate_tool_result(name, result)
    return result


class TasksExtension(ClientExtension):
    """Tells servers of 2026-07-28 that they may make tasks of calls, and sees to those tasks."""

    identifier = TASKS_EXTENSION

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """The one answer that is a task in place of a result."""
        return [ResultClaim(result_type="task", model=_Created, resolve=_resolved)]


class _Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


async def _sent(
    session: ClientSession, request: Request[Any, Any], seconds: float | None = None
) -> dict[str, Any]:
    """The answer to a request as it came, within the time."""
    answer = await session.send_request(request, _Anything, request_read_timeout_seconds=seconds)
    return answer.model_extra or {}


class _Created(Result):
    model_config = ConfigDict(extra="allow")

    result_type: Literal["task"] = "task"


async def _resolved(created: _Created, context: ClaimContext) -> CallToolResult:
    first = _made(created.model_dump(by_alias=True))
    if first.is_over:  # only the answer to a question has its result
        first = replace(first, status="working", poll_seconds=MIN_POLL_SECONDS)
    return await _Task(context.session, first).result()


def _made(sent: Mapping[str, Any]) -> TaskState:
    try:
        return read_task(sent)
    except ValueError as error:
        raise TaskFailed(f"{error}; {_UNKNOWN}") from error


class _Get(GetTaskRequest):
    name_param = "taskId"


class _Cancel(CancelTaskRequest):
    name_param = "taskId"


class _UpdateParams(RequestParams):
    task_id: str
    input_responses: dict[str, InputResponse]


class _Update(Request[_UpdateParams, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: _UpdateParams
    name_param = "taskId"


class _Task:
    """One task, from the answer that made it to its end."""

    def __init__(self, session: ClientSession, first: TaskState) -> None:
        self._session = session
        self._state = first
        self._is_modern = session.protocol_version in MODERN_PROTOCOL_VERSIONS
        self._answered: set[str] = set()
        self._steps = 0

    async def result(self) -> CallToolResult:
        """What came of it; the server is told when nobody wants it any more.

        Raises:
            TaskFailed: nothing.
            MCPError: the server's own error, or the connection's.
        """
        try:
            # A note of its own: a session lost from here on is none that refused the call.
            with noting_exchanges() as note:
                try:
                    await self._follow()
                    return await self._outcome()
                except MCPError as error:
                    if note.status is None and not note.failure:
                        raise
                    raise _lost(error) from error
        except (anyio.get_cancelled_exc_class(), TaskFailed):
            with anyio.move_on_after(CALL_OFF_SECONDS, shield=True):
                await self._call_off()
            raise

    async def _follow(self) -> None:
        """Ask until it is over, or, in the era of sessions, until it wants to know something."""
        misses = 0
        while not self._is_settled():
            await anyio.sleep(self._state.poll_seconds)
            try:
                await self._ask()
                misses = 0
            except (MCPError, ValueError) as error:
                misses += 1
                self._judge(error, misses)
                continue
            await self._answer()

    def _is_settled(self) -> bool:
        return self._state.is_over or (
            not self._is_modern and self._state.status == "input_required"
        )

    async def _ask(self) -> None:
        request = _Get(params=GetTaskRequestParams(task_id=self._state.task_id))
        sent = await _sent(self._session, request, ANSWER_SECONDS)
        before, self._state = self._state.stamp, read_task(sent)
        teller = _teller.get()
        if teller is not None and self._state.stamp != before:
            self._steps += 1
            await teller(float(self._steps), None, self._state.message or None)

    def _judge(self, error: MCPError | ValueError, misses: int) -> None:
        """Raise when there is no use in asking again."""
        if is_closed(error):
            raise error
        if isinstance(error, MCPError) and error.code in _GONE:
            raise TaskFailed(
                f"does not know the task any more that it made of the call; {_UNKNOWN}"
            ) from error
        if misses >= MAX_MISSES:
            raise _lost(error) from error

    async def _answer(self) -> None:
        """Answer what the server wants to know for the task, each question once."""
        known = self._answered if self._state.status == "input_required" else self._state.requests
        asked = {key: value for key, value in self._state.requests.items() if key not in known}
        if not asked:
            return
        self._answered.update(asked)
        responses = {key: await self._response(key, value) for key, value in asked.items()}
        params = _UpdateParams(task_id=self._state.task_id, input_responses=responses)
        try:
            await _sent(self._session, _Update(params=params))
        except (MCPError, ValueError) as error:
            self._judge(error, MAX_MISSES)

    async def _response(self, key: str, written: Any) -> InputResponse:
        try:
            request = _INPUT_REQUEST.validate_python(written, by_name=False)
        except ValueError as error:
            raise TaskFailed("asks in its task for what this host does not know") from error
        meta = request.params.meta if request.params else None
        context = ClientRequestContext(session=self._session, request_id=key, meta=meta)
        response = await self._session.dispatch_input_request(context, request)
        if isinstance(response, ErrorData):
            raise TaskFailed(f"asks in its task for what it is not given: {response.message}")
        return response

    async def _outcome(self) -> CallToolResult:
        state = self._state
        if state.status == "cancelled":
            why = f": {state.message}" if state.message else ""
            raise TaskFailed(f"has called off the task that it made of the call{why}")
        if not self._is_modern:
            request = GetTaskPayloadRequest(
                params=GetTaskPayloadRequestParams(task_id=state.task_id)
            )
            return _call_result(self._session, await _sent(self._session, request))
        if state.status == "failed":
            code, message = state.error or (0, "")
            raise MCPError(code, message or state.message or "no reason given")
        if state.result is None:
            raise TaskFailed("says that the task is done and hands over no result")
        return _call_result(self._session, state.result)

    async def _call_off(self) -> None:
        """Tell the server, whatever it makes of that."""
        if self._state.is_over:
            return
        request = _Cancel(params=CancelTaskRequestParams(task_id=self._state.task_id))
        try:
            await _sent(self._session, request)
        except (MCPError, ValueError, RuntimeError):
            return


def _lost(error: MCPError | ValueError) -> TaskFailed:
    said = f" ({error.message})" if isinstance(error, MCPError) else ""
    return TaskFailed(f"does not say what became of the task it made of the call{said}; {_UNKNOWN}")


def _call_result(session: ClientSession, sent: Any) -> CallToolResult:
    version = session.protocol_version
    mended, _ = mend_result(
        "tools/call", version if version in MODERN_PROTOCOL_VERSIONS else None, sent
    )
    return CallToolResult.model_validate(mended, by_name=False)
