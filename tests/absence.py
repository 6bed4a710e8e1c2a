"""What a test may do without: it skips, says what is absent, and is told apart from other skips."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.architecture import ROOT

ABSENT = "absent: "
"""How every allowed skip begins; in CI any other skip is a failure (``STRICT_SKIPS``)."""

LLAMA_SERVER_NEEDS = frozenset({"avx512f", "avx512bw", "avx512vl", "avx512_vnni", "amx_int8"})
"""CPU flags without which the official server, as it comes prebuilt, dies while it loads."""

STRICT_SKIPS = "HOST_TESTS_STRICT_SKIPS"


def shared(*parts: str) -> Path:
    """A file of the study material beside the checkout; skips where it is absent."""
    path = ROOT.parent / "shared" / Path(*parts)
    if not path.exists():
        pytest.skip(f"{ABSENT}../shared/{'/'.join(parts)}")
    return path


def node() -> str:
    """The path of Node's npx; skips where there is no Node."""
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip(f"{ABSENT}Node (npx)")
    return npx


def linux_processes() -> None:
    """Skips where there is no process table to read under /proc."""
    if not Path("/proc/self/stat").exists():
        pytest.skip(f"{ABSENT}/proc")


def wide_vectors() -> None:
    """Skips where this CPU lacks what the prebuilt llama-server was compiled for."""
    cpu = Path("/proc/cpuinfo")
    flags = set(cpu.read_text("utf-8").split()) if cpu.exists() else set()
    missing = sorted(LLAMA_SERVER_NEEDS - flags)
    if missing:
        pytest.skip(f"{ABSENT}CPU instructions llama-server was built with ({', '.join(missing)})")


def is_strict() -> bool:
    """Whether a skip for any other reason fails (set in CI)."""
    return os.environ.get(STRICT_SKIPS) == "1"
