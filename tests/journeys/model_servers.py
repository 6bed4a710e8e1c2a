"""Real model servers for journeys: llama.cpp's own, and the same as a library."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.absence import ABSENT, shared, wide_vectors

ENGINES = ("xllamacpp", "llama-server")
WEIGHTS = ("--model", "0.5b")
MODEL = "qwen2.5-coder-0.5b-instruct"
INSTALL_SECONDS, START_SECONDS, STOP_SECONDS = 300, 240, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServer:
    """A model server that runs, or is about to."""

    engine: str
    base_url: str
    model: str = MODEL


@contextmanager
def model_server(engine: str, *flags: str, ready: bool = True) -> Iterator[ModelServer]:
    """Starts a server and stops it after the block; skips where engine or weights are absent.

    Args:
        engine: one of ``ENGINES``, or ``auto`` for the one that runs here.
        flags: of the script, such as ``--ctx``.
        ready: wait until it answers; otherwise the block begins while it starts.
    """
    if engine == "llama-server":
        wide_vectors()
    script = str(shared("tools", "llm_endpoint.sh"))
    install(engine)
    port = _free_port()
    with subprocess.Popen(
        [script, "start", str(port), *WEIGHTS, "--engine", engine, *flags],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as starting:
        server = ModelServer(engine=engine, base_url=f"http://127.0.0.1:{port}/v1")
        if ready:
            with _stopped(script, starting):
                yield server
            return
        try:
            yield server
        finally:
            with _stopped(script, starting):
                pass


def install(engine: str) -> str:
    """Fetches an engine and weights; returns what was told of it, skips where they are absent."""
    installed = subprocess.run(
        [str(shared("tools", "llm_endpoint.sh")), "install", *WEIGHTS, "--engine", engine],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if "pip download failed" in installed.stderr:
        pytest.skip(f"{ABSENT}weights or engine ({installed.stderr.splitlines()[-1]})")
    assert installed.returncode == 0, installed.stderr
    return installed.stderr


@contextmanager
def _stopped(script: str, starting: subprocess.Popen[str]) -> Iterator[None]:
    """Waits until the server is up; stops it after the block, or when this process ends.

    A shell that outlives us waits for the end of its input, which is ours to hold open.
    """
    out, err = starting.communicate(timeout=START_SECONDS)
    assert starting.returncode == 0, err
    told = dict(line.split("=", 1) for line in out.splitlines())
    with subprocess.Popen(
        ["sh", "-c", 'read _; exec "$0" stop "$1"', script, told["PID"]],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as stopper:
        try:
            yield
        finally:
            stopper.communicate(timeout=STOP_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
