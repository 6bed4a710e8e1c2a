"""A model's file served beside the fleet, as whole processes: nothing is left of either."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.absence import linux_processes
from tests.architecture import ROOT
from tests.fakes.command_line import environment, plain_server, write_servers
from tests.fakes.engine import engine_environment
from tests.fakes.gguf import write_model
from tests.journeys.conftest import StartHost
from tests.journeys.host_process import groups_below, until, wait_until_gone
from tests.journeys.model_servers import install

PROCESSES = 4
"""An engine, a server, and the watchdog of each."""

ANSWER_SECONDS = 400


@pytest.mark.parametrize(
    ("how", "number", "status"),
    [("ask", signal.SIGINT, 130), ("chat", signal.SIGINT, 130), ("ask", signal.SIGKILL, -9)],
)
def test_whoever_ends_the_host_while_a_model_loads_leaves_nothing(
    how: str, number: signal.Signals, status: int, start: StartHost, tmp_path: Path
) -> None:
    write_model(tmp_path)
    args = ["ask", "Hi"] if how == "ask" else ["chat"]
    rows = {"plain": plain_server()}
    engine = engine_environment("stuck")
    with start(*args, "--gguf", "tiny.gguf", rows=rows, **with_root(engine)) as process:
        groups = process.wait_for_children(PROCESSES)
        process.wait_for("loading tiny.gguf")
        process.wait_for("✓ plain")
        process.send(number)
        ended = process.end()
    assert ended.status == status
    assert "Traceback" not in ended.err
    if status == 130:
        assert ended.err.splitlines()[-1] == "agent-host: interrupted"
    wait_until_gone(groups)


def test_nothing_is_left_of_an_engine_whose_host_is_killed_while_it_serves(
    start: StartHost, tmp_path: Path
) -> None:
    write_model(tmp_path)
    engine = with_root(engine_environment())
    with start("chat", "--gguf", "tiny.gguf", rows={}, typed=None, **engine) as process:
        process.wait_for("loaded")
        process.type_line("Hi")
        process.wait_for("I am served here.")
        groups = process.wait_for_children(2)
        process.send(signal.SIGKILL)
        process.end()
    wait_until_gone(groups)


def with_root(env: dict[str, str]) -> dict[str, Any]:
    """The variables, with this checkout on the path as well."""
    return {**env, "PYTHONPATH": f"{env['PYTHONPATH']}:{ROOT}"}


@pytest.fixture(scope="module")
def real_engine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A real model's file, and the folder where the engine's wheel is unpacked."""
    linux_processes()
    told = install("xllamacpp")
    found = re.search(r"installed under (.+)$", told, re.M)
    assert found, told
    folder = Path(found[1])
    (weights,) = (folder / "models").glob("*0.5b*.gguf")
    return weights, folder / "xllamacpp"


AGENT: dict[str, Any] = {"maxTokens": 16, "temperature": 0, "contextLength": 2048}


@pytest.mark.slow
def test_a_real_model_is_served_from_its_file_for_the_length_of_a_question(
    real_engine: tuple[Path, Path], tmp_path: Path
) -> None:
    weights, engine = real_engine
    write_servers(tmp_path, {"plain": plain_server()}, **AGENT)
    env = environment(tmp_path)
    env["PYTHONPATH"] += f":{engine}"
    program = [sys.executable, "-m", "host", "ask", "Say hello.", "--gguf", str(weights)]
    with subprocess.Popen(
        program, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        until(
            lambda: len(groups_below(process.pid)) == PROCESSES or process.poll() is not None,
            lambda: "the engine, the server and their watchdogs",
        )
        groups = groups_below(process.pid)
        out, err = process.communicate(timeout=ANSWER_SECONDS)
    assert process.returncode == 0, err
    assert len(groups) == PROCESSES
    assert out.strip()
    loading, *_ = err.splitlines()
    assert re.fullmatch(rf"loading {weights.name}, 491 MB, 2,048 tokens of context", loading)
    assert re.search(rf"^✓ {re.escape(weights.name)}: loaded, [\d.]+ s$", err, re.M)
    assert "✓ plain: 12 tools" in err
    wait_until_gone(groups)


@pytest.mark.slow
def test_a_real_engine_says_in_a_line_what_is_wrong_with_a_file_cut_short(
    real_engine: tuple[Path, Path], tmp_path: Path
) -> None:
    weights, engine = real_engine
    shutil.copy(weights, tmp_path / "cut.gguf")
    os.truncate(tmp_path / "cut.gguf", weights.stat().st_size - 1000)
    write_servers(tmp_path, {})
    env = environment(tmp_path)
    env["PYTHONPATH"] += f":{engine}"
    ended = subprocess.run(
        [sys.executable, "-m", "host", "ask", "Hi", "--quiet", "--gguf", "cut.gguf"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("agent-host: --gguf: cut.gguf cannot be loaded: ")
    assert "corrupted or incomplete" in line
