"""A model's file is served by a process of its own that never outlives who started it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.assembly import LocalEngine, open_host
from host.config import AgentSettings, HostConfig, ModelFile, endpoint_settings
from host.config.endpoint_choice import FileWish
from host.config.model_file import read_model_file
from host.errors import ConfigError, EngineFailed, HostError, RunFailed, StreamBroken
from host.wire import Endpoints
from tests.absence import linux_processes
from tests.fakes.engine import engine_environment, told
from tests.fakes.gguf import write_model
from tests.fakes.mcp_servers.processes import group_gone
from tests.journeys.host_process import groups_below


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


@pytest.fixture(autouse=True)
def processes() -> None:
    linux_processes()


@pytest.fixture
def model(tmp_path: Path) -> ModelFile:
    path = str(write_model(tmp_path))
    return read_model_file(FileWish(path=path, name=None, origin="--gguf"))


def befalls(fate: str, patch: pytest.MonkeyPatch, diary: Path | None = None) -> None:
    for name, value in engine_environment(fate, diary).items():
        patch.setenv(name, value)


async def nothing_is_left(groups: list[int]) -> bool:
    with anyio.fail_after(10):
        return bool(groups) and await group_gone(*groups) and not groups_below(os.getpid())


async def test_a_loaded_model_is_an_endpoint_with_a_key_of_its_own(
    model: ModelFile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    befalls("", monkeypatch, tmp_path / "diary.json")
    monkeypatch.setenv("SECRET_OF_OTHERS", "s3cret")
    notices: list[str] = []
    with anyio.fail_after(30):
        async with (
            LocalEngine(model, secret_env=["SECRET_OF_OTHERS"], on_notice=notices.append) as engine,
            Endpoints() as endpoints,
        ):
            choice = await engine.ready()
            groups = groups_below(os.getpid())
            settings = endpoint_settings(choice, AgentSettings())
            models = await endpoints.list_models(settings)
            window = await endpoints.context_limit(settings, "tiny", 0)
        assert await nothing_is_left(groups)
    wishes = told(tmp_path / "diary.json")
    assert (wishes["hostnames"], wishes["port"], wishes["n_parallel"]) == (["127.0.0.1"], 0, 1)
    assert (wishes["use_jinja"], wishes["cors_origins"]) == (True, "")
    assert wishes["fit_params"] is False, "there is only a processor"
    assert wishes["model"] == str(model.path)
    assert [choice.api_key] == wishes["api_keys"]
    assert len(choice.api_key) >= 32
    assert choice.base_url.startswith("http://127.0.0.1:")
    assert [found.id for found in models] == [choice.model] == ["tiny"]
    assert window == wishes["n_ctx"] == 8192
    assert "SECRET_OF_OTHERS" not in wishes["environment"]
    assert notices[0] == "loading tiny.gguf, 0 MB, 8,192 tokens of context"
    assert re.fullmatch(r"✓ tiny\.gguf: loaded, \d+\.\d s", notices[1])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("fate", "kind", "words"),
    [
        ("missing", ConfigError, r"run: pip install 'mcp-agent-host\[local\]'"),
        ("broken", ConfigError, "does not load: libgomp.so.1"),
        ("small", ConfigError, "is too large: "),
        ("refuses", ConfigError, "cannot be loaded: tensor 'a' is not within the file bounds"),
        ("illegal", EngineFailed, "build it from source"),
        ("killed", EngineFailed, r"was killed \(SIGKILL\), perhaps for want of memory"),
    ],
)
async def test_an_engine_that_cannot_serve_says_why_and_is_gone(
    fate: str, kind: type[HostError], words: str, model: ModelFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    befalls(fate, monkeypatch)
    groups: list[int] = []
    with anyio.fail_after(30), pytest.raises(kind, match=words) as caught:  # noqa: PT012
        async with LocalEngine(model) as engine:
            groups = groups_below(os.getpid())
            await engine.ready()
    assert "\n" not in str(caught.value)
    assert groups_below(os.getpid()) == []
    assert await group_gone(*groups)


async def test_whoever_leaves_while_it_loads_leaves_nothing_behind(
    model: ModelFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    befalls("stuck", monkeypatch)
    groups: list[int] = []
    with anyio.fail_after(30):
        with anyio.CancelScope() as scope:
            async with LocalEngine(model) as engine:
                groups = groups_below(os.getpid())
                scope.cancel()
                await engine.ready()
        assert scope.cancelled_caught
        assert await nothing_is_left(groups)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_as_long_as_it_loads_it_is_said_again_and_again(
    model: ModelFile, monkeypatch: pytest.MonkeyPatch, anyio_backend: str
) -> None:
    befalls("stuck", monkeypatch)
    monkeypatch.setattr("host.assembly.local_engine.PROGRESS_SECONDS", 0.01)
    notices: list[str] = []
    enough = anyio.Event()

    def hear(notice: str) -> None:
        notices.append(notice)
        if len(notices) == 3:
            enough.set()
        raise LookupError("a listener that fails")

    with anyio.fail_after(30):
        async with LocalEngine(model, on_notice=hear):
            await enough.wait()
    assert notices[1:3] == ["· tiny.gguf: still loading, 0 s"] * 2


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_engine_that_never_introduces_itself_is_given_up(
    model: ModelFile, monkeypatch: pytest.MonkeyPatch, anyio_backend: str
) -> None:
    befalls("mute", monkeypatch)
    monkeypatch.setattr("host.assembly.local_engine.START_SECONDS", 0.1)
    with anyio.fail_after(30), pytest.raises(EngineFailed, match=r"did not start in 0\.1 s"):
        async with LocalEngine(model):
            pass
    assert groups_below(os.getpid()) == []


async def test_what_a_host_asks_is_answered_by_the_file_its_configuration_names(
    model: ModelFile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    befalls("", monkeypatch, tmp_path / "diary.json")
    agent = AgentSettings(gguf=model.path.name, context_length=5000)
    config = HostConfig(source=str(tmp_path / "servers.json"), agent=agent)
    with anyio.fail_after(30):
        async with open_host(config) as host:
            run = await host.ask("Where are you?")
    assert (run.answer, run.stop_reason) == ("I am served here.", "completed")
    assert told(tmp_path / "diary.json")["n_ctx"] == 5000


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("fate", "kind", "words"),
    [
        ("dies", EngineFailed, r"serves tiny\.gguf was killed"),
        ("breaks", StreamBroken, "answer broke off"),
    ],
)
async def test_a_death_in_mid_run_is_told_as_that_and_a_broken_answer_as_what_it_is(
    fate: str,
    kind: type[HostError],
    words: str,
    model: ModelFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    befalls(fate, monkeypatch)
    config = HostConfig(agent=AgentSettings(max_retries=0))
    with anyio.fail_after(30):
        async with open_host(config, endpoint=model) as host:
            await host.settle()
            with pytest.raises(RunFailed, match=words) as caught:
                await host.ask("Where are you?")
    assert isinstance(caught.value.__cause__, kind)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_file_that_cannot_be_loaded_ends_the_wait_for_the_fleet_at_once(
    model: ModelFile, monkeypatch: pytest.MonkeyPatch, anyio_backend: str
) -> None:
    befalls("refuses", monkeypatch)
    with anyio.fail_after(30):
        async with open_host(HostConfig(), endpoint=model) as host:
            with pytest.raises(ConfigError, match="cannot be loaded"):
                await host.settle()
            with pytest.raises(RunFailed, match="cannot be loaded"):
                await host.ask("Where are you?")
