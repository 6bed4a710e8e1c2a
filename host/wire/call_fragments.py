"""The tool calls of a streamed answer, put together from their fragments.

Servers differ in what a fragment carries: an index or none, an id on each or on the first, every
call at index 0, the name again and again. The rules are agent-core §8 (8, 9) and design §8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from host.records import ToolCall
from host.text.json_text import compact_json, parse_json_strict


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fragment:
    index: int | None
    id: str
    name: str
    arguments: str

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> _Fragment:
        function = raw.get("function")
        called: Mapping[str, Any] = function if isinstance(function, Mapping) else {}
        return cls(
            index=_whole_number(raw.get("index")),
            id=_text(raw.get("id")),
            name=_text(called.get("name")),
            arguments=_arguments(called.get("arguments")),
        )


@dataclass(slots=True, kw_only=True)
class _Call:
    index: int | None
    arrival: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def place(self) -> int:
        return self.arrival if self.index is None else self.index

    def add(self, fragment: _Fragment) -> None:
        self.id = fragment.id or self.id
        if fragment.name != self.name:
            self.name += fragment.name
        if fragment.arguments:
            self.arguments.append(fragment.arguments)

    def is_continued_by(self, fragment: _Fragment) -> bool:
        """Whether a fragment that points at this call goes on with it or opens another."""
        same_id = bool(fragment.id) and fragment.id == self.id
        if fragment.id and self.id and not same_id:
            return False
        if not fragment.name or not self.arguments:
            return True
        if fragment.name != self.name:
            return False
        return (same_id and not fragment.arguments.strip()) or not self.is_complete()

    def is_complete(self) -> bool:
        # Looking at the end first keeps a server that repeats the name on every fragment linear.
        if not self.arguments[-1].rstrip().endswith(("}", "]")):
            return False
        try:
            parse_json_strict("".join(self.arguments))
        except ValueError:
            return False
        return True


class CallFragments:
    """Collects the fragments of one answer's tool calls."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._latest_at: dict[int, _Call] = {}
        self._latest_with: dict[str, _Call] = {}

    def add(self, raw: Mapping[str, Any]) -> None:
        """Takes one entry of a delta's ``tool_calls``; an entry without content changes nothing."""
        fragment = _Fragment.of(raw)
        if not (fragment.id or fragment.name or fragment.arguments):
            return
        call = self._owner(fragment)
        if call is None or not call.is_continued_by(fragment):
            call = _Call(index=fragment.index, arrival=len(self._calls))
            self._calls.append(call)
            if call.index is not None:
                self._latest_at[call.index] = call
        call.add(fragment)
        if fragment.id:
            self._latest_with[call.id] = call

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls by index, then by arrival, with ids that no two share.

        A call without an id gets ``call_<index>``, or its place among the arrivals without one;
        so does a call whose id an earlier one has. No minted id is one that the server gave.
        """
        minted = _MintedIds({call.id for call in self._calls})
        used: set[str] = set()
        calls = []
        for call in sorted(self._calls, key=lambda call: call.place):
            call_id = call.id
            if not call_id or call_id in used:
                call_id = minted.at(call.place)
            used.add(call_id)
            calls.append(_tool_call(call_id, call))
        return tuple(calls)

    def _owner(self, fragment: _Fragment) -> _Call | None:
        """The call a fragment points at: by index, else by id, else the last for bare arguments."""
        if fragment.index is not None:
            return self._latest_at.get(fragment.index)
        if fragment.id:
            return self._latest_with.get(fragment.id)
        return None if fragment.name or not self._calls else self._calls[-1]


def _tool_call(call_id: str, call: _Call) -> ToolCall:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": "".join(call.arguments)},
    }


class _MintedIds:
    """Ids for calls without one; none is taken, and none is given twice."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._suffix_at: dict[int, int] = {}

    def at(self, place: int) -> str:
        while True:
            suffix = self._suffix_at[place] = self._suffix_at.get(place, 0) + 1
            minted = f"call_{place}" if suffix == 1 else f"call_{place}_{suffix}"
            if minted not in self._taken:
                return minted


def _whole_number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == value // 1 else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: object) -> str:
    if isinstance(value, Mapping | list):
        return compact_json(value)  # some servers send the object itself
    return _text(value)
