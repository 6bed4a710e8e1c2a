"""The ``agent.approve`` object of a servers file: which calls are made, asked about or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from host.loop.approval import ApprovalPolicy


def _without_blanks(pattern: str) -> str:
    if pattern.split() != [pattern]:
        expected = "must be a tool's name without blanks, * and ? for what may vary"
        raise PydanticCustomError("tool_pattern", expected)
    return pattern


_Ruling: TypeAlias = Literal["allow", "ask", "deny"]
_Patterns: TypeAlias = tuple[Annotated[str, AfterValidator(_without_blanks)], ...]


class ApprovalSettings(BaseModel):
    """Rules for calls, as ``ApprovalPolicy`` has them. Every field may be left out, or be null.

    Attributes:
        allow, ask, deny: patterns over qualified names, ``*`` and ``?`` for what may vary.
        read_only, destructive, otherwise: for tools in no list, by what they say of themselves.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, strict=True
    )

    allow: _Patterns = Field((), strict=False)  # JSON has no tuples
    ask: _Patterns = Field((), strict=False)
    deny: _Patterns = Field((), strict=False)
    read_only: _Ruling = "allow"
    destructive: _Ruling = "ask"
    otherwise: _Ruling = "allow"

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, written: Any) -> Any:
        if isinstance(written, Mapping):
            return {name: value for name, value in written.items() if value is not None}
        return written

    def policy(self) -> ApprovalPolicy:
        """The rules as the loop takes them."""
        from host.loop.approval import ApprovalPolicy

        return ApprovalPolicy(**dict(self))
