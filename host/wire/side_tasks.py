"""Small questions beside the run: a title, a summary, a choice. One answer, not streamed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio.lowlevel

from host.errors import WireError
from host.text.thinking import strip_thinking
from host.wire.answers import parse_json
from host.wire.capabilities import (
    Capabilities,
    ModelCapabilities,
    ceiling_and_temperature,
    effort_for,
)
from host.wire.clients import Endpoints
from host.wire.exchange import exchange
from host.wire.failure import words_of
from host.wire.message_fields import reasoning_of, text_of
from host.wire.negotiation import NoticeListener, Produced, negotiate
from host.wire.patience import blames_output
from host.wire.retry import refuses_request
from host.wire.schema_compat import is_grammar_error
from host.wire.schema_in_words import response_format, schema_prompt
from host.wire.settings import EndpointSettings
from host.wire.streaming import CHAT_PATH

TASK_MAX_TOKENS = 512
TASK_TEMPERATURE = 0.3

UserContent = str | list[dict[str, Any]]
ResultT = TypeVar("ResultT")


async def ask(
    endpoints: Endpoints,
    settings: EndpointSettings,
    model: str,
    system: str,
    user: UserContent,
    *,
    max_tokens: int = TASK_MAX_TOKENS,
    temperature: float | None = TASK_TEMPERATURE,
    reasoning_effort: str | None = None,
    on_notice: NoticeListener | None = None,
) -> str:
    """Asks one question and returns the answer, trimmed and without thinking; "" for none.

    The model is asked not to think, as far as it takes such hints (agent-core §11). A 400 or 422
    that may be about them is answered by one request without; what was refused is remembered only
    when that succeeds, since a 400 may have any other reason.

    Args:
        user: text, or content parts.
        max_tokens: the answer's ceiling; 0 and less for none.
        reasoning_effort: a level to think at, in place of the hints; None, "" and "off" for none.
        on_notice: told one line for everything that is left out.

    Raises:
        WireError: the endpoint failed. Nothing is tried again for a failure that may pass.
    """
    task = _Task(
        model=model,
        system=system,
        user=user,
        max_tokens=max_tokens,
        temperature=temperature,
        reasoning_effort=reasoning_effort,
    )
    return await _Asking(endpoints, settings, task, on_notice).answer()


async def ask_json(
    endpoints: Endpoints,
    settings: EndpointSettings,
    model: str,
    system: str,
    user: UserContent,
    schema: object,
    *,
    name: str = "answer",
    strict: bool = True,
    max_tokens: int = TASK_MAX_TOKENS,
    temperature: float | None = TASK_TEMPERATURE,
    reasoning_effort: str | None = None,
    on_notice: NoticeListener | None = None,
) -> Any:
    """Asks for JSON of a shape; returns the value, or None when no JSON came.

    The shape is always told in words, and as ``response_format`` to models that take one; a server
    that cannot enforce this one, relaxed or not, is asked in words alone. The value is not checked
    against it.

    Args:
        name: what the schema is called in the request.
        strict: whether a server that can is to enforce it.

    The other arguments, and what is raised, are those of `ask`.
    """
    task = _Task(
        model=model,
        system=f"{system}\n\n{schema_prompt(schema)}".lstrip(),
        user=user,
        max_tokens=max_tokens,
        temperature=temperature,
        reasoning_effort=reasoning_effort,
        shape=_Shape(schema=schema, name=name, strict=strict),
    )
    return parse_json(await _Asking(endpoints, settings, task, on_notice).answer())


async def try_ask(
    label: str,
    run: Callable[[], Awaitable[ResultT]],
    *,
    on_notice: NoticeListener | None = None,
) -> ResultT | None:
    """Awaits ``run()`` and returns its result, or None with the notice ``label: what happened``.

    A stop passes, also one that came together with a failure.
    """
    try:
        return await run()
    except Exception as error:  # noqa: BLE001  # the run goes on without what was only nice to have
        await anyio.lowlevel.checkpoint_if_cancelled()
        if on_notice:
            on_notice(f"{label}: {' '.join(str(error).split()) or type(error).__name__}")
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    schema: object
    name: str
    strict: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    model: str
    system: str
    user: UserContent
    max_tokens: int
    temperature: float | None
    reasoning_effort: str | None
    shape: _Shape | None = None

    def body(
        self, capabilities: Capabilities, refused: ModelCapabilities, *, hinted: bool, shaped: bool
    ) -> dict[str, Any]:
        """The request; ``hinted`` against thinking, ``shaped`` by a field if there is a shape."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": self.system},
                {"role": "user", "content": self.user},
            ],
            **ceiling_and_temperature(refused, self.max_tokens, self.temperature),
        }
        if shaped and self.shape is not None and refused.structured_output:
            body["response_format"] = response_format(
                self.shape.schema, capabilities, name=self.shape.name, strict=self.shape.strict
            )
        return {**body, **self._hints(refused)} if hinted else body

    def _hints(self, refused: ModelCapabilities) -> dict[str, Any]:
        asked = self.reasoning_effort
        is_level = bool(asked) and effort_for(None, asked) != ""
        hints: dict[str, Any] = {}
        if not is_level and refused.thinking_hints:
            hints["chat_template_kwargs"] = {"enable_thinking": False}
        if effort := effort_for(refused, asked if is_level else "none"):
            hints["reasoning_effort"] = effort
        return hints


@dataclass(slots=True)
class _Asking:
    endpoints: Endpoints
    settings: EndpointSettings
    task: _Task
    on_notice: NoticeListener | None
    hinted: bool = True
    shaped: bool = True
    sent: Mapping[str, Any] = field(default_factory=dict)

    async def answer(self) -> str:
        capabilities = self.endpoints.capabilities(self.settings)
        try:
            return await self._negotiated(capabilities)
        except WireError as error:
            is_shape_refused = "response_format" in self.sent and _blames_shape(error)
            refused_fields = self.sent.keys() & {"chat_template_kwargs", "reasoning_effort"}
            if not is_shape_refused and not (refuses_request(error) and refused_fields):
                raise
        if is_shape_refused:
            self._notify(f"server cannot hold {self.task.model} to the asked shape")
            self.shaped = False
            return await self.answer()
        self._notify(f"{self.task.model} did not take {' and '.join(sorted(refused_fields))}")
        self.hinted = False
        answer = await self._negotiated(capabilities)
        known = capabilities.for_model(self.task.model)
        if "chat_template_kwargs" in refused_fields:
            known.thinking_hints = False
        else:
            known.reasoning_effort = False
        return answer

    async def _negotiated(self, capabilities: Capabilities) -> str:
        return await negotiate(
            capabilities, self._send, on_notice=self.on_notice, model=self.task.model
        )

    async def _send(
        self, capabilities: Capabilities, _: Produced, refused: ModelCapabilities | None
    ) -> str:
        known = refused or capabilities.for_model(self.task.model)
        self.sent = self.task.body(capabilities, known, hinted=self.hinted, shaped=self.shaped)
        limit = self.settings.first_chunk_seconds or self.settings.idle_seconds
        client = self.endpoints.client(self.settings)
        return _answer_in(await exchange(client, CHAT_PATH, self.sent, limit_seconds=limit))

    def _notify(self, what: str) -> None:
        if self.on_notice:
            self.on_notice(f"{what}; trying again without")


def _answer_in(reply: object) -> str:
    match reply:
        case {"choices": [{"message": Mapping() as message}, *_]}:
            texts = (text_of(message), reasoning_of(message))
            answers = (strip_thinking(text).strip() for text in texts)
            return next((answer for answer in answers if answer), "")
        case _:
            return ""


def _blames_shape(error: WireError) -> bool:
    """Whether no grammar came of the schema, or none that the answer could be read by.

    llama-server b10434 answers 500 for an empty ``enum``, as if the model had written nonsense.
    """
    return is_grammar_error(words_of(error)) or blames_output(error)
