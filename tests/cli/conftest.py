"""Commands run in this process: real servers and endpoints, the terminal's two streams captured."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from host.cli.main import main
from tests.fakes.command_line import Ended, environment, write_servers
from tests.fakes.http_endpoint import HttpEndpoint


class CommandLine:
    """``agent-host`` in a folder of its own, without endpoint variables."""

    def __init__(
        self, folder: Path, captured: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self._captured = captured
        self._patch = patch

    def servers(self, rows: dict[str, Any], **agent: Any) -> None:
        """Writes the servers file."""
        write_servers(self.folder, rows, **agent)

    def ask_from(self, endpoint: HttpEndpoint) -> None:
        """Lets the environment name the endpoint."""
        self._patch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        self._patch.setenv("OPENAI_MODEL", "fake-model")

    def __call__(self, *args: str, typed: str = "") -> Ended:
        self._patch.setattr(sys, "stdin", io.StringIO(typed))
        status = main(args)
        out, err = self._captured.readouterr()
        return Ended(status=status, out=out, err=err)


@pytest.fixture
def agent_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return CommandLine(tmp_path, capsys, monkeypatch)
