"""What an endpoint's words say about a request's tools, and what is told of it (ours)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from host.errors import EndpointRefused, WireError
from host.text.terminal_text import clean_terminal
from host.text.truncation import preview
from host.wire.answer_shapes import refuses_schema
from host.wire.culprit_search import Finding
from host.wire.patience import blames_output
from host.wire.retry import blames_request
from host.wire.schema_compat import is_grammar_error

MAX_NAMED = 5
"""As many tools as one notice names."""

MAX_REASON_CHARS = 160

_OF_THE_REQUEST = frozenset({None, 400, 404, 422})
_OF_TOOLS = re.compile(r"\btools?\b|function|schema|grammar|parser|propert", re.I | re.A)
_OF_ELSE = re.compile(
    r"model|message|\brole|image|audio|temperature|max_(?:completion_)?tokens|top_|stream|\bkey\b"
    r"|credit|billing|balance|policy|moderat|content|reasoning|response_format|unrecognized"
    r"|unknown parameter|\bfield\b|parse_error",
    re.I | re.A,
)
_SPENT = re.compile(  # OpenAI's reasoning models
    r"could not finish (?:the )?message|output limit (?:was |has been )?reached", re.I
)
_CEILING = re.compile(r"max_(?:completion_|output_|new_)?tokens|budget_tokens", re.I)
_INDEXED = re.compile(r"(?:tools|function_declarations|functionDeclarations)[.\[/](\d+)", re.I)


def may_be_tools(error: WireError, words: str) -> bool:
    """Whether a refusal may be about the tools of its request, so that looking is worth it.

    Statuses other than 400 and 422 and words that speak of something else need a word about
    tools; a 400 that says nothing of use does not. The schema of the answer is something else.
    """
    if is_grammar_error(words) or (blames_request(error) and "tools" in words):
        return True
    if not isinstance(error, EndpointRefused) or error.status not in _OF_THE_REQUEST:
        return False
    if refuses_schema(words):
        return False
    if _OF_TOOLS.search(words):
        return True
    return error.status in (400, 422) and not _OF_ELSE.search(words)


def is_probe_refused(error: WireError, words: str) -> bool | None:
    """Whether a probe was refused; None for a failure that says nothing about the request.

    A model that ran out of its one token, or whose call its own server cannot read, had taken it.
    """
    if blames_output(error):
        return False
    if is_grammar_error(words) or blames_request(error):
        return True
    if isinstance(error, EndpointRefused) and error.status in _OF_THE_REQUEST:
        return not _SPENT.search(words)
    return None


def blames_ceiling(words: str) -> bool:
    """Whether a refusal may be about how many tokens a probe asked for."""
    return bool(_CEILING.search(words))


def blames_choice(words: str) -> bool:
    """Whether a refusal speaks of the choice among the tools and not of them."""
    return "tool_choice" in words


def suspects_in(words: str, names: Sequence[str]) -> list[int]:
    """The indices of the tools that a refusal names, by name or as ``tools[3]``, ascending."""
    named = {
        index
        for index, name in enumerate(names)
        if name and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", words)
    }
    numbered = {int(index) for index in _INDEXED.findall(words) if len(index) < 6}
    return sorted(named | {index for index in numbered if index < len(names)})


def isolation_notice(
    label: str, finding: Finding, names: Sequence[str], reasons: Mapping[int, str]
) -> str:
    """One line: which tools an endpoint does not take, why in its words, and what is sent.

    Args:
        label: the model, which opens the line.
        names: of all tools of the request; reasons: in the endpoint's words, by index.
    """
    if finding.fault == "all tools":
        reason = next(iter(reasons.values()), "")
        return f"{label} takes no tools{_because(reason)}; going on without any"
    bare, out = _without(finding.bare, finding.unproven), _without(finding.out, finding.unproven)
    bare_guess, out_guess = _without(finding.bare, bare), _without(finding.out, out)
    together = "takes not all of {tools} together: left out"
    if finding.most is not None:
        together = f"takes {finding.most} tools in one request and no more: left out {{tools}}"
    parts = [
        (bare, "does not take the {schema} of {tools}: {their} parameters are told in words"),
        (out, "does not take {tools} in any form: left out"),
        (bare_guess, "takes not every schema of {tools}: {their} parameters are told in words"),
        (out_guess, together),
    ]
    told = [_told(template, part, names, reasons) for part, template in parts if part]
    return f"{label} {'; '.join(told)}"


def reason_of(words: str) -> str:
    """An endpoint's words as a reason: one clean line, not too long."""
    return preview(" ".join(clean_terminal(words).split()), MAX_REASON_CHARS)


def _told(
    template: str, indices: Sequence[int], names: Sequence[str], reasons: Mapping[int, str]
) -> str:
    named, reason_before = list[str](), ""
    for index in indices[:MAX_NAMED]:
        reason = _because(reasons.get(index, ""))
        named.append(_shown(names[index]) + (reason if reason != reason_before else ""))
        reason_before = reason
    if (more := len(indices) - MAX_NAMED) > 0:
        named.append(f"{more} more")
    is_one = len(indices) == 1
    return template.format(
        tools=", ".join(named),
        schema="schema" if is_one else "schemas",
        their="its" if is_one else "their",
    )


def _because(words: str) -> str:
    return f" ({words})" if words else ""


def _shown(name: str) -> str:
    return " ".join(clean_terminal(name).split()) or "a tool without a name"


def _without(indices: Sequence[int], gone: Sequence[int]) -> list[int]:
    return [index for index in indices if index not in gone]
