"""What a server may ask of our model, and what it is answered.

Text only: pictures, sounds and tools are refused before anybody is asked. Sources: MCP 2025-11-25
"Sampling"; design §8 "Row fields beyond the spec".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledMessage:
    """One message of the conversation that is to be gone on with."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRequest:
    """A conversation for the model, as a server wrote it: nothing in it is to be believed.

    Attributes:
        system_prompt: "" for none.
        max_tokens: the least of what the server asked for and what its row allows.
        temperature: None leaves it to the model.
        stop_sequences: texts that end the answer.
    """

    messages: tuple[SampledMessage, ...]
    system_prompt: str = ""
    max_tokens: int
    temperature: float | None = None
    stop_sequences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingAnswer:
    """What the model said.

    Attributes:
        model: its name, as the server is told it.
        stop_reason: ``endTurn``, ``stopSequence`` or ``maxTokens``.
        prompt_tokens, completion_tokens: what it took; told in an event, not to the server.
    """

    text: str = field(repr=False)
    model: str
    stop_reason: str = "endTurn"
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRefusal:
    """The model was not asked, or did not answer.

    Attributes:
        reason: one line that the server is told, too.
        detail: what is told in an event in its place; "" for the reason.
    """

    reason: str
    detail: str = ""


OnSample: TypeAlias = Callable[[str, SamplingRequest], Awaitable[SamplingAnswer | SamplingRefusal]]
"""Asks the model for a server, named by its row's id."""
