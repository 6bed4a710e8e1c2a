"""A model behind an endpoint, as a run needs one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio.lowlevel

from host.errors import WireError
from host.records import Message, ToolDefinition, Turn
from host.wire.answer_shapes import ShapeForm, form_notice, next_form
from host.wire.capabilities import Capabilities, ModelCapabilities
from host.wire.clients import Endpoints
from host.wire.continuation import TurnOptions, continue_turn
from host.wire.endpoint import RequestBuilder, ignore, random_jitter, run_turn
from host.wire.failure import words_of
from host.wire.negotiation import NoticeListener
from host.wire.request_body import build_body
from host.wire.schema_in_words import response_format, schema_prompt, with_schema_prompt
from host.wire.settings import EndpointSettings, ModelParams, RetryPolicy
from host.wire.side_tasks import ask_json
from host.wire.streaming import TextListener


class EndpointModel:
    """One model of one endpoint, with its parameters and its patience.

    Args:
        endpoints: the registry that holds its client, its latches and its readings.
        on_notice: told one line for every latch, wait and retry of calls without a listener of
            their own.
        context_limit: its window in tokens (`Endpoints.context_limit` knows it); a request that
            is too large for it is not sent. 0 for unknown.
        jitter: draws the factor of a backoff.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        settings: EndpointSettings,
        params: ModelParams,
        *,
        retry: RetryPolicy = RetryPolicy(),  # noqa: B008  # frozen
        on_notice: NoticeListener | None = None,
        context_limit: int = 0,
        jitter: Callable[[], float] = random_jitter,
    ) -> None:
        self._endpoints = endpoints
        self._settings = settings
        self._params = params
        self._retry = retry
        self._on_notice = on_notice
        self._context_limit = context_limit
        self._jitter = jitter
        self._forms: dict[str, ShapeForm] = {}

    async def turn(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        *,
        response_schema: Mapping[str, Any] | None = None,
        on_thinking: TextListener | None = None,
        on_output: TextListener | None = None,
        on_notice: NoticeListener | None = None,
    ) -> Turn:
        """Asks for one turn and returns it (`run_turn`).

        Args:
            response_schema: the shape the answer is to have: as ``response_format``, or in words
                for a model that takes none. None for any answer. A schema that is refused is
                asked for as one that is not strict, then in words; later turns with the same
                schema begin with the form that was taken.

        Raises:
            WireError: the endpoint failed, and nothing more could be tried.
        """
        form = first = self._form(response_schema)
        told = _Told()
        while True:
            try:
                turn = await run_turn(
                    self._endpoints.client(self._settings),
                    self._endpoints.capabilities(self._settings),
                    self._builder(messages, tools, response_schema, form),
                    on_notice=on_notice or self._on_notice,
                    model=self._params.model,
                    **self._options(told.hearing(on_thinking), told.hearing(on_output)),
                )
            except WireError as error:
                await anyio.lowlevel.checkpoint_if_cancelled()
                other = next_form(form, error, words_of(error), first=first)
                if other is None or told.any or not self._sends_shape(response_schema):
                    raise
            else:
                self._remember(response_schema, form)
                return turn
            form = other
            (on_notice or self._on_notice or ignore)(form_notice(self._params.model, form))

    async def continue_turn(
        self,
        turn: Turn,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        *,
        max_continuations: int = 1,
        response_schema: Mapping[str, Any] | None = None,
        on_thinking: TextListener | None = None,
        on_output: TextListener | None = None,
        on_notice: NoticeListener | None = None,
    ) -> Turn:
        """Goes on with a turn that was cut at its ceiling (`host.wire.continue_turn`).

        Args:
            turn: the answer to a call of `turn` with the same ``messages``, ``tools`` and
                ``response_schema``; returned as it is when there is nothing to go on with.
            max_continuations: the most requests sent.
        """
        return await continue_turn(
            self._endpoints.client(self._settings),
            self._endpoints.capabilities(self._settings),
            self._builder(messages, tools, response_schema, self._form(response_schema)),
            turn,
            max_continuations=max_continuations,
            on_notice=on_notice or self._on_notice,
            model=self._params.model,
            **self._options(on_thinking, on_output),
        )

    async def ask_json(self, system: str, user: str, schema: Mapping[str, Any]) -> object | None:
        """Asks beside the run for JSON of a shape; returns the value, or None when none came.

        Raises:
            WireError: the endpoint failed.
        """
        value: object = await ask_json(
            self._endpoints,
            self._settings,
            self._params.model,
            system,
            user,
            schema,
            on_notice=self._on_notice,
        )
        return value

    def _form(self, schema: Mapping[str, Any] | None) -> ShapeForm:
        return "strict" if schema is None else self._forms.get(schema_prompt(schema), "strict")

    def _remember(self, schema: Mapping[str, Any] | None, form: ShapeForm) -> None:
        """Keeps the form that a schema was taken in: going on with the turn asks in it, too."""
        if schema is not None and form != "strict":
            self._forms[schema_prompt(schema)] = form

    def _sends_shape(self, schema: Mapping[str, Any] | None) -> bool:
        known = self._endpoints.capabilities(self._settings).for_model(self._params.model)
        return schema is not None and known.structured_output

    def _options(
        self, on_thinking: TextListener | None, on_output: TextListener | None
    ) -> TurnOptions:
        return {
            "max_retries": self._retry.max_retries,
            "loading_timeout_seconds": self._retry.loading_timeout_seconds,
            "context_limit": self._context_limit,
            "droppable": tuple(self._params.extra_body),
            "calibration": self._endpoints.calibration(self._settings),
            "jitter": self._jitter,
            "idle_seconds": self._settings.idle_seconds,
            "first_chunk_seconds": self._settings.first_chunk_seconds,
            "on_thinking": on_thinking,
            "on_output": on_output,
        }

    def _builder(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        schema: Mapping[str, Any] | None,
        form: ShapeForm,
    ) -> RequestBuilder:
        def request(
            capabilities: Capabilities, refused: ModelCapabilities | None
        ) -> Mapping[str, Any]:
            if schema is None:
                return build_body(self._params, capabilities, refused, messages, tools)
            if form == "words" or (refused is not None and not refused.structured_output):
                told = with_schema_prompt(messages, schema)
                return build_body(self._params, capabilities, refused, told, tools)
            body = build_body(self._params, capabilities, refused, messages, tools)
            shape = response_format(schema, capabilities, strict=form == "strict")
            return {**body, "response_format": shape}

        return request


class _Told:
    """Whether anybody was told part of an answer, after which it is not asked for again."""

    def __init__(self) -> None:
        self.any = False

    def hearing(self, listener: TextListener | None) -> TextListener | None:
        """The listener, noticed when it is told something; None stays None."""
        if listener is None:
            return None

        def tell(text: str) -> None:
            self.any = True
            listener(text)

        return tell
