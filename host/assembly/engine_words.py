"""What there is to say about an engine: sizes, what it logged, how it ended."""

from __future__ import annotations

import re

INSTALL = "pip install 'mcp-agent-host[local]'"

_SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}
"""Those that engines die of, as Linux numbers them."""

_ILLEGAL = (-4, 0xC000001D)
"""How a process ends that met an instruction its processor has not: POSIX, Windows."""

_STAMP = re.compile(r"^\d+(?:\.\d+){3} [A-Z]+ +")
_MODEL_ERROR = "error loading model: "
_ERROR = re.compile(r"^\d+(?:\.\d+){3} E +", re.MULTILINE)
_NO_REASON = re.compile(
    r"failed to load model(?:,?(?: from)? .*)?$|failed to read header$|model loading error$"
)
"""How a line ends that says only that it failed, and of which file."""


def size_words(size_bytes: int) -> str:
    """A size as file managers show it: ``98 MB``, ``1.1 GB``; halves go up."""
    if size_bytes < 999_500_000:
        return f"{(size_bytes + 500_000) // 1_000_000} MB"
    tenths = (size_bytes + 50_000_000) // 100_000_000
    return f"{tenths // 10}.{tenths % 10} GB"


def logged_reason(log: str) -> str:
    """Why a model could not be loaded, by the last of llama.cpp's log; "" for an empty one.

    What it says of the model comes before other errors, of these the first that says more than
    that it failed, then the last error, then the last line.
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if not _NO_REASON.search(line)]
    for line in telling:
        _, found, reason = line.partition(_MODEL_ERROR)
        if found and reason:
            return reason
    errors = [line for line in lines if _ERROR.match(line)]
    reasons = [line for line in telling if _ERROR.match(line)]
    return _STAMP.sub("", (reasons[:1] or errors or lines or [""])[-1])


def problem_words(problem: str, text: str, log: str) -> str:
    """What the engine's program complained of, and what to do about it.

    Args:
        problem: ``missing``, ``broken``, ``load`` or ``wish``, as the program has it.
        text: its own words.
        log: the last of what was logged.
    """
    if problem == "missing":
        return f"cannot be served without the package xllamacpp; run: {INSTALL}"
    if problem == "broken":
        return f"cannot be served: xllamacpp is installed and does not load: {text}"
    reason = logged_reason(log) if problem == "load" else ""  # else nothing was loaded yet
    return f"cannot be loaded: {reason or text}"


def death_words(exit_code: int, log: str) -> str:
    """How an engine ended, as a clause without subject."""
    if exit_code in _ILLEGAL:
        return (
            "met an instruction that this processor has not; the xllamacpp that is installed was "
            "built for newer ones: build it from source"
        )
    if exit_code == -9:
        return "was killed (SIGKILL), perhaps for want of memory; try a smaller file or context"
    how = f"exited with code {exit_code}"
    if exit_code < 0:
        how = f"was ended by {_SIGNALS.get(-exit_code, f'signal {-exit_code}')}"
    reason = logged_reason(log)
    return f"{how}: {reason}" if reason else how
