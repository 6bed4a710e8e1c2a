"""Text of others made safe to print: nothing in it steers the terminal or hides from the reader.

What is dropped and what stays (ours; servers seen with colours on stderr: gitlab,
google-workspace, motherduck):

- escape sequences (CSI, OSC, DCS, APC, PM, SOS and the short ones), in 7-bit and C1 form. A
  string sequence goes with its payload only when it ends on its own line; otherwise just its
  opening goes, so that an unfinished one cannot swallow what follows it;
- every C0 and C1 control except newline and tab;
- bidirectional controls, zero-width characters and invisible tag characters. A joiner
  stays between two non-ASCII characters, where emoji and several scripts need it;
- a lone surrogate becomes U+FFFD, since no terminal could be sent one.

Linear in the text: no alternative below can read past the next escape.
"""

from __future__ import annotations

import re

INVISIBLE = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"
)
"""Members of a regex class: characters without width that a reader would not notice."""

JOINERS = "\u200c\u200d"
"""Members of a regex class: characters without width that shape their neighbours."""

_STEERING = re.compile(
    r"(?:\x1b[\]P_^X]|[\x90\x98\x9d-\x9f])[^\n\x07\x1b\x80-\x9f]*+(?:\x07|\x1b\\|\x9c)"  # strings
    r"|(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?+"  # CSI
    r"|\x1b[ -/]*+[0-~]?+"  # short sequences, and openings of unfinished ones
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f" + INVISIBLE + "]"
)
_STRAY_JOINERS = re.compile(
    rf"(?<=[{JOINERS}])[{JOINERS}]"  # all of a run but its first
    rf"|(?<![^\x00-\x7f])[{JOINERS}]"
    rf"|[{JOINERS}](?![{JOINERS}]*+[^\x00-\x7f])"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNPRINTED_IN_JSON = re.compile(
    f"[\x7f-\x9f\u2028\u2029\ud800-\udfff{INVISIBLE}{JOINERS}]"  # lower ones JSON escapes itself
)


def clean_terminal(text: str) -> str:
    """The text without anything a terminal would act on; newlines and tabs stay."""
    if text.isprintable():
        return text
    return _SURROGATE.sub("\ufffd", _STRAY_JOINERS.sub("", _STEERING.sub("", text)))


def one_line(text: str) -> str:
    """The text cleaned as above and on one line: every run of white space is one space."""
    if not text.isprintable():
        text = clean_terminal(" ".join(text.split()))
    return " ".join(text.split())


def printable_json(text: str) -> str:
    """The JSON text with escapes for what a terminal would act on or hide; it reads back alike."""
    if text.isprintable():
        return text
    return _UNPRINTED_IN_JSON.sub(lambda found: _escaped(found[0]), text)


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
