"""The official client conformance suite, as its newest release is tagged, against our pool.

Other releases: ``CONFORMANCE_VERSION`` and ``CONFORMANCE_SPEC`` in the environment of the script;
0.2.0-alpha.12 passes whole, but for scenarios of an extension that we do not offer (skills).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.absence import node, shared
from tests.architecture import ROOT

pytestmark = pytest.mark.slow

SCENARIOS = 26
SUITE_SECONDS = 600
TRIES = 3
"""sse-retry allows 0.2 s beyond the time it asked for, which a busy machine can take by itself."""

FAULTS_OF_THE_SUITE = {
    "auth/2025-03-26-oauth-metadata-backcompat": (
        "its server describes the issuer …/oauth at the well-known place of another one, which "
        "RFC 8414 §3.3 wants refused; 0.2.0 mends the description, and is passed"
    )
}


def run_suite(folder: Path, *scenarios: str) -> str:
    """What the suite says of our client: one line for each scenario, and why it failed.

    Without scenarios all of them are run.
    """
    script = shared("tools", "conformance.sh")
    own = {
        "CONFORMANCE_OUT": str(folder / "out"),
        "CONFORMANCE_CACHE": str(folder / "suite"),
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [str(script), shlex.join([sys.executable, "-m", "tests.conformance.client"]), *scenarios],
        cwd=folder,
        env={**os.environ, **own},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SUITE_SECONDS,
        check=False,
    )
    return done.stdout + done.stderr


def outcomes(told: str) -> dict[str, bool]:
    """Whether each scenario passed, by its name; what checked nothing has not."""
    return {
        name: how == "pass" for name, how in re.findall(r"^(\S+) +(pass|fail|skip)", told, re.M)
    }


def test_the_suite_passes_but_for_its_own_faults(tmp_path: Path) -> None:
    node()
    told = run_suite(tmp_path)
    found = outcomes(told)
    tries = 1
    while not found.get("sse-retry") and "slightly late" in told and tries < TRIES:
        again = run_suite(tmp_path, "sse-retry")
        found |= outcomes(again)
        tries += 1
    assert len(found) == SCENARIOS, told
    assert {name for name, passed in found.items() if not passed} == {*FAULTS_OF_THE_SUITE}, told
