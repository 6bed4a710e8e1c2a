from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from host.demo.loopback import HttpReply, HttpRequest, LoopbackServer
from host.demo.record import RecordingProxy
from host.demo.recording import Recording, read_recording
from host.demo.replay import ReplayEndpoint
from tests.demo.conversations import CALL, QUESTION, chunk, messages, recording


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


def proxy(upstream: str, out: Path, **more: Any) -> RecordingProxy:
    return RecordingProxy(
        base_url=upstream,
        question=QUESTION,
        engine="scripted 1",
        out=out,
        now=lambda: datetime(2026, 3, 1, tzinfo=UTC),
        **more,
    )


async def ask(base_url: str, request: list[dict[str, Any]]) -> httpx2.Response:
    body = {"model": "tiny", "stream": True, "messages": request}
    with anyio.fail_after(20):
        async with httpx2.AsyncClient() as client:
            return await client.post(f"{base_url}/chat/completions", json=body)


def read(out: Path) -> Recording:
    return read_recording(out.read_text("utf-8"), out.name)


async def test_a_recorded_run_is_the_run_and_replays(tmp_path: Path) -> None:
    steps = (("load_tools", "ok"), (CALL, "42.195"))
    real = recording(*steps)
    out = tmp_path / "run.json"
    async with ReplayEndpoint(real) as scripted, proxy(scripted.base_url + "/", out) as recorder:
        answers = [await ask(recorder.base_url, messages(*steps[:n])) for n in range(3)]
    assert read(out) == real
    async with ReplayEndpoint(read(out)) as replayed:
        for count, answer in enumerate(answers):
            again = await ask(replayed.base_url, messages(*steps[:count]))
            assert again.text == answer.text
        assert (await ask(replayed.base_url, messages(("load_tools", "no")))).status_code == 409


async def test_a_request_sent_again_replaces_its_answer_and_what_followed(tmp_path: Path) -> None:
    real = recording((CALL, "r"))
    out = tmp_path / "run.json"
    async with ReplayEndpoint(real) as scripted, proxy(scripted.base_url, out) as recorder:
        await ask(recorder.base_url, messages())
        await ask(recorder.base_url, messages((CALL, "r")))
        await ask(recorder.base_url, messages())
    assert read(out).requests == real.requests[:1]


async def test_another_question_is_refused_and_not_recorded(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    async with ReplayEndpoint(recording()) as scripted, proxy(scripted.base_url, out) as recorder:
        answer = await ask(recorder.base_url, messages(question="Else?"))
    assert answer.status_code == 409
    assert not out.exists()


async def test_models_and_errors_pass_through_unrecorded(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    async with (
        ReplayEndpoint(recording()) as scripted,
        proxy(scripted.base_url, out) as recorder,
        httpx2.AsyncClient() as client,
    ):
        models = await client.get(f"{recorder.base_url}/models")
        assert [model["id"] for model in models.json()["data"]] == ["tiny"]
        refused = await ask(recorder.base_url, messages((CALL, "too many")))
    assert refused.status_code == 409
    assert "ends after" in refused.json()["error"]["message"]
    assert not out.exists()


async def test_the_key_is_sent_on_and_not_written_down(tmp_path: Path) -> None:
    seen: list[str] = []

    async def respond(request: HttpRequest, reply: HttpReply) -> None:
        seen.append(request.headers["authorization"])
        await reply.begin_events()
        await reply.send_event("[DONE]")
        await reply.end()

    out = tmp_path / "run.json"
    async with LoopbackServer(respond) as real, proxy(real.base_url, out, api_key="s3cret") as rec:
        await ask(rec.base_url, messages())
    assert seen == ["Bearer s3cret"]
    assert "s3cret" not in out.read_text("utf-8")


async def test_an_endpoint_that_is_not_there_is_a_bad_gateway(tmp_path: Path) -> None:
    async with LoopbackServer(_break_off) as gone:
        url = gone.base_url
    async with proxy(url, tmp_path / "run.json") as recorder:
        answer = await ask(recorder.base_url, messages())
    assert answer.status_code == 502
    assert "the real endpoint failed" in answer.json()["error"]["message"]


async def _break_off(request: HttpRequest, reply: HttpReply) -> None:
    await reply.begin_events()
    await reply.send_event(chunk(content="half an ans"))


async def test_an_answer_that_breaks_off_breaks_off_here_too_and_is_not_recorded(
    tmp_path: Path,
) -> None:
    out = tmp_path / "run.json"
    async with LoopbackServer(_break_off) as real, proxy(real.base_url, out) as recorder:
        with pytest.raises(httpx2.RemoteProtocolError):
            await ask(recorder.base_url, messages())
    assert not out.exists()


async def test_a_client_that_leaves_stops_the_real_model(tmp_path: Path) -> None:
    stopped = anyio.Event()

    async def talk(request: HttpRequest, reply: HttpReply) -> None:
        await reply.begin_events()
        try:
            while True:
                await reply.send_event(chunk(content="on and on"))
                await anyio.sleep(0.001)
        finally:
            stopped.set()

    out = tmp_path / "run.json"
    async with LoopbackServer(talk) as real, proxy(real.base_url, out) as recorder:
        with anyio.fail_after(20):
            async with httpx2.AsyncClient() as client:
                body = {"model": "tiny", "stream": True, "messages": messages()}
                url = f"{recorder.base_url}/chat/completions"
                async with client.stream("POST", url, json=body) as answer:
                    assert answer.status_code == 200
            await stopped.wait()
    assert not out.exists()


async def test_the_command_records_until_ctrl_c(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    async with ReplayEndpoint(recording()) as scripted:
        arguments = ["--base-url", scripted.base_url, "--question", QUESTION]
        arguments += ["--engine", "scripted 1", "--out", str(out)]
        command = [sys.executable, "-m", "host.demo.record", *arguments]
        with anyio.fail_after(60):
            async with await anyio.open_process(command, stderr=subprocess.PIPE) as process:
                assert process.stdout is not None
                printed = (await process.stdout.receive()).decode().strip()
                assert (await ask(printed, messages())).status_code == 200
                process.send_signal(signal.SIGINT)
                assert await process.wait() == 0
    assert read(out).requests == recording().requests
