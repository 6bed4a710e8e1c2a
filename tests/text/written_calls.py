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
            "<|channel|>analysis<|message|>",
            "<|channel|>commentary to=functions.ls<|message|>",
            "<|call|>",
            "<|end|>",
            "<｜tool▁call▁begin｜>",
            "<｜tool▁call▁end｜>",
            "<|tool_call_begin|>",
            "<|tool_call|>",
            "<|/tool_call|>",
            "<|START_ACTION|>",
            "<|END_ACTION|>",
            "<|python_start|>",
            "<|python_end|>",
            "<|tool_call_start|>",
            "</tool_calls>",
            "[THINK]",
            "<function_calls>",
            '<invoke name="ls">',
            "</invoke>",
            "<arg_key>",
            "<thinking>",
            "<pre>",
            "<!--",
            "<|im_end|>",
            "</s>",
            "function<｜tool▁sep｜>",
            "<|tool_call>call:ls{",
            "<tool_call|>",
            "functools[",
            "Action: ",
            "ls(",
            ")",
            ", ",
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


def _mistral_spaced(calls: Sequence[Call]) -> str:
    return " ".join(f"[TOOL_CALLS] {name} [ARGS] {compact_json(args)}" for name, args in calls)


def _mistral_one_marker(calls: Sequence[Call]) -> str:
    return f"[TOOL_CALLS]{''.join(f'{name}[ARGS]{compact_json(args)}' for name, args in calls)}"


def _mistral_space_before_object(calls: Sequence[Call]) -> str:
    return "".join(f"[TOOL_CALLS]{name} {compact_json(args)}" for name, args in calls)


def _llama(calls: Sequence[Call]) -> str:
    return f"<|python_tag|>{'; '.join(_record(call, 'parameters') for call in calls)}<|eom_id|>"


def _llama_method(calls: Sequence[Call]) -> str:
    return "\n".join(f"<|python_tag|>{name}.call({_keywords(args)})" for name, args in calls)


def _keywords(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in arguments.items())


def _python_list(calls: Sequence[Call]) -> str:
    return f"[{', '.join(f'{name}({_keywords(args)})' for name, args in calls)}]"


def _python_lines(calls: Sequence[Call]) -> str:
    return "\n".join(f"{name}({_keywords(args)})" for name, args in calls)


def _llama4(calls: Sequence[Call]) -> str:
    return f"<|python_start|>{_python_list(calls)}<|python_end|>"


def _lfm2(calls: Sequence[Call]) -> str:
    return f"<|tool_call_start|>{_python_list(calls)}<|tool_call_end|>"


def _tool_calls(calls: Sequence[Call]) -> str:
    return f"<tool_calls>[{', '.join(_record(call) for call in calls)}]</tool_calls>"


def _nemotron(calls: Sequence[Call]) -> str:
    return f"<TOOLCALL>[{', '.join(_record(call) for call in calls)}]</TOOLCALL>"


def _mistral_without_args(calls: Sequence[Call]) -> str:
    return "".join(f"[TOOL_CALLS]{name}{compact_json(args)}" for name, args in calls)


def _deepseek_v3(calls: Sequence[Call]) -> str:
    written = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n"
        f"{json.dumps(args, indent=2, ensure_ascii=False)}\n```<｜tool▁call▁end｜>"
        for name, args in calls
    )
    return f"<｜tool▁calls▁begin｜>{written}<｜tool▁calls▁end｜>"


def _deepseek_r1(calls: Sequence[Call]) -> str:
    written = "\n".join(
        f"function<｜tool▁sep｜>{name}\n```json\n{compact_json(args)}\n```<｜tool▁call▁end｜>"
        for name, args in calls
    )
    return f"<｜tool▁calls▁begin｜>{written}<｜tool▁calls▁end｜>"


def _deepseek_escaped(calls: Sequence[Call]) -> str:
    written = "".join(
        f"<｜tool\\_call\\_begin｜>function<｜tool\\_sep｜>{name}\n```json\n{compact_json(args)}\n```"
        "<｜tool\\_call\\_end｜>"
        for name, args in calls
    )
    return f"<｜tool\\_calls\\_begin｜>{written}<｜tool\\_calls\\_end｜>"


def _deepseek_v31(calls: Sequence[Call]) -> str:
    written = "".join(
        f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{compact_json(args)}<｜tool▁call▁end｜>"
        for name, args in calls
    )
    return f"<｜tool▁calls▁begin｜>{written}<｜tool▁calls▁end｜>"


def _deepseek_v32(calls: Sequence[Call]) -> str:
    def parameter(key: str, value: Any) -> str:
        is_text = isinstance(value, str)
        body = value if is_text else compact_json(value)
        flag = "true" if is_text else "false"
        opener = f'<｜DSML｜parameter name="{key}" string="{flag}">'
        return f"{opener}{body}</｜DSML｜parameter>\n"

    invokes = "\n".join(
        f'<｜DSML｜invoke name="{name}">\n'
        + "".join(parameter(key, value) for key, value in args.items())
        + "</｜DSML｜invoke>"
        for name, args in calls
    )
    return f"<｜DSML｜function_calls>\n{invokes}\n</｜DSML｜function_calls>"


def _kimi(calls: Sequence[Call]) -> str:
    written = "".join(
        f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>"
        f"{compact_json(args)}<|tool_call_end|>"
        for index, (name, args) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{written}<|tool_calls_section_end|>"


def _kimi_empty(calls: Sequence[Call]) -> str:
    return _kimi(calls).replace("{}<|tool_call_end|>", "<|tool_call_end|>")


def _deepseek_empty(calls: Sequence[Call]) -> str:
    return _deepseek_v31(calls).replace("{}<｜tool▁call▁end｜>", "<｜tool▁call▁end｜>")


def _harmony(calls: Sequence[Call]) -> str:
    return "".join(
        f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json"
        f"<|message|>{compact_json(args)}<|call|>"
        for name, args in calls
    )


def _harmony_role(calls: Sequence[Call]) -> str:
    return "\n".join(
        f"<|start|>assistant to=functions.{name}<|channel|>commentary json"
        f"<|message|>{compact_json(args)}<|call|>"
        for name, args in calls
    )


def _harmony_without_start(calls: Sequence[Call]) -> str:
    return "\n".join(
        f" to=functions.{name}<|channel|>commentary<|constrain|>json<|message|>{compact_json(args)}"
        for name, args in calls
    )


def _granite(calls: Sequence[Call]) -> str:
    return f"<|tool_call|>[{', '.join(_record(call) for call in calls)}]"


def _phi(calls: Sequence[Call]) -> str:
    return f"{_granite(calls)}<|/tool_call|>"


def _command_r7b(calls: Sequence[Call]) -> str:
    actions = [
        {"tool_call_id": str(index), "tool_name": name, "parameters": args}
        for index, (name, args) in enumerate(calls)
    ]
    return f"<|START_ACTION|>{json.dumps(actions, indent=4)}<|END_ACTION|>"


def _command_r(calls: Sequence[Call]) -> str:
    actions = [{"tool_name": name, "parameters": args} for name, args in calls]
    return f"Action: ```json\n{json.dumps(actions, indent=4)}```"


def _glm(calls: Sequence[Call]) -> str:
    def pairs(arguments: dict[str, Any]) -> str:
        return "".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>{_parameter(value)}</arg_value>\n"
            for key, value in arguments.items()
        )

    return "\n".join(f"<tool_call>{name}\n{pairs(args)}</tool_call>" for name, args in calls)


def _gemma_value(value: Any) -> str:
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{_gemma_value(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_gemma_value, value))}]"
    return compact_json(value)


def _gemma_4(calls: Sequence[Call]) -> str:
    return "".join(
        f"<|tool_call>call:{name}{_gemma_value(args)}<tool_call|>" for name, args in calls
    )


def _function_gemma(calls: Sequence[Call]) -> str:
    return "\n".join(
        f"<start_function_call>call:{name}{_gemma_value(args)}<end_function_call>".replace(
            '<|"|>', "<escape>"
        )
        for name, args in calls
    )


def _gemma_3(calls: Sequence[Call]) -> str:
    return f"```tool_code\n{_python_lines(calls)}\n```"


def _olmo(calls: Sequence[Call]) -> str:
    return f"<function_calls>\n{_python_lines(calls)}\n</function_calls>"


def _functools(calls: Sequence[Call]) -> str:
    return f"functools[{', '.join(_record(call) for call in calls)}]"


def _functionary(calls: Sequence[Call]) -> str:
    return "\n".join(f">>>{name}\n{compact_json(args)}" for name, args in calls)


def _names_alone(calls: Sequence[Call]) -> str:
    return "".join(f"<tool_call>{name}</tool_call>" for name, _ in calls)


def _markup_in_quotes(calls: Sequence[Call]) -> str:
    return re.sub(r"<(function|parameter)=([^<>\n]+)>", r'<\1="\2">', _markup(calls))


def _ended(calls: Sequence[Call]) -> str:
    return f"{_hermes(calls)}<|im_end|>\n"


def _deepseek_ended(calls: Sequence[Call]) -> str:
    return f"{_deepseek_v31(calls)}\n<｜end▁of▁sentence｜>"


def _bare_ended(calls: Sequence[Call]) -> str:
    return f"{_bare(calls)}<|eot_id|>"


def _invoke(call: Call) -> str:
    parameters = "".join(
        f'<parameter name="{key}">\n{_parameter(value)}\n</parameter>\n'
        for key, value in call[1].items()
    )
    return f'<invoke name="{call[0]}">\n{parameters}</invoke>'


def _invokes(calls: Sequence[Call]) -> str:
    return "\n".join(_invoke(call) for call in calls)


def _function_calls(calls: Sequence[Call]) -> str:
    return f"<function_calls>\n{_invokes(calls)}\n</function_calls>"


def _minimax(calls: Sequence[Call]) -> str:
    return f"<minimax:tool_call>\n{_invokes(calls)}\n</minimax:tool_call>"


def _function_json(calls: Sequence[Call]) -> str:
    return "".join(f"<function={name}>{compact_json(args)}</function>" for name, args in calls)


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


_DRAFT = re.compile(r"</think>.*<(tool_call|function=|invoke name=)", re.DOTALL)
_NEXT_CALL = re.compile(
    r"</(tool_call|function|invoke)>(\s*</\w+>)?[ \r]*\n\s*<(tool_call|function|invoke)"
)
_EMPTY_ONLY = ("names alone",)


def can_render(rendering: str, calls: Sequence[Call]) -> bool:
    """Whether the format can hold these calls.

    In markup there is no draft that seems to go on, and no end of a call with another behind it.
    """
    if rendering in _EMPTY_ONLY and any(args for _, args in calls):
        return False
    texts = [json.dumps(args, ensure_ascii=False).replace("\\n", "\n") for _, args in calls]
    if rendering == "markup in quotes" and any("<function=" in text for text in texts):
        return False
    found = (pattern.search(text) for pattern in (_DRAFT, _NEXT_CALL) for text in texts)
    return "markup" not in rendering or not any(found)


Rendering: TypeAlias = Callable[[Sequence[Call]], str]

MARKED: dict[str, Rendering] = {
    "hermes": _hermes,
    "hermes, unclosed": _hermes_unclosed,
    "hermes, one list": _hermes_list,
    "hermes, single quotes": _single_quoted,
    "qwen markup": _markup,
    "mistral list": _mistral_list,
    "mistral named": _mistral_named,
    "mistral without args": _mistral_without_args,
    "mistral spaced": _mistral_spaced,
    "mistral, one marker": _mistral_one_marker,
    "mistral, space before the object": _mistral_space_before_object,
    "llama": _llama,
    "llama method": _llama_method,
    "llama 4": _llama4,
    "lfm2": _lfm2,
    "tool calls": _tool_calls,
    "nemotron": _nemotron,
    "deepseek v3": _deepseek_v3,
    "deepseek r1": _deepseek_r1,
    "deepseek, escaped": _deepseek_escaped,
    "deepseek v3.1": _deepseek_v31,
    "deepseek, empty": _deepseek_empty,
    "deepseek v3.2 markup": _deepseek_v32,
    "kimi": _kimi,
    "kimi, empty": _kimi_empty,
    "harmony": _harmony,
    "harmony, role": _harmony_role,
    "harmony without start": _harmony_without_start,
    "granite": _granite,
    "phi": _phi,
    "command r7b": _command_r7b,
    "glm markup": _glm,
    "function calls markup": _function_calls,
    "minimax markup": _minimax,
    "markup in quotes": _markup_in_quotes,
    "gemma 4": _gemma_4,
    "functiongemma": _function_gemma,
    "olmo": _olmo,
}
ENDED: dict[str, Rendering] = {"hermes, ended": _ended, "deepseek, ended": _deepseek_ended}
"""Marked, and behind them what a template writes at the end of a message."""

NAMED: dict[str, Rendering] = {
    "names alone": _names_alone,
    "functools": _functools,
    "functionary": _functionary,
    "gemma 3": _gemma_3,
}
LAST_TO_CUT = {
    "qwen markup": "</function>",
    "glm markup": "</tool_call>",
    "deepseek v3.2 markup": "</｜DSML｜invoke>",
    "function calls markup": "</invoke>",
    "minimax markup": "</invoke>",
    "llama method": ")",
    "llama 4": ")",
    "lfm2": ")",
    "olmo": ")",
    "markup in quotes": "</function>",
    "deepseek, empty": "<｜tool▁sep｜>",
    "kimi, empty": "<|tool_call_argument_begin|>",
}
"""What a call must not be read without; "}" for the rest."""
TAGGED_FENCE: dict[str, Rendering] = {"tagged fence": _tagged_fence}
WHOLE_REPLY: dict[str, Rendering] = {
    "bare": _bare,
    "bare list": _bare_list,
    "python list": _python_list,
    "python lines": _python_lines,
}
ENDED_REPLY: dict[str, Rendering] = {"bare, ended": _bare_ended}
UNMARKED: dict[str, Rendering] = {
    "json fence": _json_fence,
    "untagged fence": _untagged_fence,
    "markup alone": _markup_alone,
    "function json": _function_json,
    "invoke markup alone": _invokes,
    "command r": _command_r,
}
