"""Finding out which tools of a refused request an endpoint does not take, by asking it (ours).

Probes hold no conversation and ask for one token. Where the refusal was an HTTP status, an answer
is closed at its headers, before any prompt is read (xllamacpp 2026.10 sends them after 0.03 s, the
first byte of a slow prompt after 30 s); a refusal that came inside an answer is looked for there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import openai

from host.errors import EndpointRefused, EndpointSilent, EndpointUnavailable, WireError
from host.records import ToolDefinition
from host.text.json_text import compact_json
from host.wire.answer_bytes import AnswerBytes
from host.wire.capabilities import Capabilities, ModelCapabilities
from host.wire.culprit_search import Finding, Trial, culprit_search
from host.wire.failure import IN_ANSWER, ForeignFailures, redactor_of, words_of
from host.wire.negotiation import NoticeListener
from host.wire.patience import MAX_RETRY_AFTER_SECONDS
from host.wire.refusals import Lesson, learn
from host.wire.retry import backoff_seconds, is_transient
from host.wire.schema_compat import relax_tools
from host.wire.streaming import CHAT_PATH, stream_turn
from host.wire.tool_forms import (
    general_choice,
    in_forms,
    probe_body,
    remember_finding,
    tool_names,
    with_accepted_tools,
)
from host.wire.tool_refusals import (
    blames_ceiling,
    blames_choice,
    is_probe_refused,
    isolation_notice,
    may_be_tools,
    reason_of,
    suspects_in,
)

MAX_REPEATED = 3
"""How many probes of one search are sent once more after a failure that may pass."""


async def isolate_tools(
    client: openai.AsyncOpenAI,
    capabilities: Capabilities,
    body: Mapping[str, Any],
    error: WireError,
    *,
    model: str,
    on_notice: NoticeListener,
    limit_seconds: float | None = None,
) -> bool:
    """Learns which tools of a refused request are at fault; whether to send it again.

    What is learned stands in the model's ``refused_tools`` (or ``max_tools``, ``tools``,
    ``strict_schemas``) and is told in one notice. Nothing is learned, and False returned, when the
    refusal is about something else or when a probe fails in any other way than by a refusal. At
    most ``MAX_PROBES`` + 4 requests are sent, and those once more that failed for the moment, up
    to ``MAX_REPEATED``. Of several runs refused at once one asks, and the others wait for it; one
    that is stopped leaves the asking to the next.

    Args:
        body: as it was sent.
        error: what was answered.
        model: "" for a request without one; label of the notice.
        limit_seconds: how long one probe may take; None waits for ever.
    """
    if not body.get("tools") or not may_be_tools(error, words_of(error)):
        return False
    known = capabilities.for_model(model)
    if with_accepted_tools(body, known) is not body:
        return True  # another run has found out since this request was sent
    if known.isolating is not None:
        await known.isolating.wait()
        return True
    done = known.isolating = anyio.Event()
    try:
        probing = _Probing(client, body, known, _is_inside(error), limit_seconds)
        return await _Isolation(capabilities, known, probing, error, model, on_notice).run()
    finally:
        known.isolating = None
        done.set()


@dataclass(slots=True)
class _Probing:
    client: openai.AsyncOpenAI
    body: Mapping[str, Any]
    known: ModelCapabilities
    inside: bool
    limit_seconds: float | None
    choice: Any = None
    own_ceiling: bool = False
    repeated: int = 0
    words: str = ""

    async def refuses(self, tools: Sequence[ToolDefinition]) -> bool:
        """Whether the endpoint refuses these tools; ``words`` are what it said then.

        One token may be too few where thinking has a budget, and such a refusal says nothing
        about the tools: from there on a probe asks for as many as the request did.

        Raises:
            WireError: it failed in another way.
        """
        refused = await self._answered(tools)
        if refused and not self.own_ceiling and blames_ceiling(self.words):
            self.own_ceiling = True
            refused = await self._answered(tools)
        return refused

    async def _answered(self, tools: Sequence[ToolDefinition]) -> bool:
        body = probe_body(
            self.body, tools, self.known, own_ceiling=self.own_ceiling, choice=self.choice
        )
        is_repetition = False
        while True:
            try:
                await self._send(body)
                return False
            except WireError as error:
                await anyio.lowlevel.checkpoint_if_cancelled()
                self.words = words_of(error)
                refused = is_probe_refused(error, self.words)
                if refused is not None:
                    return refused
                if is_repetition or not self._may_repeat(error):
                    raise
                seconds = _pause_seconds(error)
            is_repetition = True
            self.repeated += 1
            await anyio.sleep(seconds)

    def _may_repeat(self, error: WireError) -> bool:
        is_silent = isinstance(error, EndpointSilent)  # it has been waited for already
        return self.repeated < MAX_REPEATED and is_transient(error) and not is_silent

    async def _send(self, body: Mapping[str, Any]) -> None:
        if self.inside:
            await stream_turn(self.client, body, idle_seconds=self.limit_seconds)
        else:
            await _headers_of(self.client, body, self.limit_seconds)


@dataclass(slots=True)
class _Isolation:
    capabilities: Capabilities
    known: ModelCapabilities
    probing: _Probing
    error: WireError
    model: str
    on_notice: NoticeListener
    reasons: dict[int, str] = field(default_factory=dict)

    async def run(self) -> bool:
        tools: list[ToolDefinition] = list(self.probing.body["tools"])
        try:
            if not await self._is_reproduced(tools):
                return False
            relaxed = relax_tools(tools) if self.capabilities.strict_schemas else tools
            if relaxed != tools:
                if not await self.probing.refuses(relaxed):
                    self._relax("server takes the tool schemas only without pattern and format")
                    return True
                tools = relaxed
            finding = await self._searched(tools)
        except WireError:
            return False
        if finding.fault == "elsewhere" or self._is_choice_at_fault(finding):
            return False
        if tools is relaxed:
            self._relax()
        self._remember(finding, tools)
        return True

    async def _is_reproduced(self, tools: Sequence[ToolDefinition]) -> bool:
        """Whether the tools are refused without the conversation too.

        By themselves, or else under the choice that the request made among them: where a call is
        required, a server may build a grammar that it does not need otherwise.
        """
        if await self.probing.refuses(tools):
            return True
        choice = general_choice(self.probing.body)
        if choice in (None, "auto") or blames_choice(words_of(self.error)):
            return False
        self.probing.choice = choice
        return await self.probing.refuses(tools)

    def _is_choice_at_fault(self, finding: Finding) -> bool:
        """Whether even plain tools are refused under the choice, and any without it."""
        return self.probing.choice is not None and finding.fault == "all tools"

    async def _searched(self, tools: list[ToolDefinition]) -> Finding:
        names = tool_names(tools)
        said = words_of(self.error)
        self.reasons = dict.fromkeys(range(len(tools)), reason_of(self.probing.words or said))
        search = culprit_search(len(tools), suspects=suspects_in(said, names))
        trial = next(search)
        while True:
            refused = await self._refuses(trial, tools)
            try:
                trial = search.send(refused)
            except StopIteration as end:
                finding: Finding = end.value
                return finding

    async def _refuses(self, trial: Trial, tools: list[ToolDefinition]) -> bool:
        refused = await self.probing.refuses(in_forms(tools, trial.forms))
        if refused:
            # The first culprit of a list is what servers speak of, and what is found first.
            whole = [index for index, form in trial.forms.items() if form == "whole"]
            self.reasons |= dict.fromkeys(whole, reason_of(self.probing.words))
        return refused

    def _remember(self, finding: Finding, tools: list[ToolDefinition]) -> None:
        remember_finding(finding, tools, self.known)
        label = self.model or "server"
        self.on_notice(isolation_notice(label, finding, tool_names(tools), self.reasons))

    def _relax(self, notice: str = "") -> None:
        learn(self.capabilities, Lesson(latch="strict_schemas", notice=notice))
        if notice:
            self.on_notice(notice)


async def _headers_of(
    client: openai.AsyncOpenAI, body: Mapping[str, Any], limit_seconds: float | None
) -> None:
    """Sends a request and closes its answer when its headers are there.

    Raises:
        WireError: the endpoint failed.
    """
    limit = limit_seconds or math.inf
    with anyio.move_on_after(limit) as scope, ForeignFailures(redactor_of(client)):
        response: Any = await client.post(
            CHAT_PATH,
            cast_to=httpx2.Response,
            content=compact_json(body).encode(),
            options={"timeout": None},
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
        async with AnswerBytes(response):
            return
    await anyio.lowlevel.checkpoint_if_cancelled()
    if scope.cancelled_caught:
        raise EndpointSilent(limit, True)


def _pause_seconds(error: WireError) -> float:
    asked = error.retry_after_seconds if isinstance(error, EndpointUnavailable) else None
    return max(backoff_seconds(0, jitter=1), min(asked or 0.0, MAX_RETRY_AFTER_SECONDS))


def _is_inside(error: WireError) -> bool:
    """Whether a refusal came inside an answer that had begun well."""
    words = error.body if isinstance(error, EndpointRefused) else str(error)
    return IN_ANSWER in words or not isinstance(error.__cause__, openai.APIStatusError)
