"""Guided discovery: the questions a run's own model answers under a schema before a step.

Small models that never reach for a tool by themselves do name the right one when they are asked.
What they cannot do is decline: given ``none`` among the tools they do not choose it, and asked
for yes or no they say yes. So whether a tool is due is asked as a topic to sort the message
under: some topics need a tool, kinds of talk do not. The questions come in this order:

1. `due_question`, once; of a message that follows others, unless it `is_greeting`, a second time
   with what was said before it. If not `tool_is_due`, the model answers freely.
2. `server_question` if `needs_server_pick`, then `pick_question` over what it left.
3. `arguments_question` for the tool picked; unless `repeats_a_step`, the call is made.
4. `search_question`, where the result is too long to be shown whole: what it is searched for.
5. `several_question`, once. If it `asks_for_several`, again from 2, with the steps so far, until
   a call repeats or the caller's limit is reached. Otherwise the model answers from the result.
6. `answer_question`, where it wrote the call once more instead.

What is the same for every request of a catalogue comes first, for the endpoint's prompt cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Any

from host.catalogue.guided_prompts import (
    ANSWER_PROMPT,
    COMPUTED,
    DUE_PROMPT,
    GREETING,
    PICK_EXAMPLES,
    SEARCH_PROMPT,
    SERVER_EXAMPLES,
    SEVERAL_PROMPT,
    TALK,
)
from host.catalogue.keywords import preselect_by_keywords
from host.catalogue.name_index import name_index
from host.records import CatalogueServer, CatalogueTool, ToolDefinition
from host.text.json_text import canonical_json, compact_json
from host.text.terminal_text import one_line
from host.text.truncation import truncate_text

MAX_NAMES_AT_ONCE = 40
"""With more tools than this, the server is picked first."""

MAX_NAMES_TO_PICK_FROM = 4 * MAX_NAMES_AT_ONCE
"""With more tools than this to pick from, only those that the request's words fit are shown."""

_MAX_LABEL_CHARS = 80
_MAX_QUESTION_CHARS = 2000
_MAX_BEFORE_CHARS = 400
_MAX_ARGUMENTS_CHARS = 400
_MAX_RESULT_CHARS = 600
_MAX_DESCRIPTION_CHARS = 120
_MAX_SEARCH_CHARS = 100
_SHOWN_TOOLS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidedQuestion:
    """One question beside the run: what ``Model.ask_json`` takes."""

    system: str
    user: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidedStep:
    """A call that the run has made, and the text that it was answered with."""

    name: str
    args: Mapping[str, Any]
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question of the conversation and what was answered."""

    question: str
    answer: str


def conversation_text(
    question: str, steps: Iterable[GuidedStep] = (), before: Exchange | None = None
) -> str:
    """The question and the calls made for it, as the pick and the arguments are asked about.

    Long questions, arguments and results are cut; those of a call take one line each, and so do
    those of what was said before.
    """
    lines: list[str] = []
    if before is not None:
        lines = [f"Before: {_brief(before.question)}", f"Answer: {_brief(before.answer)}"]
    lines.append(f"Request: {truncate_text(question, _MAX_QUESTION_CHARS)}")
    for step in steps:
        args = truncate_text(compact_json(step.args), _MAX_ARGUMENTS_CHARS)
        lines.append(f"Done: {one_line(step.name)} {one_line(args)}")
        # A cut before the line is made bounds the work on a huge result, one after it the text.
        result = one_line(truncate_text(step.result, 4 * _MAX_RESULT_CHARS))
        lines.append(f"Result: {one_line(truncate_text(result, _MAX_RESULT_CHARS))}")
    return "\n".join(lines)


def due_question(
    catalogue: Sequence[CatalogueServer], question: str, before: Exchange | None = None
) -> GuidedQuestion:
    """Under which topic the question falls: a server's label, computing, or a kind of talk.

    Computing is a topic of its own since the small models see no server in a sum. A long
    catalogue is shown by a few tools of each server; a single server of very many tools by those
    that `pick_question` would show.
    """
    follows = f"\n(Before it: {_brief(before.question)})" if before else ""
    groups = _groups(catalogue)
    if needs_server_pick(catalogue):
        shown = _outlined(groups)
    elif sum(map(len, groups.values())) <= MAX_NAMES_TO_PICK_FROM:
        shown = _listed(groups)
    else:
        likely = _described(_pickable(catalogue, question, before))
        shown = _listed({label: list(likely) for label in groups})  # of a single server
    return GuidedQuestion(
        system=f"{DUE_PROMPT}\n\nTool groups:\n{shown}",
        user=f"Message: {truncate_text(question, _MAX_QUESTION_CHARS)}{follows}",
        schema=_choice("topic", [*groups, COMPUTED, *TALK]),
    )


def tool_is_due(reply: object, *, default: bool = False) -> bool:
    """Whether the topic answered is one that needs a tool; ``default`` if none was answered."""
    topic = _chosen(reply, "topic")
    return default if topic is None else topic.lower() not in TALK


def is_greeting(reply: object) -> bool:
    """Whether the topic answered is one that what was said before cannot change."""
    return (_chosen(reply, "topic") or "").lower() == GREETING


def needs_server_pick(catalogue: Sequence[CatalogueServer]) -> bool:
    """Whether the names are too many for one pick, and the servers more than one."""
    groups = _groups(catalogue)
    return len(groups) > 1 and sum(map(len, groups.values())) > MAX_NAMES_AT_ONCE


def server_question(
    catalogue: Sequence[CatalogueServer],
    question: str,
    steps: Sequence[GuidedStep] = (),
    before: Exchange | None = None,
) -> GuidedQuestion:
    """Which server has the tool that comes next; each is shown with a few of its tools.

    Raises:
        ValueError: no server has a tool.
    """
    groups = _groups(catalogue)
    return GuidedQuestion(
        system=f"Tool groups:\n{_outlined(groups)}\n\n{SERVER_EXAMPLES}",
        user=_asked("tool group", question, steps, before),
        schema=_choice("group", groups),
    )


def picked_server(
    reply: object, catalogue: Sequence[CatalogueServer]
) -> tuple[CatalogueServer, ...]:
    """The catalogue to pick from after the answer: the server named alone, () for no such one."""
    label = _chosen(reply, "group")
    return tuple(server for name, server in _labelled(catalogue) if name == label)


def pick_question(
    catalogue: Sequence[CatalogueServer],
    question: str,
    steps: Sequence[GuidedStep] = (),
    before: Exchange | None = None,
) -> GuidedQuestion:
    """Which tool comes next, by its name and the beginning of its description.

    Descriptions pay, for ten tokens a tool that the prompt cache holds. Of more tools than
    ``MAX_NAMES_TO_PICK_FROM`` the ``MAX_NAMES_AT_ONCE`` are shown that share the rarest words with
    the request and the question before it, then the first ones: others cannot be picked.

    Raises:
        ValueError: no server has a tool.
    """
    described = _described(_pickable(catalogue, question, before))
    lines = "\n".join(f"{name}: {text}" if text else name for name, text in described.items())
    return GuidedQuestion(
        system=f"Tools:\n{lines}\n\n{PICK_EXAMPLES}",
        user=_asked("tool", question, steps, before),
        schema=_choice("tool", described),
    )


def picked_tool(reply: object, catalogue: Sequence[CatalogueServer]) -> str | None:
    """The catalogued name answered, whole or without its server's part if only one has it."""
    name = _chosen(reply, "tool")
    index = name_index(catalogue)
    if name is None or name in index.tools:
        return name
    hits = () if name.endswith("*") else index.hits(name)
    return hits[0] if hits else None


def arguments_question(
    definition: ToolDefinition,
    question: str,
    steps: Sequence[GuidedStep] = (),
    before: Exchange | None = None,
) -> GuidedQuestion:
    """With which arguments the tool is called; the schema is the tool's own, if it is one."""
    function = definition["function"]
    described = one_line(function.get("description") or "")
    parameters: object = function.get("parameters")
    name = _bare(one_line(function["name"]))
    return GuidedQuestion(
        system=(
            f"Write the arguments of one call of the tool {name}: {described}\n"
            "Take the values from the request, not from the examples in the schema."
        ),
        user=conversation_text(question, steps, before),
        schema=dict(parameters)
        if parameters and isinstance(parameters, Mapping)
        else {"type": "object"},
    )


def arguments_in(reply: object) -> dict[str, Any] | None:
    """The arguments answered; None for anything but an object."""
    return dict(reply) if isinstance(reply, Mapping) else None


def search_question(question: str, before: Exchange | None = None) -> GuidedQuestion:
    """What to look for in a result that is too long to be shown.

    Small models do not read on in one by themselves, and cannot tell that they have to; most of
    what they name is there, and a search for what is not does no harm.
    """
    return GuidedQuestion(
        system=SEARCH_PROMPT,
        user=conversation_text(question, (), before),
        schema=_texts("search"),
    )


def search_in(reply: object) -> str:
    """The text to look for; "" for none, and for one that is too long to be found."""
    text = _chosen(reply, "search") if isinstance(reply, Mapping) else None
    return text if text is not None and len(text) <= _MAX_SEARCH_CHARS else ""


def several_question(question: str) -> GuidedQuestion:
    """Whether the question asks for one thing or for several; it is asked without the steps."""
    return GuidedQuestion(
        system=SEVERAL_PROMPT,
        user=f"Request: {truncate_text(question, _MAX_QUESTION_CHARS)}",
        schema=_choice("asks_for", ["several things", "one thing"]),
    )


def asks_for_several(reply: object) -> bool:
    """Whether the answer is ``several things``; any other shape means one."""
    return _chosen(reply, "asks_for") == "several things"


def answer_question(question: str, steps: Sequence[GuidedStep]) -> GuidedQuestion:
    """What the results say, in plain words."""
    return GuidedQuestion(
        system=ANSWER_PROMPT,
        user=conversation_text(question, steps),
        schema=_texts("answer"),
    )


def answer_in(reply: object) -> str | None:
    """The text answered; None for none."""
    return _chosen(reply, "answer") if isinstance(reply, Mapping) else None


def repeats_a_step(name: str, args: Mapping[str, Any], steps: Iterable[GuidedStep]) -> bool:
    """Whether this very call was made before: the sign that nothing is left to do."""
    wanted = canonical_json(args)
    return any(step.name == name and canonical_json(step.args) == wanted for step in steps)


def _labelled(catalogue: Sequence[CatalogueServer]) -> list[tuple[str, CatalogueServer]]:
    """The servers that have tools, each with a label that no other and no topic has."""
    taken = {"", COMPUTED, *TALK}
    labelled: list[tuple[str, CatalogueServer]] = []
    for number, server in enumerate(catalogue, start=1):
        if not server.tools:
            continue
        plain = one_line(server.label)[:_MAX_LABEL_CHARS].strip()
        own = one_line(server.id)[:_MAX_LABEL_CHARS].strip()
        numbered = (f"server {unused}" for unused in count(number))
        label = next(text for text in chain((plain, own), numbered) if text.lower() not in taken)
        taken.add(label.lower())
        labelled.append((label, server))
    return labelled


def _groups(catalogue: Sequence[CatalogueServer]) -> dict[str, list[str]]:
    return {
        label: [one_line(tool.name) for tool in server.tools]
        for label, server in _labelled(catalogue)
    }


def _pickable(
    catalogue: Sequence[CatalogueServer], question: str, before: Exchange | None
) -> list[CatalogueTool]:
    """The tools of one pick, in catalogue order; of tools with one name the first."""
    tools = name_index(catalogue).tools
    if len(tools) <= MAX_NAMES_TO_PICK_FROM:
        return list(tools.values())
    asked = f"{question}\n{before.question}" if before else question
    ranked = (name for name, _ in preselect_by_keywords(catalogue, asked).ranked)
    kept = set(islice(dict.fromkeys(chain(ranked, tools)), MAX_NAMES_AT_ONCE))
    return [tool for name, tool in tools.items() if name in kept]


def _described(tools: Iterable[CatalogueTool]) -> dict[str, str]:
    """One line's worth of description for each tool; of tools that look alike the first counts."""
    described: dict[str, str] = {}
    for tool in tools:
        text = one_line(tool.description)
        long = len(text) > _MAX_DESCRIPTION_CHARS
        cut = f"{text[: _MAX_DESCRIPTION_CHARS - 1].rstrip()}…" if long else text
        described.setdefault(one_line(tool.name), cut)
    return described


def _listed(groups: Mapping[str, Sequence[str]]) -> str:
    lines: list[str] = []
    for label, names in groups.items():
        lines.extend((f"{label}:", *(f"  {name}" for name in names)))
    return "\n".join(lines)


def _outlined(groups: Mapping[str, Sequence[str]]) -> str:
    lines: list[str] = []
    for label, names in groups.items():
        shown = [_bare(name) for name in names[:_SHOWN_TOOLS]]
        lines.append(f"{label}: {', '.join([*shown, '…'] if len(names) > len(shown) else shown)}")
    return "\n".join(lines)


def _bare(name: str) -> str:
    return name.partition("__")[2] or name


def _brief(text: str) -> str:
    return one_line(truncate_text(text, _MAX_BEFORE_CHARS))


def _asked(what: str, question: str, steps: Sequence[GuidedStep], before: Exchange | None) -> str:
    end = (
        "for what is left to do of the request" if steps else "that does what the request asks for"
    )
    return f"{conversation_text(question, steps, before)}\n\nName the one {what} {end}."


def _choice(key: str, options: Iterable[str]) -> dict[str, Any]:
    choices = list(dict.fromkeys(options))
    if not choices:
        raise ValueError("there is nothing to choose from: no server has a tool")
    return _texts(key, enum=choices)


def _texts(key: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {key: {"type": "string", **more}},
        "required": [key],
        "additionalProperties": False,
    }


def _chosen(reply: object, key: str) -> str | None:
    """The text under the key; of a bare text the text itself; without the spaces around it."""
    value = reply.get(key) if isinstance(reply, Mapping) else reply
    return value.strip() or None if isinstance(value, str) else None
