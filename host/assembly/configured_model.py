"""The model that a configuration names, as a run asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from host.assembly.local_engine import LocalEngine
from host.config import AgentSettings, EndpointChoice, endpoint_settings
from host.errors import EndpointUnavailable, StreamBroken
from host.records import Message, ToolDefinition, Turn
from host.wire import EndpointModel, Endpoints, ModelParams, RetryPolicy

TextListener = Callable[[str], None]


def model_name(source: EndpointChoice | LocalEngine | None) -> str | None:
    """What the model is asked for as; None where there is no model."""
    if source is None:
        return None
    return source.name if isinstance(source, LocalEngine) else source.model


class ConfiguredModel:
    """A model that learns its context window before its first turn, not before the run begins.

    So a stop or a deadline of the run also ends the wait for an endpoint that is slow to say, or
    for an engine that is still loading.

    Args:
        source: the endpoint, or the engine that is to be one.
        model: its name; the endpoint's own may be None.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        source: EndpointChoice | LocalEngine,
        model: str,
        agent: AgentSettings,
    ) -> None:
        self._endpoints = endpoints
        self._source = source
        self._name = model
        self._agent = agent
        self._model: EndpointModel | None = None
        self._window = 0

    async def turn(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        *,
        response_schema: Mapping[str, Any] | None = None,
        on_thinking: TextListener | None = None,
        on_output: TextListener | None = None,
        on_notice: TextListener | None = None,
    ) -> Turn:
        """Asks for one turn (`EndpointModel.turn`).

        Raises:
            WireError: the endpoint failed, and nothing more could be tried.
        """
        async with self._asked() as model:
            return await model.turn(
                messages,
                tools,
                response_schema=response_schema,
                on_thinking=on_thinking,
                on_output=on_output,
                on_notice=on_notice,
            )

    async def continue_turn(
        self,
        turn: Turn,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        *,
        max_continuations: int = 1,
        on_thinking: TextListener | None = None,
        on_output: TextListener | None = None,
        on_notice: TextListener | None = None,
    ) -> Turn:
        """Goes on with a turn that was cut at its ceiling (`EndpointModel.continue_turn`)."""
        async with self._asked() as model:
            return await model.continue_turn(
                turn,
                messages,
                tools,
                max_continuations=max_continuations,
                on_thinking=on_thinking,
                on_output=on_output,
                on_notice=on_notice,
            )

    async def window(self) -> int:
        """The model's context window in tokens; 0 for unknown.

        Raises:
            WireError: the endpoint failed.
        """
        async with self._asked():
            return self._window

    async def ask_json(self, system: str, user: str, schema: Mapping[str, Any]) -> object | None:
        """Asks beside the run for JSON of a shape (`EndpointModel.ask_json`).

        Raises:
            WireError: the endpoint failed.
        """
        async with self._asked() as model:
            return await model.ask_json(system, user, schema)

    @asynccontextmanager
    async def _asked(self) -> AsyncIterator[EndpointModel]:
        """The model, for one request; an engine that is dead is told as that."""
        try:
            yield await self._ready()
        except (EndpointUnavailable, StreamBroken) as error:
            death = await self._source.death() if isinstance(self._source, LocalEngine) else None
            if death is None:
                raise
            raise death from error

    async def _ready(self) -> EndpointModel:
        if self._model is None:
            agent, choice, stated = self._agent, self._source, self._agent.context_length
            if isinstance(choice, LocalEngine):
                choice, stated = await choice.ready(), 0  # it knows what it was told to serve
            settings = endpoint_settings(choice, agent)
            window = await self._endpoints.context_limit(settings, self._name, stated)
            self._window = window
            self._model = EndpointModel(
                self._endpoints,
                settings,
                ModelParams(
                    model=self._name,
                    max_tokens=agent.max_tokens,
                    temperature=agent.temperature,
                    reasoning_effort=agent.reasoning_effort,
                    extra_body=agent.extra_body,
                ),
                retry=RetryPolicy(
                    max_retries=agent.max_retries,
                    loading_timeout_seconds=agent.loading_timeout_seconds,
                ),
                context_limit=window,
            )
        return self._model
