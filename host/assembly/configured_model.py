"""The model that a configuration names, as a run asks it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from host.config import AgentSettings, EndpointChoice, endpoint_settings
from host.records import Message, ToolDefinition, Turn
from host.wire import EndpointModel, Endpoints, ModelParams, RetryPolicy

TextListener = Callable[[str], None]


class ConfiguredModel:
    """A model that learns its context window before its first turn, not before the run begins.

    So a stop or a deadline of the run also ends the wait for an endpoint that is slow to say.

    Args:
        model: its name; the choice's own may be None.
    """

    def __init__(
        self, endpoints: Endpoints, choice: EndpointChoice, model: str, agent: AgentSettings
    ) -> None:
        self._endpoints = endpoints
        self._settings = endpoint_settings(choice, agent)
        self._name = model
        self._agent = agent
        self._model: EndpointModel | None = None

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
        model = await self._ready()
        return await model.turn(
            messages,
            tools,
            response_schema=response_schema,
            on_thinking=on_thinking,
            on_output=on_output,
            on_notice=on_notice,
        )

    async def ask_json(self, system: str, user: str, schema: Mapping[str, Any]) -> object | None:
        """Asks beside the run for JSON of a shape (`EndpointModel.ask_json`).

        Raises:
            WireError: the endpoint failed.
        """
        return await (await self._ready()).ask_json(system, user, schema)

    async def _ready(self) -> EndpointModel:
        if self._model is None:
            agent = self._agent
            window = await self._endpoints.context_limit(
                self._settings, self._name, agent.context_length
            )
            self._model = EndpointModel(
                self._endpoints,
                self._settings,
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
