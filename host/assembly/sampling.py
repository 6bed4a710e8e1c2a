"""Servers that ask the host's model: each time with somebody's word, a few at once, text only."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from host.assembly.configured_model import ConfiguredModel
from host.assembly.local_engine import LocalEngine
from host.config import AgentSettings, EndpointChoice
from host.errors import HostError
from host.loop import ApprovalPolicy, PersonAsker
from host.pool import SamplingAnswer, SamplingRefusal, SamplingRequest
from host.records import Message, ToolCallRequest, Turn
from host.text.json_text import compact_json
from host.wire import Endpoints

MAX_AT_ONCE = 2
"""How many servers' questions the model works on; the others wait, so that runs get their turns."""

NOBODY = SamplingRefusal(reason="a person has to agree to this, and nobody could be asked")
DECLINED = SamplingRefusal(reason="the user did not agree to this")
FORBIDDEN = SamplingRefusal(reason="the user's settings forbid this")


class Sampler:
    """Asks the host's model for a server: an ``on_sample`` of the pool.

    A request goes by the name ``sampling/ID`` with the server's id, which no tool can have. It is
    judged like a tool's name: by the lists ``allow`` and ``deny`` of ``agent.approve``, and in
    neither by a person.

    Args:
        source: the endpoint, or the engine that is to be one.
        model: its name.
        agent: gives the settings of the moment.
        ask_person: asked about requests that no list decides; None refuses them.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        source: EndpointChoice | LocalEngine,
        model: str,
        agent: Callable[[], AgentSettings],
        ask_person: PersonAsker | None,
    ) -> None:
        self._endpoints = endpoints
        self._source = source
        self._model = model
        self._agent = agent
        self._ask_person = ask_person
        self._places = anyio.Semaphore(MAX_AT_ONCE)
        self._asked = 0

    async def __call__(
        self, server_id: str, request: SamplingRequest
    ) -> SamplingAnswer | SamplingRefusal:
        """What the model says, or why it was not asked or did not answer."""
        agent = self._agent()
        refusal = await self._refusal(server_id, request, agent)
        if refusal is not None:
            return refusal
        model = ConfiguredModel(
            self._endpoints, self._source, self._model, sampling_settings(agent, request)
        )
        async with self._places:
            try:
                turn = await model.turn(conversation(request), [])
            except HostError as error:
                return SamplingRefusal(reason="the model did not answer", detail=str(error))
        return answer_of(turn, self._model)

    async def _refusal(
        self, server_id: str, request: SamplingRequest, agent: AgentSettings
    ) -> SamplingRefusal | None:
        name = f"sampling/{server_id}"
        match sampling_policy(agent).verdict(name, None):
            case "allow":
                return None
            case "deny":
                return FORBIDDEN
        if self._ask_person is None:
            return NOBODY
        self._asked += 1
        shown = shown_request(request)
        call = ToolCallRequest(
            id=f"sampling-{self._asked}", name=name, args=shown, raw=compact_json(shown)
        )
        return None if await self._ask_person(call) == "allow" else DECLINED


def sampling_policy(agent: AgentSettings) -> ApprovalPolicy:
    """The lists of ``agent.approve``; what stands in none of them is asked about."""
    written = agent.approve
    if written is None:
        return ApprovalPolicy(otherwise="ask")
    return ApprovalPolicy(allow=written.allow, ask=written.ask, deny=written.deny, otherwise="ask")


def sampling_settings(agent: AgentSettings, request: SamplingRequest) -> AgentSettings:
    """The settings that the model is asked with: the host's own under the request's limits."""
    limited = ("max_tokens", "max_completion_tokens", "n", "stop")
    extra = {name: value for name, value in agent.extra_body.items() if name not in limited}
    if request.temperature is not None:
        extra.pop("temperature", None)
    if request.stop_sequences:
        extra["stop"] = list(request.stop_sequences)
    update = {"max_tokens": request.max_tokens, "extra_body": extra}
    if request.temperature is not None:
        update["temperature"] = request.temperature
    return agent.model_copy(update=update)


def conversation(request: SamplingRequest) -> list[Message]:
    """The request as the model reads it."""
    system: list[Message] = []
    if request.system_prompt:
        system = [{"role": "system", "content": request.system_prompt}]
    told: list[Message] = []
    for message in request.messages:
        if message.role == "user":
            told.append({"role": "user", "content": message.text})
        else:
            told.append({"role": "assistant", "content": message.text})
    return [*system, *told]


def shown_request(request: SamplingRequest) -> dict[str, object]:
    """The request as a person is shown it before they agree."""
    shown: dict[str, object] = {"system": request.system_prompt} if request.system_prompt else {}
    shown["messages"] = [{message.role: message.text} for message in request.messages]
    shown["maxTokens"] = request.max_tokens
    return shown


def answer_of(turn: Turn, model: str) -> SamplingAnswer:
    """The model's turn as the server reads it, with what it took."""
    return SamplingAnswer(
        text=turn.content,
        model=model,
        stop_reason="maxTokens" if turn.finish_reason == "length" else "endTurn",
        prompt_tokens=turn.usage.prompt_tokens,
        completion_tokens=turn.usage.completion_tokens,
    )
