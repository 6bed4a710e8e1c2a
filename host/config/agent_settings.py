"""The ``agent`` object of a servers file: which endpoint, which model, under which policy."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class AgentSettings(BaseModel):
    """How questions are answered. Every field may be left out.

    Attributes:
        base_url, api_key, model: the endpoint; None leaves it to flags and environment.
        gguf: a model's file to serve here, in place of ``base_url``; relative to the servers file.
        max_tokens: ceiling of one reply; 0 sends none.
        request_timeout_seconds: longest silence in an answer; 0 waits for ever.
        first_token_seconds: longest wait for the first token; None: five times the above.
        loading_timeout_seconds: patience with a model that is still being loaded.
        context_length: the model's window in tokens; 0 asks the endpoint. A model's file is
            served with it; 0 takes what the model was trained for and the memory holds.
        discovery: ``names`` (catalogue and load_tools) or ``eager`` (every schema, always).
        max_tool_iterations: requests whose tools run.
        deadline_seconds: for one question; None for no limit.
        max_result_chars: a longer tool result is cut in the middle; 0 cuts none.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, strict=True
    )

    base_url: str | None = Field(None, pattern=r"^https?://\S+$")
    api_key: str | None = Field(None, repr=False)
    model: str | None = Field(None, min_length=1)
    gguf: str | None = Field(None, min_length=1)
    max_tokens: int = Field(0, ge=0)
    temperature: float | None = Field(None, ge=0)
    reasoning_effort: str | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)
    request_timeout_seconds: float = Field(0, ge=0)
    first_token_seconds: float | None = Field(None, ge=0)
    max_retries: int = Field(2, ge=0)
    loading_timeout_seconds: float = Field(120, ge=0)
    context_length: int = Field(0, ge=0)
    system_prompt: str = ""
    discovery: Literal["names", "eager"] = "names"
    parallel: bool = True
    max_tool_iterations: int = Field(20, ge=1)
    deadline_seconds: float | None = Field(None, gt=0)
    max_result_chars: int = Field(20_000, ge=0)
