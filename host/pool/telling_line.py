"""Which line of a dead child's last words says why it died. No I/O."""

from __future__ import annotations

import re

_FRAME = re.compile(r"\s+at\s|\s+\.\.\. \d+ (?:more|lines)|\s*\^+\s*$")
_FOOTER = re.compile(
    r"(?:Node\.js|Bun) v\d|note: run with `RUST_BACKTRACE|\s*For further information visit"
)
_CLOSING = re.compile(r"\s*[\]})]+[;,]?\s*$")
_NPM = re.compile(r"npm (?:error|ERR!|notice)\b")
_NPM_WORDS = re.compile(r"npm (?:error|ERR!) (?!(?:code|errno|syscall|path|\d+)\b.{0,20}$)\S.*$")


def telling_line(words: str) -> str:
    """The last line that says something of its own; "" for none.

    Passed over is what runtimes print below it: frames of a stack, fields of a dumped error,
    versions, where to read on. When nothing else is there, the very last line.
    """
    lines = [line for line in words.splitlines() if line.strip()]
    is_dump = False
    for line in reversed(lines):
        if is_dump:
            is_dump = not line.rstrip().endswith(("{", "["))
            if is_dump or _FRAME.match(line):
                continue
            return line.rstrip(" {[").strip()
        is_dump = _CLOSING.match(line) is not None
        if _NPM.match(line):
            return _npm_line(lines)
        if not (is_dump or _FRAME.match(line) or _FOOTER.match(line)):
            return line.strip()
    return lines[-1].strip() if lines else ""


def _npm_line(lines: list[str]) -> str:
    """npm says first what is wrong and then what else may be of interest."""
    words = [line for line in lines if _NPM_WORDS.match(line)]
    others = [line for line in lines if not _NPM.match(line)]
    return (words[:1] or others[-1:] or lines[-1:])[0].strip()
