"""What the README promises of itself."""

from __future__ import annotations

import re

from host.config.agent_reading import FIELDS
from host.records import DISCOVERY_MODES
from tests.architecture import ROOT

README = (ROOT / "README.md").read_text("utf-8")


def commands() -> list[str]:
    return re.findall(r"^```sh\n(.+)\n```$", README.split("\n## ", 1)[0], re.M)


def test_it_begins_with_exactly_two_commands_of_one_line() -> None:
    demo, tests = commands()
    assert demo.endswith(".venv/bin/agent-host demo")
    assert "pytest" in tests


def test_ci_begins_with_the_very_line_a_newcomer_is_given_for_the_tests() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    first = next(line for line in script if not line.startswith(("#", "set ")))
    assert first == commands()[1]


def test_every_field_of_the_agent_and_every_way_of_discovery_is_explained() -> None:
    assert [name for name in FIELDS if not re.search(rf"\b{name}\b", README)] == []
    assert [mode for mode in DISCOVERY_MODES if f"| `{mode}` |" not in README] == []
