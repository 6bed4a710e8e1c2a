"""Recovery: what is a call comes out as itself, what only quotes one stays where it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from host.text.thinking import DEFAULT_FENCES, strip_thinking
from host.text.tool_call_recovery import RecoveredCalls, recover_tool_calls
from tests.text.written_calls import (
    ARGUMENTS,
    CALLS,
    ENDED,
    ENDED_REPLY,
    MARKED,
    NAMED,
    NAMES,
    TAGGED_FENCE,
    UNMARKED,
    WHOLE_REPLY,
    Call,
    can_render,
)

_WHOLE_REPLY = {**WHOLE_REPLY, **ENDED_REPLY}
_MARKED_OR_TAGGED = {**MARKED, **ENDED, **TAGGED_FENCE}
_EVERY_FORMAT = {**_MARKED_OR_TAGGED, **NAMED, **UNMARKED, **_WHOLE_REPLY}
_PROSE = st.sampled_from(
    [
        "",
        "Let me look.",
        "It's the user's file; don't wait",
        'He said "yes" twice.',
        "Use `ls` or `` ` `` for it",
        "a > b, a < b, {x: 1} and [2]",
        "`<tool_call>` opens a call, `</think>` ends thinking",
    ]
)
_THINKING = st.sampled_from(
    [
        "",
        "<think>\nplain\n</think>\n",
        '<think><tool_call>{"name":"ls"}</tool_call></think>',
        "opened by the template: `ls`\n```json\n{}\n```\n</think>",
        '<THINK>[TOOL_CALLS]ls[ARGS]{} </think> no, <tool_call>{"name":"ls"}</Think>',
        "◁think▷<|python_tag|>{}◁/think▷",
    ]
)


def _calls(found: RecoveredCalls) -> list[Call]:
    return [
        (call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in found.tool_calls
    ]


@given(_THINKING, _PROSE, st.sampled_from(sorted(_MARKED_OR_TAGGED)), CALLS, _PROSE)
def test_calls_in_a_marked_format_are_recovered_as_themselves_whatever_they_name(
    thinking: str, before: str, rendering: str, calls: list[Call], after: str
) -> None:
    assume(can_render(rendering, calls))
    text = f"{thinking}{before}\n\n{_MARKED_OR_TAGGED[rendering](calls)}\n\n{after}"
    found = recover_tool_calls(text)
    assert _calls(found) == calls
    assert found.content.split() == f"{thinking}{before} {after}".split()


@given(_THINKING, st.sampled_from(sorted({**UNMARKED, **_WHOLE_REPLY})), CALLS, _PROSE)
def test_calls_in_an_unmarked_format_are_recovered_when_all_their_names_exist(
    thinking: str, rendering: str, calls: list[Call], before: str
) -> None:
    assume(can_render(rendering, calls))
    body = _EVERY_FORMAT[rendering](calls)
    text = thinking + (body if rendering in _WHOLE_REPLY else f"{before}\n{body}")
    found = recover_tool_calls(text, names=NAMES)
    assert _calls(found) == calls
    assert found.content.split() == text.replace(body, "", 1).split()
    for missing in {name for name, _ in calls}:
        names = [name for name in NAMES if name != missing]
        assert recover_tool_calls(text, names=names) == RecoveredCalls(content=text)


@given(_THINKING, _PROSE, st.sampled_from(sorted(NAMED)), CALLS, _PROSE)
def test_calls_in_a_format_that_words_resemble_are_recovered_when_their_names_exist(
    thinking: str, before: str, rendering: str, calls: list[Call], after: str
) -> None:
    assume(can_render(rendering, calls))
    hermes = MARKED["hermes"]([("any", {})])
    written = NAMED[rendering](calls)
    text = f"{thinking}{before}\n\n{written}\n\n{hermes}\n{after}"
    found = recover_tool_calls(text, names=NAMES)
    assert _calls(found) == [*calls, ("any", {})]
    assert found.content.split() == f"{thinking}{before} {after}".split()
    unknown = recover_tool_calls(text)
    assert _calls(unknown) == [("any", {})]
    assert unknown.content.split() == text.replace(hermes, "").split()


_QUOTABLE = CALLS.filter(lambda calls: "`" not in repr(calls))


def _on_one_line(renderings: Iterable[str]) -> st.SearchStrategy[str]:
    return (
        st.tuples(st.sampled_from(sorted(renderings)), _QUOTABLE)
        .filter(lambda written: can_render(*written))
        .map(lambda written: _EVERY_FORMAT[written[0]](written[1]).replace("\n", " "))
    )


_QUOTING = {
    "code span": "Write ` {} ` to call it.",
    "code span of two": "Write `` {} `` to call it.",
    "double quotes": 'Write "first {} then" to call it.',
    "typographic quotes": "Write “{}” to call it.",
    "single quotes": "Don't write 'it's {}' to call it.",
    "guillemets": "Write «{}» to call it.",
    "guillemets turned round": "Write »{}« to call it.",
    "single guillemets": "Write ‹{}› to call it.",
    "corner brackets": "書式は「{}」です。",
    "white corner brackets": "書式は『{}』です。",
    "swedish quotes": "Skriv ”{}” så.",
    "german single quotes": "Man schreibt ‚so: {}‘ hin.",
    "typographic single quotes": "I wrote ‘don’t {}’ there.",
    "quotes over a line break": 'He wrote "first\nthen {}" to me.',
    "typographic quotes over a line break": "He wrote “first\nthen {}” to me.",
    "pre": "The format is <pre>{}</pre> here.",
    "code": 'The format is <code class="x">{}</code> here.',
    "comment": "Now <!-- like {} --> go on.",
    "indented code": "The format is:\n\n    {}\n\nand so on.",
    "second line of indented code": "The format is:\n\n\tfirst\n\t{}\nand so on.",
    "tilde fence in a list": "1. ~~~\n   {}\n   ~~~\n",
    "tilde fence in a nested list": "- 2) ~~~~json\n  {}\n  ~~~~\n",
    "fence in a fence": "```markdown\n```json\n1\n```\n\n{}\n```\n",
    "block quote": "They wrote:\n> call {}\n",
    "fence": "The format is:\n```\n{}\n```\n",
    "tagged fence": "The format is:\n```xml\n{}\n```\n",
    "tilde fence": "The format is:\n  ~~~json\n  {}\n  ~~~\n",
    "fence of a whole reply": "```\n<think>x</think>\n{}\n```\n",
    "JSON": 'The log: {{"level": "info", "text": {json}}} so far.',
    "thinking": "<think>I could write {} now.</think>Done.",
    "other thinking": "<thinking>I could write {} now.</thinking>Done.",
    "analysis": "<|channel|>analysis<|message|>I could write {} now.<|end|>Done.",
    "thinking of Mistral's": "[THINK]I could write {} now.[/THINK]Done.",
    "thinking of Seed's": "<seed:think>I could write {} now.</seed:think>Done.",
    "thought": "<thought>I could write {} now.</thought>Done.",
    "thinking of OpenThinker's": "<|begin_of_thought|>I write {} now.<|end_of_thought|>Done.",
    "thinking of Apertus's": "<|inner_prefix|>I could write {} now.<|inner_suffix|>Done.",
    "thinking of Gemma's": "<|channel>thought\nI could write {} now.<channel|>Done.",
    "spaced thinking": "<think >I could write {} now.</ think >Done.",
    "planning": "<|START_THINKING|>I could write {} now.<|END_THINKING|>Done.",
    "thinking of the template's": "I could write {} now.</think>Done.",
}
_ENDING = {
    "nothing": "",
    "unfinished fence": "The format is:\n```text\n{}\n",
    "unfinished thinking of Mistral's": "[THINK]I could write {} now.",
    "unfinished thinking": "Well. <think>I could write {} now.",
    "unfinished thinking of Gemma's": "<|channel>thought\nI could write {} now.",
    "unfinished element": "<function=put>\n<parameter=text>\nI could write\n{} now.",
    "unfinished pairs": "<tool_call>put\n<arg_key>t</arg_key>\n<arg_value>\nI write {} now.",
}


_FENCES = {name for name in _QUOTING if "fence" in name}


def _quoting(way: str, quoted: str) -> str:
    if "{json}" in _QUOTING[way]:
        return _QUOTING[way].format(json=json.dumps(quoted, ensure_ascii=False))
    if way == "analysis":  # which ends wherever its end stands
        quoted = quoted.replace("<|end|>", "")
    return _QUOTING[way].format(quoted)


def _documents(
    renderings: Iterable[str], ways: Iterable[str], endings: Iterable[str]
) -> st.SearchStrategy[str]:
    quoted = _on_one_line(renderings)
    return st.builds(
        lambda quotations, ending, last: "\n\n".join(
            [*(_quoting(*quotation) for quotation in quotations), _ENDING[ending].format(last)]
        ),
        st.lists(st.tuples(st.sampled_from(sorted(ways)), quoted), max_size=3),
        st.sampled_from(sorted(endings)),
        # a closing tag would finish the thinking, wherever it stands
        quoted.map(lambda text: text.replace("</think>", "")),
    )


@example('Log: {"text": "[TOOL_CALLS]ls[ARGS]{}, then <think>"} so far.')
@example('"[TOOL_CALLS]ls[ARGS]{}, then <think>\nor so" is what I wrote.')
@example('‹<tool_call>{"name":"ls"} <tool_call>{"name":"ls"}› and no </tool_call>')
@given(_documents({**MARKED, **ENDED}, _QUOTING, _ENDING))
def test_a_document_that_quotes_a_marked_format_never_yields_a_call(text: str) -> None:
    assert recover_tool_calls(text, names=NAMES) == RecoveredCalls(content=text)


@given(_documents({**NAMED, **UNMARKED, **_WHOLE_REPLY}, set(_QUOTING) - _FENCES, _ENDING))
def test_a_document_that_quotes_an_unmarked_format_never_yields_a_call(text: str) -> None:
    assert recover_tool_calls(text, names=NAMES) == RecoveredCalls(content=text)


@given(
    st.sampled_from(sorted(MARKED)), CALLS, st.sampled_from(['{"text": %s}', "\n[1, {'a': %s}] "])
)
def test_json_that_quotes_a_format_in_a_string_never_yields_a_call(
    rendering: str, calls: list[Call], around: str
) -> None:
    text = around % json.dumps(MARKED[rendering](calls))
    assert recover_tool_calls(text, names=NAMES) == RecoveredCalls(content=text)


@given(st.lists(st.sampled_from(sorted(_EVERY_FORMAT)), min_size=1, max_size=3), CALLS, st.data())
def test_whatever_is_cut_out_of_a_reply_nothing_raises_and_the_rest_is_kept(
    renderings: list[str], calls: list[Call], drawn: st.DataObject
) -> None:
    text = "\n".join(_EVERY_FORMAT[rendering](calls) for rendering in renderings)
    start = drawn.draw(st.integers(0, len(text)))
    end = drawn.draw(st.integers(start, len(text)))
    cut = text[:start] + text[end:]
    found = recover_tool_calls(cut, names=NAMES)
    if not found.tool_calls:
        assert found.content is cut
    remaining = iter("".join(cut.split()))
    assert all(letter in remaining for letter in "".join(found.content.split()))


_MARKUPS = sorted({name for name in MARKED if "markup" in name} - {"markup in quotes"})
_CLOSING = re.compile(
    r"</(?:\w+:|｜DSML｜)?(?:parameter|function|invoke|tool_call|function_calls|arg_value|arg_key)>"
)
_PLAIN_CALLS = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.dictionaries(
            st.sampled_from(["path", "text", "n"]),
            st.sampled_from(["a.md", "two\n\nlines", "1.10", "</b>", 7, True, {"a": [1]}]),
            max_size=3,
        ),
    ),
    min_size=2,
    max_size=4,
)


@given(st.sampled_from(_MARKUPS), _PLAIN_CALLS, st.data())
def test_whatever_closing_tags_are_forgotten_no_call_says_what_it_did_not_and_the_last_survives(
    rendering: str, calls: list[Call], drawn: st.DataObject
) -> None:
    *broken, last = (MARKED[rendering]([call]) for call in calls)
    text = "\n".join(broken)
    closing = list(_CLOSING.finditer(text))
    forgotten = drawn.draw(st.sets(st.integers(0, len(closing) - 1)))
    for index in sorted(forgotten, reverse=True):
        text = text[: closing[index].start()] + text[closing[index].end() :]
    found = _calls(recover_tool_calls(f"{text}\n{last}", names=NAMES))
    assert found[-1:] == calls[-1:]
    remaining = iter(calls)
    assert all(call in remaining for call in found)


@given(
    st.sampled_from(_MARKUPS),
    st.sampled_from(sorted(_EVERY_FORMAT)),
    _PLAIN_CALLS | CALLS,
)
def test_calls_shown_in_an_argument_are_part_of_it(
    rendering: str, inner: str, calls: list[Call]
) -> None:
    assume(can_render(inner, calls))
    shown = f"Write:\n\n{_EVERY_FORMAT[inner](calls)}\n\nso."
    call: Call = ("disk__write", {"path": "a.md", "text": shown})
    found = _calls(recover_tool_calls(MARKED[rendering]([call]), names=NAMES))
    assert found in ([call], [])
    if "<" not in repr(calls):
        assert found == [call]


@given(ARGUMENTS, st.sets(st.integers(0, 9)), st.integers(1, 4))
def test_minted_ids_avoid_every_id_of_the_transcript(
    arguments: dict[str, object], numbers: set[int], size: int
) -> None:
    taken = [f"call_recovered_{number}" for number in sorted(numbers)] + ["call_0"]
    text = MARKED["hermes"]([("ls", arguments)] * size)
    ids = [call["id"] for call in recover_tool_calls(text, taken=taken).tool_calls]
    free = [n for n in range(len(numbers) + size) if n not in numbers]
    assert ids == [f"call_recovered_{n}" for n in free[:size]]


_LS: list[Call] = [("ls", {})]


@pytest.mark.parametrize(
    ("text", "names", "calls", "content"),
    [
        (
            'Ok.<tool_call>{"name":"ls","arguments":{"d":"/"}}</tool_call>',
            (),
            [("ls", {"d": "/"})],
            "Ok.",
        ),
        ('<tool_call>{"name":"ls","arguments":{}}', (), _LS, ""),
        (
            (
                "<tool_call><function=put><parameter=f>\na.md\n</parameter><parameter=n>\n4\n"
                "</parameter></function></tool_call>"
            ),
            (),
            [("put", {"f": "a.md", "n": 4})],
            "",
        ),
        ('[TOOL_CALLS] [{"name":"ls","arguments":{}}]', (), _LS, ""),
        (
            '[TOOL_CALLS]ls[ARGS]{"d":1}[TOOL_CALLS]pwd[ARGS]{}',
            (),
            [("ls", {"d": 1}), ("pwd", {})],
            "",
        ),
        (
            '<|python_tag|>{"name":"ls","parameters":{}}; {"name":"pwd","parameters":{}}<|eom_id|>',
            (),
            [("ls", {}), ("pwd", {})],
            "",
        ),
        ('{"name":"ls","arguments":{}}', ("ls",), _LS, ""),
        (' [{"name":"ls"}]\n', ("ls",), _LS, ""),
        ('Look:\n```json\n{"function":{"name":"ls"}}\n```', ("ls",), _LS, "Look:"),
        ('```\n{"name":"ls"}\n```\nDone.', ("ls",), _LS, "Done."),
        ('```json\n{\n  "name": "ls",\n  "arguments": {}\n}\n```', ("ls",), _LS, ""),
        ('```json {"name":"ls"}```', ("ls",), _LS, ""),
        ('```json\n{"name":"ls"}', ("ls",), _LS, ""),
        ('```tool_call\n{"name":"ls"}\n```\n```py\nx\n```', (), _LS, "```py\nx\n```"),
        (
            '<think>a</think> b <tool_call>{"name":"ls"}</tool_call> c ',
            (),
            _LS,
            "<think>a</think> b  c",
        ),
        (
            '<tool_call>{"name":"ls"}</tool_call><think>and then',
            (),
            _LS,
            "<think>and then",
        ),
        (
            '<think>İİ</THINK>{"name":"ls"}',
            ("ls",),
            _LS,
            "<think>İİ</THINK>",
        ),
        (
            '<tool_call>{"name":"ls","arguments":{"d":1}</tool_call>\n<tool_call>{"name":"ls"}</tool_call>',
            (),
            _LS,
            '<tool_call>{"name":"ls","arguments":{"d":1}</tool_call>',
        ),
        (
            '<tool_call>{"name":"say "hi""}</tool_call><tool_call>{"name":"ls"}</tool_call>',
            (),
            _LS,
            '<tool_call>{"name":"say "hi""}</tool_call>',
        ),
        (
            '<tool_call>{"name":"put","arguments":{"t":"</tool_call>```"}}</tool_call>',
            (),
            [("put", {"t": "</tool_call>```"})],
            "",
        ),
        ('A 5" disk: <tool_call>{"name":"ls"}</tool_call>', (), _LS, 'A 5" disk:'),
        ("<function=ls></function>", ("ls",), _LS, ""),
        (
            '<function=a></function><tool_call>{"name":"ls"}</tool_call>',
            ("a",),
            _LS,
            "<function=a></function>",
        ),
        (
            '{"name":"a"} <tool_call>{"name":"ls"}</tool_call>',
            ("a",),
            _LS,
            '{"name":"a"}',
        ),
        ("ls()", ("ls",), _LS, ""),
        ("[ls(d='/'), ls()]", ("ls",), [("ls", {"d": "/"}), ("ls", {})], ""),
        ("Look:\n```\nls(d=1)\n```", ("ls",), [("ls", {"d": 1})], "Look:"),
        (
            (
                "Plan: list.\nAction: ```json\n[\n"
                '    {"tool_name": "ls", "parameters": {"d": "```"}}\n]```'
            ),
            ("ls",),
            [("ls", {"d": "```"})],
            "Plan: list.",
        ),
        (
            (
                "<|channel|>analysis<|message|>I need <tool_call>{} to=functions.x<|end|>"
                "<|start|>assistant<|channel|>commentary to=functions.ls <|constrain|>json"
                '<|message|>{"d":1}<|call|>'
            ),
            (),
            [("ls", {"d": 1})],
            "<|channel|>analysis<|message|>I need <tool_call>{} to=functions.x<|end|>",
        ),
        (
            (
                'I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ls<｜tool▁sep｜>{"d": "/"}'
                "<｜tool▁call▁end｜><｜tool▁call▁begin｜>ls<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
                "<｜tool▁calls▁end｜>"
            ),
            (),
            [("ls", {"d": "/"}), ("ls", {})],
            "I look.",
        ),
        (
            "Let me look: <tool_call>ls <arg_key>d</arg_key> <arg_value>b</arg_value> </tool_call>",
            (),
            [("ls", {"d": "b"})],
            "Let me look:",
        ),
        (
            (
                "<|START_THINKING|>I use ls.<|END_THINKING|><|START_ACTION|>[\n"
                '    {"tool_call_id": "0", "tool_name": "ls", "parameters": {}}\n]<|END_ACTION|>'
            ),
            (),
            _LS,
            "<|START_THINKING|>I use ls.<|END_THINKING|>",
        ),
        ('<thinking> is a tag. <|tool_call|>[{"name":"ls"}]', (), _LS, "<thinking> is a tag."),
        (
            '{"name":"ls"}\n{"name":"ls","arguments":{"d":1}}\n{"name":"ls","argu',
            ("ls",),
            [("ls", {}), ("ls", {"d": 1})],
            '{"name":"ls","argu',
        ),
        (
            '[{"name":"ls"},{"name":"pwd","arg',
            ("ls",),
            _LS,
            ',{"name":"pwd","arg',
        ),
        ('```json\n{"name":"ls"}\n{"na', ("ls",), _LS, '{"na'),
        ('```tool_call\n{"name":"ls"}\n{"na', (), _LS, '{"na'),
        ('[TOOL_CALLS][{"name":"ls"}, {"name":"pwd","a', (), _LS, ', {"name":"pwd","a'),
        ('<|python_tag|>{"name":"ls"}; {"name":"pwd","p', (), _LS, '; {"name":"pwd","p'),
        (
            '<tool_call>{"name":"ls"}</tool_call>\n<tool_call>{"name":"pwd","a',
            (),
            _LS,
            '<tool_call>{"name":"pwd","a',
        ),
        ("[ls(), ls(d='", ("ls",), _LS, ", ls(d='"),
        ('{"name":"ls","arguments":{}}<|im_end|>', ("ls",), _LS, ""),
        ('{"name":"ls","arguments":{}}\n</s>\n', ("ls",), _LS, ""),
        ("[ls()]<|eot_id|>", ("ls",), _LS, ""),
        ('Ok.<tool_call>{"name":"ls"}</tool_call><|end|>', (), _LS, "Ok."),
        ('```json\n{"name":"ls"}\n```<|im_end|>', ("ls",), _LS, ""),
        (
            "<tool_call>ls</tool_call><tool_call>pwd</tool_call>[TOOL_CALLS]a[ARGS]{}",
            ("ls",),
            [*_LS, ("a", {})],
            "<tool_call>pwd</tool_call>",
        ),
        ("See:\n```tool_code\nls()\n```", ("ls",), _LS, "See:"),
        (
            "```tool_code\nls()\n```\n```tool_code\nls(d=1)\n```",
            ("ls",),
            [*_LS, ("ls", {"d": 1})],
            "",
        ),
        ('The screen is 15" wide: <function=ls></function> not 13"', ("ls",), _LS, None),
        ('```tool_call\n{"name":"ls","input":{"d":1}}\n```', (), [("ls", {"d": 1})], ""),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_a_call_is_taken_out_of_the_reply(
    text: str, names: tuple[str, ...], calls: list[Call], content: str | None
) -> None:
    found = recover_tool_calls(text, names=names)
    assert _calls(found) == calls
    assert content is None or found.content == content


@pytest.mark.parametrize(
    "text",
    [
        "",
        " nothing here ",
        '<tool_call>{"name":"ls","arguments":{',
        '<tool_call>{"name":"ls"} and more</tool_call>',
        '<tool_call>{"note":"no call"}</tool_call>',
        '<think><tool_call>{"name":"ls"}</tool_call></think>Done.',
        '<think><tool_call>{"name":"ls"}</tool_call>',
        '<tool_call>{"name":"ls"} drafted</think>',
        "<tool_call><function=ls></function> drafted</think></tool_call>",
        '{"name":"pwd","arguments":{}}',
        '[{"name":"ls"},{"name":"pwd"}]',
        '[{"name":"ls"},{"note":1}]',
        'Here: {"name":"ls"}',
        '{"name":"ls"} is what I call.',
        '```json\n{"name":"ls"}\n```\n```json\n{"name":"ls"}\n```',
        '```json\n{"name":"ls"}\n```\n```py\nx\n```',
        '```py\n{"name":"ls"}\n```',
        '```json\nrun {"name":"ls"}\n```',
        '```json\n{"name":"pwd"}\n```',
        '> ```json\n> {"name":"ls"}\n> ```',
        '```json\n{"name":"ls","parameters":{"type":"object","properties":{}}}\n```',
        "<function=ls></function><function=pwd></function>",
        "`<function=ls></function>`",
        '```tool_call\nrun {"name":"ls"}\n```',
        "[TOOL_CALLS]ls[ARGS][1]",
        "<|python_tag|>ls()",
        "ls",
        "`ls()`",
        "Use ls() for it.",
        "pwd()",
        "[ls(), pwd()]",
        "print(ls())",
        "```python\nls()\n```",
        'Action: ```json\n[{"tool_name": "directly_answer", "parameters": {}}]\n```',
        'Action: ```json\n[{"tool_name": "ls"}]\n```\nAction: ```json\n[{"tool_name": "ls"}]\n```',
        '{"name":"ls","arguments":{"d":"',
        '[{"name":"ls","arguments":{"d":"',
        '{"name":"ls"} {"name":"pwd"} {"name":"ls","argu',
        '{"name":"ls"} {and more',
        '{"name":"ls"} thanks',
        '<|START_THINKING|><|START_ACTION|>[{"tool_name":"ls"}]<|END_ACTION|>',
        "<|channel|>analysis<|message|>to=functions.ls<|channel|>commentary<|message|>{}<|call|>",
        "<|start|>functions.ls to=assistant<|channel|>commentary<|message|>{}<|end|>",
        "<REASONING>[TOOL_CALLS]ls[ARGS]{}</reasoning>Done.",
        "<tool_call>ls<arg_key>d</arg_key><arg_value>1</arg_value><arg_key>e</arg_key><arg_val",
        '<invoke name="pwd"></invoke>',
        "Put it between <tool_call>...</tool_call> or <tool_call>JSON</tool_call>.",
        "The tokens <|tool_call|>, [TOOL_CALLS] and <|python_tag|> open a call.",
        '{"name":"ls","version":"1.0.0"}',
        '```json\n{"name":"ls","version":"1.0.0"}\n```',
        '{"name":"ls","d":"/etc"}',
        '{"name":"ls","input":{"d":"/"}}',
        '[{"name":"ls"},{"name":"ls","d":1}]',
        '<tool_call>{"name":"ls","d":"/etc"}</tool_call>',
        '{"name":"ls"}<|im_end|> is what I call.',
        "<tool_call>pwd</tool_call>",
        'functools[{"name":"pwd"}]',
        ">>>pwd\n{}",
        "```tool_code\nprint(ls())\n```",
        "```tool_code\nls()\nx = 1\n```",
        "```tool_code\nls()\npwd()\n```",
        "<function=ls><parameter=a>\n1\n",
    ],
    ids=lambda text: text[:40],
)
def test_what_is_no_call_leaves_the_reply_untouched(text: str) -> None:
    found = recover_tool_calls(text, names=["ls"])
    assert found.content is text
    assert found.tool_calls == ()


@pytest.mark.parametrize(
    "text",
    [
        (
            "<|channel|>analysis<|message|>I need ls.<|end|><|start|>assistant"
            "<|channel|>commentary to=functions.ls <|constrain|>json<|message|>{}<|call|>"
        ),
        (
            "<|channel|>analysis<|message|>I need ls.<|end|><|start|>assistant"
            " to=functions.ls<|channel|>commentary json<|message|>{}<|call|>"
        ),
        "<think>I need ls.</think>\n\n<tool_call>ls\n</tool_call>",
        "I need ls.</think><｜tool▁call▁begin｜>ls<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
    ],
)
def test_a_call_is_recovered_from_what_the_stream_leaves_of_a_thinking_reply(text: str) -> None:
    found = recover_tool_calls(strip_thinking(text, DEFAULT_FENCES))
    assert _calls(found) == _LS
    assert found.content == ""


def test_string_arguments_are_kept_as_written_and_others_are_compact() -> None:
    text = (
        '<tool_call>{"name":"a","arguments":"{\\"d\\": 1}"}</tool_call>'
        '<tool_call>{"name":"b","arguments":{"d": 1.0}}</tool_call>'
    )
    assert recover_tool_calls(text).tool_calls == (
        {
            "id": "call_recovered_0",
            "type": "function",
            "function": {"name": "a", "arguments": '{"d": 1}'},
        },
        {
            "id": "call_recovered_1",
            "type": "function",
            "function": {"name": "b", "arguments": '{"d":1}'},
        },
    )


def test_without_names_nothing_unmarked_is_a_call() -> None:
    text = '{"name":"ls","arguments":{}}'
    assert recover_tool_calls(text) == RecoveredCalls(content=text)


@pytest.mark.parametrize(
    "atom",
    [
        "<tool_call>",
        "<tool_call>{",
        '<tool_call>{\\"',
        '<tool_call>{"',
        "<tool_call><function=a><parameter=b>",
        "[TOOL_CALLS][",
        "[TOOL_CALLS]a[ARGS]{",
        "<|python_tag|>",
        "<function=a><tool_call></function>",
        "<|tool_call|>[{",
        "<|START_ACTION|>[{},",
        "[TOOL_CALLS]a{",
        "<tool_call>a<arg_key>b</arg_key><arg_value>",
        "<tool_call>a<arg_key>b</arg_key><arg_value></arg_value>",
        '<invoke name="a"><parameter name="b">',
        '<function_calls><invoke name="a">',
        "<function=a>{",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>a<｜tool▁sep｜>{",
        "<|tool_call_begin|>a<|tool_call_argument_begin|>{",
        "<|channel|>commentary to=a<|message|>{",
        " to=a",
        "<|channel|>analysis<|message|>",
        "<thinking>",
        "<|python_start|>[f(a=",
        "<|python_tag|>a.call(b=[",
        "[f(a=1), ",
        "f(a='",
        "</think>[{},{",
        '</think>{}{"',
        "</think>f(a=1\n",
        "```json\n{}\n",
        '"\\',
        "<think>",
        "</think>{",
        "```x\n</think>",
        "`<tool_call>",
        "“",
        "'a ",
        "[",
        '{"a":',
        "```{}\n``` x\n",
        "- ~~~\n",
        "<function=a>\n<parameter=b>\n",
        "<tool_call><function=a><parameter=b>x</tool_call>",
        "<tool_call>a<arg_key>b</arg_key><arg_value>\n",
        "<|tool_call>call:a{",
        '<|tool_call>call:a{b:<|"|>',
        "functools[{",
        ">>>a\n{",
        "<function_calls>f(a=",
        "<｜tool▁calls▁begin｜>function<｜tool▁sep｜>a{",
        "<pre>",
        "<!--",
        "<|channel>thought",
        "’",
        "‘a’b",
        "\n\n    a",
        "\n ",
    ],
)
def test_hostile_repetition_yields_no_call_in_linear_time(atom: str) -> None:
    text = atom * 2_000
    assert recover_tool_calls(text, names=["ls"]).content is text


@pytest.mark.parametrize(
    "text",
    [
        "[TOOL_CALLS][" * 2_000 + "]" * 2_000,
        "<function=a><parameter=b>" * 2_000 + "</parameter>x",
        "<function=a><parameter=b>" * 1_000 + "</parameter>" + "<parameter=c></parameter>" * 1_000,
        "\n".join("`" * length + "a\n</think>" for length in range(200, 3, -1)) + "\n```a" * 2_000,
        "<tool_call>" + "[" * 20_000 + "]" * 20_000 + "</tool_call>",
        "<tool_call>" + " " * 60_000 + "x",
    ],
    ids=["nested lists", "cut markup", "long markup", "fences", "deep", "space"],
)
def test_hostile_nesting_yields_no_call_in_linear_time(text: str) -> None:
    assert recover_tool_calls(text, names=["ls"]).content is text


def test_thousands_of_calls_are_all_recovered() -> None:
    text = '<tool_call>{"name":"ls","arguments":{}}</tool_call>\n' * 1_000
    found = recover_tool_calls(text)
    assert len({call["id"] for call in found.tool_calls}) == 1_000
    assert found.content == ""


def test_markup_counts_before_a_fence_that_stands_beside_it() -> None:
    fence = '```json\n{"name":"rm","arguments":{}}\n```'
    found = recover_tool_calls(f"<function=ls></function>\n{fence}", names=["ls", "rm"])
    assert [call["function"]["name"] for call in found.tool_calls] == ["ls"]
    assert found.content == fence
