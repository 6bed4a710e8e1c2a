"""Of a dead child's last words the line is found that says why, amid what runtimes add."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.telling_line import telling_line

FRAMES = ("    at run (node:internal/main:1:2)", "\tat com.x.Main(Main.java:3)", "      ^", "   ")
FOOTERS = ("Node.js v20.11.0", "note: run with `RUST_BACKTRACE=1` environment variable", "", "}")
WORDS = st.sampled_from(["KeyError: 'API_KEY'", "Error: no licence", "panic: x", "müde", "go: {x"])


@given(
    st.lists(st.sampled_from(["starting", *FRAMES]), max_size=4),
    WORDS,
    st.lists(st.sampled_from(FRAMES), max_size=4),
    st.lists(st.sampled_from(FOOTERS[:3]), max_size=3),
)
def test_the_words_are_found_between_what_a_runtime_prints(
    before: list[str], words: str, frames: list[str], footers: list[str]
) -> None:
    assert telling_line("\n".join([*before, words, *frames, *footers])) == words


@given(st.lists(st.sampled_from([*FRAMES, *FOOTERS, "npm error code E1", "npm notice"])))
def test_something_is_shown_whenever_something_was_said(lines: list[str]) -> None:
    text = "\n".join(lines)
    shown = telling_line(text)
    assert bool(shown) == bool(text.strip())
    assert shown in text


NODE = """\
node:internal/modules/cjs/loader:1080
  throw err;
  ^

Error: Cannot find module '/x.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1077:15)
    at node:internal/main/run_main_module:23:47 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v18.19.0
"""
DUMPED = """\
Error: connect ECONNREFUSED {
  errno: -111,
  code: 'ECONNREFUSED'
}
"""
NPM = """\
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/@no%2fsuch - Not found
npm error 404
npm error 404  '@no/such@*' is not in this registry.
npm error A complete log of this run can be found in: /root/.npm/_logs/x-debug-0.log
"""
PYTHON = """\
Traceback (most recent call last):
  File "server.py", line 1, in <module>
    os.environ["API_KEY"]
KeyError: 'API_KEY'
"""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (NODE, "Error: Cannot find module '/x.js'"),
        (DUMPED, "Error: connect ECONNREFUSED"),
        (
            NPM,
            "npm error 404 Not Found - GET https://registry.npmjs.org/@no%2fsuch - Not found",
        ),
        ("sh: nope: not found\nnpm notice\nnpm notice New version", "sh: nope: not found"),
        (PYTHON, "KeyError: 'API_KEY'"),
        ("", ""),
    ],
)
def test_real_last_words_are_read(words: str, line: str) -> None:
    assert telling_line(words) == line
