"""What a server wants of us in a session: of a person, of our model, its roots; its log lines.

The SDK calls these for the requests of a session and for the ``input_required`` rounds of
2026-07-28 alike. Whatever an answer of ours raises stays here: the session goes on, the server
reads a cancel or a refusal in our words, and what was raised, which may quote what a person
answered, is named to nobody but by its type.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from mcp import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    URL_ELICITATION_REQUIRED,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    LoggingMessageNotification,
    Root,
    SamplingMessage,
    TextContent,
)

from host.pool.arguments import unsendable
from host.pool.elicitation import (
    CANCEL,
    ElicitationAnswer,
    ElicitationRequest,
    FormElicitation,
    PageNeeded,
    UrlElicitation,
    form_request,
    url_request,
)
from host.pool.form_fields import filled_in, misfits
from host.pool.open_questions import OpenQuestions
from host.pool.rate_limit import RateLimit
from host.pool.sampling import SampledMessage, SamplingAnswer, SamplingRefusal, SamplingRequest
from host.pool.server_log import ServerLog
from host.text.terminal_text import one_line

if TYPE_CHECKING:
    from mcp.client import ClientRequestContext
    from mcp.client.session import ElicitationFnT, ListRootsFnT, SamplingFnT
    from mcp_types import ServerNotification

    from host.pool.bounded import Patience
    from host.pool.row_secrets import RowRedactor
    from host.pool.rows import ServerRow
    from host.pool.settings import PoolSettings
    from host.text.redaction import Redactor

T = TypeVar("T")

REFUSED = -1
"""The code of a request that was said no to (MCP "Sampling")."""
MAX_PAGES = 5
"""How many pages one call may need."""
STRETCH_SECONDS = 60.0
MAX_SAMPLES = 20
"""How often in each stretch of time a server may ask the model: one that loops is refused."""
MAX_ELICITATIONS = 100
"""The same for asking a person, who is slower than what declines for want of one."""
MAX_NOTICES = 20

_FAULT = SamplingRefusal(reason="the model could not be asked")


class ServerRequests:
    """Answers what one server asks of us, and passes on what it logs.

    Args:
        redactor: takes the row's secrets out of what people, and models, are asked.
        tell: kind and fields of an event about the server.
        on_notice: level and text of something worth knowing.
    """

    def __init__(
        self,
        row: ServerRow,
        settings: PoolSettings,
        redactor: RowRedactor,
        tell: Callable[..., None],
        on_notice: Callable[[str, str], None],
    ) -> None:
        self._row = row
        self._settings = settings
        self._redactor = redactor
        self._tell = tell
        self._on_notice = on_notice
        self._questions = OpenQuestions()
        self._samples = RateLimit(MAX_SAMPLES, STRETCH_SECONDS)
        self._elicitations = RateLimit(MAX_ELICITATIONS, STRETCH_SECONDS)
        self._notices = RateLimit(MAX_NOTICES, STRETCH_SECONDS)
        line = partial(tell, "log", source="server")
        self._log = ServerLog(line, on_notice, redactor, anyio.current_time)

    @property
    def elicitation(self) -> ElicitationFnT | None:
        """What asks a person; None where nobody is asked, and the server is told so."""
        served = self._settings.on_elicit is not None and self._settings.elicitation_modes
        return self._elicit if served else None

    @property
    def sampling(self) -> SamplingFnT | None:
        """What asks our model; None where the row does not allow that or there is none."""
        allowed = self._row.sampling is not None and self._row.sampling.allow
        return self._sample if allowed and self._settings.on_sample is not None else None

    @property
    def roots(self) -> ListRootsFnT:
        """What answers with the row's roots; many servers ask, and none is a good answer."""
        return list_roots(self._row.roots or ())

    def hear(self, notification: ServerNotification) -> None:
        """Tell of it where it is a log line."""
        if isinstance(notification, LoggingMessageNotification):
            line = notification.params
            self._log.hear(line.level, line.data, line.logger)

    def end(self) -> None:
        """The session is over: tell what of its log lines was left out."""
        self._log.end()

    def holding(self, patience: Patience | None) -> AbstractContextManager[None]:
        """A block of a call whose clock stands still while the server waits for an answer."""
        return self._questions.holding(patience)

    async def with_pages(self, call: Callable[[], Awaitable[T]]) -> T:
        """What the call gives; made once more where it needs a page and a person has been there.

        Raises:
            PageNeeded: the person has not, or the call needs it all the same.
            Exception: what the call raised.
        """
        try:
            return await call()
        except MCPError as error:
            if error.code != URL_ELICITATION_REQUIRED:
                raise
            pages = list(_pages(error.data, self._redactor))
        needed = PageNeeded([page.host for page in pages])
        if not pages or not await self._visited(pages):
            raise needed
        try:
            return await call()
        except MCPError as error:
            if error.code != URL_ELICITATION_REQUIRED:
                raise
        raise needed

    async def _visited(self, pages: Sequence[UrlElicitation]) -> bool:
        if self._settings.on_elicit is None or "url" not in self._settings.elicitation_modes:
            return False
        for page in pages:
            if (await self._answered(page)).action != "accept":
                return False
        return True

    async def _elicit(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        if params.mode not in self._settings.elicitation_modes:
            return ErrorData(code=INVALID_PARAMS, message=f"mode {params.mode} is not served")
        try:
            request: ElicitationRequest
            message = self._redactor.redact(params.message)
            if isinstance(params, ElicitRequestFormParams):
                request = form_request(message, params.requested_schema)
            else:
                request = url_request(message, params.url)
        except ValueError as error:
            self._warn(f"asked a person for what cannot be asked: {error}")
            return ErrorData(code=INVALID_PARAMS, message=f"cannot be asked: {error}")
        answer = await self._answered(request)
        return ElicitResult(
            action=answer.action, content=None if answer.content is None else dict(answer.content)
        )

    async def _answered(self, request: ElicitationRequest) -> ElicitationAnswer:
        """The person's answer as it is sent; a cancel where there is none that could be."""
        ask, began = self._settings.on_elicit, anyio.current_time()
        assert ask is not None  # else nobody comes here
        if self._questions.is_full or not self._elicitations.admits(began):
            self._warn("asks a person too much; a question was cancelled")
            return CANCEL
        with self._questions.asking():
            try:
                answer = self._fitting(request, await ask(self._row.id, request))
            except Exception as error:  # noqa: BLE001 - containment of a callback
                self._warn(_raised("on_elicit", error, "was cancelled"))
                answer = CANCEL
        self._tell(
            "elicitation",
            mode=request.mode,
            action=answer.action,
            seconds=anyio.current_time() - began,
        )
        return answer

    def _fitting(self, request: ElicitationRequest, answer: ElicitationAnswer) -> ElicitationAnswer:
        if answer.action not in ("accept", "decline", "cancel"):
            raise ValueError("no answer")
        if answer.action != "accept" or not isinstance(request, FormElicitation):
            return replace(answer, content=None)
        content = filled_in(request.fields, answer.content or {})
        wrong = misfits(request.fields, content)
        if not wrong and unsendable(content):
            wrong = [field.name for field in request.fields]
        if not wrong:
            return replace(answer, content=content)
        names = ", ".join(one_line(name) for name in wrong)
        self._warn(f"its question was cancelled: the answer does not fit the form ({names})")
        return CANCEL

    async def _sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        row, ask = self._row.sampling, self._settings.on_sample
        assert row is not None  # else this is nobody's callback
        assert ask is not None
        try:
            request = sampling_request(params, row.max_tokens, self._redactor.for_models)
        except ValueError as error:
            return ErrorData(code=INVALID_PARAMS, message=str(error))
        began = anyio.current_time()
        if self._questions.is_full or not self._samples.admits(began):
            self._warn("asks the model too often; a question was refused")
            return ErrorData(code=REFUSED, message="the model is asked too often")
        with self._questions.asking():
            try:
                answer = await ask(self._row.id, request)
                if isinstance(answer, SamplingRefusal):
                    return self._refused(answer, began)
                return self._sampled(answer, began)
            except Exception as error:  # noqa: BLE001 - containment of a callback
                self._warn(_raised("on_sample", error, "was refused"))
                return self._refused(_FAULT, began, INTERNAL_ERROR)

    def _refused(self, refusal: SamplingRefusal, began: float, code: int = REFUSED) -> ErrorData:
        seconds = anyio.current_time() - began
        error = one_line(refusal.detail or refusal.reason)
        self._tell("sampling", ok=False, error=error, seconds=seconds)
        return ErrorData(code=code, message=one_line(refusal.reason))

    def _sampled(self, answer: SamplingAnswer, began: float) -> CreateMessageResult:
        text = answer.text.encode("utf-8", "replace").decode()  # half a character ends a session
        sent = CreateMessageResult(
            role="assistant",
            content=TextContent(text=text),
            model=answer.model,
            stop_reason=answer.stop_reason,
        )
        self._tell(
            "sampling",
            ok=True,
            seconds=anyio.current_time() - began,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
        )
        return sent

    def _warn(self, text: str) -> None:
        if self._notices.admits(anyio.current_time()):
            self._on_notice("warning", text)


def sampling_request(
    params: CreateMessageRequestParams, max_tokens: int, redactor: Redactor
) -> SamplingRequest:
    """A server's request for our model, with its own limit of tokens or the row's.

    Raises:
        ValueError: it asks for what is not served; the text says what.
    """
    if params.tools or params.tool_choice:
        raise ValueError("sampling with tools is not served, only text")
    return SamplingRequest(
        messages=tuple(
            SampledMessage(role=message.role, text=redactor.redact(_text_of(message)))
            for message in params.messages
        ),
        system_prompt=redactor.redact(params.system_prompt or ""),
        max_tokens=max(1, min(params.max_tokens, max_tokens)),
        temperature=params.temperature,
        stop_sequences=tuple(params.stop_sequences or ()),
    )


def list_roots(roots: Sequence[str]) -> ListRootsFnT:
    """A callback that answers with these roots: addresses, or paths of folders."""
    answer = ListRootsResult(
        roots=[
            Root(uri=root if "://" in root else Path(root).absolute().as_uri()) for root in roots
        ]
    )

    async def callback(context: ClientRequestContext) -> ListRootsResult:
        return answer

    return callback


def _text_of(message: SamplingMessage) -> str:
    blocks = message.content_as_list
    for other in (block.type for block in blocks if block.type != "text"):
        raise ValueError(f"sampling with content of type {other} is not served, only text")
    return "\n".join(block.text for block in blocks if block.type == "text")


def _pages(data: Any, redactor: Redactor) -> Iterator[UrlElicitation]:
    """The pages a refused call names, without those that cannot be shown."""
    listed = data.get("elicitations") if isinstance(data, dict) else None
    for each in listed[:MAX_PAGES] if isinstance(listed, list) else ():
        written = each if isinstance(each, dict) else {}
        message, url = written.get("message", ""), written.get("url")
        if isinstance(url, str) and isinstance(message, str):
            try:
                yield url_request(redactor.redact(message), url, is_needed=True)
            except ValueError:
                continue


def _raised(callback: str, error: Exception, outcome: str) -> str:
    """What is said of a callback's fault: where it is, and none of its words."""
    *_, (frame, line) = walk_tb(error.__traceback__)
    where = f"{Path(frame.f_code.co_filename).name}:{line}"
    return f"its question {outcome}: {callback} raised {type(error).__name__} in {where}"
