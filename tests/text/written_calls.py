"""Tool calls as models write them: what to generate, and how each format renders it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

from host.text.json_text import compact_json, parse_json_strict

Call: TypeAlias = tuple[str, dict[str, Any]]

NAMES = ("ls", "disk__write", "mail.send-2")
_TRICKY_TEXTS = st.lists(
    st.sampled_from(
        [
            "<tool_call>",
            "</tool_call>",
            "[TOOL_CALLS]",
            "[ARGS]",
            "<|python_tag|>",
            "<function=ls>",
            "</function>",
            "<think>",
            "</think>",
            "`",
            "```",
            '"',
            "'",
            "\\",
            "{",
            "}",
            "]",
            ";",
            "word ",
            "é",
            "\n",
        ]
    ),
    max_size=4,
).map("".join)
_KEYS = st.sampled_from(["path", "text", "n"])
_VALUES = st.recursive(
    _TRICKY_TEXTS | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=2),
    max_leaves=3,
)
ARGUMENTS = st.dictionaries(_KEYS, _VALUES, max_size=3)
CALLS: st.SearchStrategy[list[Call]] = st.lists(
    st.tuples(st.sampled_from(NAMES), ARGUMENTS), min_size=1, max_size=3
)


def _record(call: Call, key: str = "arguments") -> str:
    return json.dumps({"name": call[0], key: call[1]}, ensure_ascii=False)


def _hermes(calls: Sequence[Call]) -> str:
    return "\n".join(f"<tool_call>\n{_record(call)}\n</tool_call>" for call in calls)


def _hermes_unclosed(calls: Sequence[Call]) -> str:
    return "\n".join(f"<tool_call>{_record(call)}" for call in calls)


def _hermes_list(calls: Sequence[Call]) -> str:
    functions = ", ".join(f'{{"type":"function","function":{_record(call)}}}' for call in calls)
    return f"<tool_call>[{functions}]</tool_call>"


def _single_quoted(calls: Sequence[Call]) -> str:
    return "".join(
        f"<tool_call>{{'name': '{call[0]}', 'args': {compact_json(call[1])},}}</tool_call>"
        for call in calls
    )


def _function(call: Call) -> str:
    parameters = "".join(
        f"<parameter={key}>\n{_parameter(value)}\n</parameter>\n" for key, value in call[1].items()
    )
    return f"<function={call[0]}>\n{parameters}</function>"


def _parameter(value: Any) -> str:
    if isinstance(value, str):
        try:
            parse_json_strict(value)
        except ValueError:
            return value
    return compact_json(value)


def _markup(calls: Sequence[Call]) -> str:
    return "\n".join(f"<tool_call>\n{_function(call)}\n</tool_call>" for call in calls)


def _mistral_list(calls: Sequence[Call]) -> str:
    return f"[TOOL_CALLS] [{', '.join(_record(call) for call in calls)}]"


def _mistral_named(calls: Sequence[Call]) -> str:
    return "".join(f"[TOOL_CALLS]{name}[ARGS]{compact_json(args)}" for name, args in calls)


def _llama(calls: Sequence[Call]) -> str:
    return f"<|python_tag|>{'; '.join(_record(call, 'parameters') for call in calls)}<|eom_id|>"


def _tagged_fence(calls: Sequence[Call]) -> str:
    return "```tool_call\n" + "\n".join(_record(call) for call in calls) + "\n```"


def _bare(calls: Sequence[Call]) -> str:
    return "\n".join(_record(call) for call in calls)


def _bare_list(calls: Sequence[Call]) -> str:
    return json.dumps([{"function": {"name": name, "args": args}} for name, args in calls])


def _json_fence(calls: Sequence[Call]) -> str:
    return f"```json\n{_bare(calls)}\n```"


def _untagged_fence(calls: Sequence[Call]) -> str:
    return f"```\n{_bare_list(calls)}\n```"


def _markup_alone(calls: Sequence[Call]) -> str:
    return "\n".join(_function(call) for call in calls)


_DRAFT = re.compile(r"</think>.*<(tool_call>|function=)", re.DOTALL)


def can_render(rendering: str, calls: Sequence[Call]) -> bool:
    """Whether the format can hold these arguments: in markup, no draft that seems to go on."""
    texts = (compact_json(args) for _, args in calls)
    return "markup" not in rendering or not any(map(_DRAFT.search, texts))


Rendering: TypeAlias = Callable[[Sequence[Call]], str]

MARKED: dict[str, Rendering] = {
    "hermes": _hermes,
    "hermes, unclosed": _hermes_unclosed,
    "hermes, one list": _hermes_list,
    "hermes, single quotes": _single_quoted,
    "qwen markup": _markup,
    "mistral list": _mistral_list,
    "mistral named": _mistral_named,
    "llama": _llama,
}
TAGGED_FENCE: dict[str, Rendering] = {"tagged fence": _tagged_fence}
WHOLE_REPLY: dict[str, Rendering] = {"bare": _bare, "bare list": _bare_list}
UNMARKED: dict[str, Rendering] = {
    "json fence": _json_fence,
    "untagged fence": _untagged_fence,
    "markup alone": _markup_alone,
}
