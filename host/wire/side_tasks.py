"""Small questions beside the run: a title, a summary, a choice. One answer, not streamed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio.lowlevel

from host.errors import WireError
from host.text.terminal_text import one_line
from host.text.thinking import strip_thinking
from host.wire.answer_shapes import ShapeForm, form_notice, next_form
from host.wire.answers import parse_json
from host.wire.capabilities import (
    Capabilities,
    ModelCapabilities,
    ceiling_and_temperature,
    effort_for,
)
from host.wire.clients import Endpoints
from host.wire.efforts import published_efforts, refuses_effort_value
from host.wire.exchange import exchange
from host.wire.failure import words_of
from host.wire.message_fields import reasoning_of, text_of
from host.wire.negotiation import NoticeListener, Produced, negotiate
from host.wire.patience import blames_output
from host.wire.retry import refuses_request
from host.wire.schema_in_words import response_format, schema_prompt
from host.wire.settings import EndpointSettings
from host.wire.streaming import CHAT_PATH

TASK_MAX_TOKENS = 512
TASK_TEMPERATURE = 0.3

_HINTS = ("chat_template_kwargs", "reasoning_effort")

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
    when that succeeds, since a 400 may have any other reason. A refused effort is remembered as
    that value: others of the model's users may choose another.

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

    The shape is always told in words, and as ``response_format`` to models that take one. A server
    that does not take this one as strict is asked without, and one that takes it in no form, in
    words alone; neither is remembered. The value is not checked against it.

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
            on_notice(f"{label}: {one_line(str(error)) or type(error).__name__}")
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
        self,
        capabilities: Capabilities,
        refused: ModelCapabilities,
        *,
        hinted: bool,
        form: ShapeForm,
    ) -> dict[str, Any]:
        """The request; ``hinted`` against thinking, its shape, if there is one, in this form."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": self.system},
                {"role": "user", "content": self.user},
            ],
            **ceiling_and_temperature(refused, self.max_tokens, self.temperature),
        }
        if form != "words" and self.shape is not None and refused.structured_output:
            body["response_format"] = response_format(
                self.shape.schema, capabilities, name=self.shape.name, strict=form == "strict"
            )
        return {**body, **self._hints(refused)} if hinted else body

    def _hints(self, refused: ModelCapabilities) -> dict[str, Any]:
        asked = self.reasoning_effort
        is_level = bool(asked) and effort_for(None, asked) != ""
        hints: dict[str, Any] = {}
        if not is_level and refused.thinking_hints:
            hints["chat_template_kwargs"] = {"enable_thinking": False}
        effort = effort_for(refused, asked if is_level else "none")
        if effort and (is_level or effort not in refused.refused_efforts):
            hints["reasoning_effort"] = effort
        return hints


@dataclass(slots=True)
class _Asking:
    endpoints: Endpoints
    settings: EndpointSettings
    task: _Task
    on_notice: NoticeListener | None
    form: ShapeForm = "strict"
    hinted: bool = True
    sent: Mapping[str, Any] = field(default_factory=dict)
    suspected: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""

    def __post_init__(self) -> None:
        if self.task.shape is not None and not self.task.shape.strict:
            self.form = "loose"

    async def answer(self) -> str:
        capabilities = self.endpoints.capabilities(self.settings)
        first = self.form
        while True:
            try:
                answer = await self._negotiated(capabilities)
            except WireError as error:
                words = words_of(error)
                if not (self._other_form(error, words, first) or self._no_hints(error, words)):
                    raise
            else:
                self._remember(capabilities.for_model(self.task.model))
                return answer

    def _other_form(self, error: WireError, words: str, first: ShapeForm) -> bool:
        """Whether the shape may be at fault, so that it is asked for in another form now."""
        if "response_format" not in self.sent:
            return False
        # llama-server b10434 answers 500 for an empty ``enum``, as if the model wrote nonsense.
        is_unread = blames_output(error)
        form = "words" if is_unread else next_form(self.form, error, words, first=first)
        if form is None:
            return False
        self.form = form
        self._notify(form_notice(self.task.model, form))
        return True

    def _no_hints(self, error: WireError, words: str) -> bool:
        """Whether the request's hints may be at fault, so that they are left out now."""
        hints = {name: self.sent[name] for name in _HINTS if name in self.sent}
        if not hints or not refuses_request(error):
            return False
        self.hinted, self.suspected, self.said = False, hints, words
        self._notify(f"{self.task.model} did not take {' and '.join(hints)}; trying again without")
        return True

    def _remember(self, known: ModelCapabilities) -> None:
        """Turns off what was suspected, now that the answer came without it."""
        effort = self.suspected.get("reasoning_effort")
        is_alone = len(self.suspected) == 1
        is_of_effort = is_alone or "reasoning_effort" in self.said.lower()
        if effort and is_of_effort and refuses_effort_value(self.said):
            known.refused_efforts.add(effort.lower())
            published = published_efforts(self.said)
            if published is not None and effort.lower() not in published:
                known.supported_efforts = published
        elif "chat_template_kwargs" in self.suspected:
            known.thinking_hints = False
        elif effort:
            known.reasoning_effort = False

    async def _negotiated(self, capabilities: Capabilities) -> str:
        return await negotiate(
            capabilities, self._send, on_notice=self.on_notice, model=self.task.model
        )

    async def _send(
        self, capabilities: Capabilities, _: Produced, refused: ModelCapabilities | None
    ) -> str:
        known = refused or capabilities.for_model(self.task.model)
        self.sent = self.task.body(capabilities, known, hinted=self.hinted, form=self.form)
        limit = self.settings.first_chunk_seconds or self.settings.idle_seconds
        client = self.endpoints.client(self.settings)
        return _answer_in(await exchange(client, CHAT_PATH, self.sent, limit_seconds=limit))

    def _notify(self, notice: str) -> None:
        if self.on_notice:
            self.on_notice(notice)


def _answer_in(reply: object) -> str:
    match reply:
        case {"choices": [{"message": Mapping() as message}, *_]}:
            texts = (text_of(message), reasoning_of(message))
            answers = (strip_thinking(text).strip() for text in texts)
            return next((answer for answer in answers if answer), "")
        case _:
            return ""
