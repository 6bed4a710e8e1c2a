"""What in a reply holds no calls of its own: thinking, quotations, and HTML that shows code."""

from __future__ import annotations

import re
from typing import NamedTuple

from host.text.thinking import THINK_CLOSE, THINK_OPEN

THINKING_OPENER = rf"(?:{THINK_OPEN.pattern}|(?i:<[ \t]*+think[ \t]*+>))"
"""What opens thinking behind whose close the answer begins anew; no groups."""

THINKING_CLOSE = rf"(?:{THINK_CLOSE.pattern}|(?i:<[ \t]*+/[ \t]*+think[ \t]*+>))"
"""What closes it; no groups."""


class Aside(NamedTuple):
    """A stretch that is passed over, from what opens it to what closes it.

    Attributes:
        opener: a pattern without groups.
        is_token: only a template writes the opener, so that the stretch goes on to the end when
            nothing closes it; otherwise a text may speak of it, and it opens nothing then.
    """

    opener: str
    close: re.Pattern[str]
    is_token: bool


def _token(opener: str, close: str) -> Aside:
    return Aside(opener, re.compile(close), is_token=True)


def _element(name: str) -> Aside:
    return Aside(
        rf"(?i:<[ \t]*+{name}(?:\s[^<>\n]*+)?+>)",
        re.compile(rf"(?i:<[ \t]*+/[ \t]*+{name}[ \t]*+>)"),
        is_token=False,
    )


_OF_THOUGHT = ("thinking", "thought", "reasoning", "reflection", "scratchpad", "analysis")
_OF_CODE = ("pre", "code", "samp", "kbd", "blockquote", "xmp")

ASIDES = (
    _token(r"<\|channel\|>\s*+analysis\s*+<\|message\|>", r"<\|end\|>"),
    _token(r"<\|channel>\s*+thought\b", r"<channel\|>"),  # Gemma 4
    _token(r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    _token(r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    _token(r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),
    _token(r"\[THINK\]", r"\[/THINK\]"),
    _token("<seed:think>", "</seed:think>"),
    *map(_element, (*_OF_THOUGHT, *_OF_CODE)),
    Aside("<!--", re.compile("-->"), is_token=False),
)
"""Unlike behind a closing think tag, the answer does not begin anew behind any of these."""

_BREAK = r"\n(?![ \t\r]*+(?:\n|\Z))"
_WORD_TO_WORD = r"(?<=\w){}(?=\w)"


def _run_of(inside: str) -> str:
    """A stretch of ``inside``, over one line break at most and never over an empty line."""
    return rf"(?:{inside})*+(?:{_BREAK}(?:{inside})*+)?+"


def _between(opener: str, close: str, marks: str) -> str:
    """A quotation in which none of the ``marks`` stands."""
    return f"{opener}{_run_of(rf'[^{marks}{chr(10)}]')}{close}"


def _apostrophes(opener: str, close: str, marks: str) -> str:
    """A quotation in whose words an apostrophe may stand."""
    apostrophe = marks[-1]
    inside = rf"[^{marks}\n]|{_WORD_TO_WORD.format(apostrophe)}"
    return rf"{opener}{_run_of(inside)}{close}(?!\w)"


_IN_STRING = r'[^"\\\n]|\\.'
QUOTATION = re.compile(
    "|".join(
        [
            r"^[ \t]*>.*",
            # code by its indentation, behind an empty line
            r"^[ \t\r]*+\n(?:(?:[ ]{4}|[ ]{0,3}\t).*+(?:\n|\Z))++",
            r"\\.",
            # what is left of code spans holds an empty line in a call
            r"(?<!`)(?P<ticks>`++)[^`\n]*+(?P=ticks)(?!`)",
            # behind a digit it is a measure
            rf'(?<!\d)"(?:{_IN_STRING})*+"',
            rf'(?<!\w)"(?=\S)(?:{_IN_STRING})*+{_BREAK}(?:{_IN_STRING})*+"(?!\w)',
            *(_between(a, b, a + b) for a, b in ("“”", "«»", "»«", "‹›", "›‹", "「」", "『』")),
            _between("„", "[“”]", "„“”"),
            _between("”", "”", "“”"),
            _apostrophes("‘", "’", "‘’"),
            _apostrophes("‚", "[‘’]", "‚‘’"),
            r"‘[^‘’\n]*’",
            _apostrophes(r"(?<!\w)’(?=\S)", "’", "‘’"),
            _apostrophes(r"(?<!\w)'(?=\S)", "'", "'"),
        ]
    ),
    re.MULTILINE,
)
"""A quotation in prose in which calls and code are one character each."""
