"""What an endpoint turned out not to support, and what may therefore be sent to it.

Every flag is a latch: True until a refusal turns it off, and never on again by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from host.wire.efforts import next_effort

if TYPE_CHECKING:
    import anyio

AcceptedForm = Literal["bare", "out"]
"""How a tool is sent that is not taken as it is: with an empty object schema, or not at all."""


@dataclass(slots=True, kw_only=True)
class ModelCapabilities:
    """What one model behind one endpoint takes.

    Attributes:
        reasoning_effort: the field at all.
        legacy_token_limit: ``max_tokens``; off means ``max_completion_tokens``.
        chosen_temperature: any temperature but the model's own.
        structured_output: ``response_format`` with a JSON schema.
        assistant_prefill: a request that ends in a half-written answer.
        thinking_hints: ``chat_template_kwargs`` that ask for no thinking.
        refused_fields: extra body fields it does not know.
        refused_efforts: effort values it turned down, lowercase.
        supported_efforts: the effort values it published; None when it never did.
        tools: any tools at all.
        max_tools: as many tools as it takes in one request; None for any number.
        refused_tools: what is sent instead of a tool, by the digest of its definition
            (`host.wire.tool_forms`); in one list of tools only, by that list's digest, ``#`` and
            its place, which no snapshot keeps. Kept per model: behind one router each has its own
            checks.
        isolating: set while a run is looking for the tools that are refused; others wait for it.
    """

    reasoning_effort: bool = True
    legacy_token_limit: bool = True
    chosen_temperature: bool = True
    structured_output: bool = True
    assistant_prefill: bool = True
    thinking_hints: bool = True
    refused_fields: set[str] = field(default_factory=set)
    refused_efforts: set[str] = field(default_factory=set)
    supported_efforts: tuple[str, ...] | None = None
    tools: bool = True
    max_tools: int | None = None
    refused_tools: dict[str, AcceptedForm] = field(default_factory=dict)
    isolating: anyio.Event | None = field(default=None, repr=False, compare=False)


@dataclass(slots=True, kw_only=True)
class Capabilities:
    """What one endpoint takes, and each of its models.

    Attributes:
        strict_schemas: tool schemas with ``pattern``, ``format`` and the like.
        usage_in_stream: ``stream_options``, which asks for token counts.
        models: by the model's name as requested; `for_model` fills it.
        since: when the entry was made; None when nobody noted it.
    """

    strict_schemas: bool = True
    usage_in_stream: bool = True
    models: dict[str, ModelCapabilities] = field(default_factory=dict)
    since: datetime | None = None

    def for_model(self, model: str) -> ModelCapabilities:
        """The live latches of one model, the same object every time."""
        return self.models.setdefault(model, ModelCapabilities())


def latch_state(capabilities: Capabilities, model: str | None = None) -> tuple[object, ...]:
    """A value that changes whenever a latch of the endpoint, or of the model, turns off.

    Comparing two shows whether another run has learned something in between.
    """
    endpoint = (capabilities.strict_schemas, capabilities.usage_in_stream)
    known = capabilities.models.get(model) if model else None
    refused = known or ModelCapabilities()
    return (
        *endpoint,
        refused.reasoning_effort,
        refused.legacy_token_limit,
        refused.chosen_temperature,
        refused.structured_output,
        refused.assistant_prefill,
        refused.thinking_hints,
        len(refused.refused_fields),
        len(refused.refused_efforts),
        refused.supported_efforts,
        refused.tools,
        refused.max_tools,
        len(refused.refused_tools),
    )


def effort_for(refused: ModelCapabilities | None, asked: str | None) -> str:
    """The reasoning effort to send; "" for none.

    An effort that the model turned down, or did not list, is replaced by the next dearer one it
    may take; with none left it is sent as asked, for the caller to read the refusal.
    """
    if not asked or asked.lower() == "off":
        return ""
    if refused is None:
        return asked
    if not refused.reasoning_effort:
        return ""
    effort, supported = asked.lower(), refused.supported_efforts
    unlisted = supported is not None and effort not in supported
    if effort not in refused.refused_efforts and not unlisted:
        return asked
    return next_effort(effort, refused=refused.refused_efforts, supported=supported) or asked


def ceiling_and_temperature(
    refused: ModelCapabilities | None, max_tokens: int, temperature: float | None
) -> dict[str, Any]:
    """The body fields for a reply's ceiling and its temperature, in the model's spelling.

    No ceiling for 0 or less; no temperature for None or where the model insists on its own. A
    model nobody knows gets ``max_tokens`` (agent-core §24, 6).
    """
    fields: dict[str, Any] = {}
    if max_tokens > 0:
        legacy = refused is None or refused.legacy_token_limit
        fields["max_tokens" if legacy else "max_completion_tokens"] = max_tokens
    if temperature is not None and (refused is None or refused.chosen_temperature):
        fields["temperature"] = temperature
    return fields
