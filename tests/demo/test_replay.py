from __future__ import annotations

import importlib.resources
from typing import Any

import anyio
import httpx2
import openai
import pytest

from host.demo.recording import Recording
from host.demo.replay import ReplayEndpoint, bundled_recording, chat_body
from host.errors import ConfigError
from tests.demo.conversations import CALL, messages, recording


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


async def asked(
    endpoint: ReplayEndpoint, request: list[dict[str, Any]], **more: Any
) -> httpx2.Response:
    body = {"model": "tiny", "stream": True, "messages": request, **more}
    with anyio.fail_after(20):
        async with httpx2.AsyncClient() as client:
            return await client.post(f"{endpoint.base_url}/chat/completions", json=body)


def events(recorded: Recording, at: int) -> str:
    return "".join(f"data: {payload}\n\n" for payload in recorded.requests[at].payloads)


async def test_a_run_that_goes_as_recorded_reads_the_recorded_answers() -> None:
    recorded = recording(("load_tools", "ok"), (CALL, "42.195"))
    async with ReplayEndpoint(recorded) as endpoint:
        steps = (("load_tools", "ok"), (CALL, "42.195"))
        for count in range(3):
            answer = await asked(endpoint, messages(*steps[:count]))
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "text/event-stream"
            assert answer.text == events(recorded, count)
        assert endpoint.mismatch is None


async def test_a_result_that_differs_is_answered_with_409_and_the_tools_name() -> None:
    async with ReplayEndpoint(recording((CALL, "42.195"))) as endpoint:
        answer = await asked(endpoint, messages((CALL, "42.2")))
        assert answer.status_code == 409
        error = answer.json()["error"]
        assert error["type"] == "recording_mismatch"
        assert error["message"].startswith(CALL)
        assert endpoint.mismatch == error["message"]


async def test_a_request_too_many_is_answered_with_409() -> None:
    async with ReplayEndpoint(recording()) as endpoint:
        answer = await asked(endpoint, messages((CALL, "r")))
    assert answer.status_code == 409
    assert "ends after 1 requests" in answer.json()["error"]["message"]


async def test_the_models_are_listed_with_the_recorded_one() -> None:
    async with ReplayEndpoint(recording()) as endpoint, httpx2.AsyncClient() as client:
        listed = (await client.get(f"{endpoint.base_url}/models")).json()
    assert listed == {
        "object": "list",
        "data": [{"id": "tiny", "object": "model", "owned_by": "scripted 1"}],
    }


async def test_anything_else_is_not_found() -> None:
    async with ReplayEndpoint(recording()) as endpoint, httpx2.AsyncClient() as client:
        answer = await client.get(f"{endpoint.base_url}/props")
    assert answer.status_code == 404
    assert "GET /v1/props" in answer.json()["error"]["message"]


async def test_a_request_that_is_not_streamed_is_refused() -> None:
    async with ReplayEndpoint(recording()) as endpoint:
        assert (await asked(endpoint, messages(), stream=False)).status_code == 400
        assert (await asked(endpoint, messages(), messages=5)).status_code == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"messages": [5]}', b"[" * 100_000])
def test_a_body_without_messages_is_no_chat_request(body: bytes) -> None:
    assert chat_body(body) is None


# On trio the openai client leaves generators open after [DONE], which trio reports.
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_real_client_reads_the_answer() -> None:
    recorded = recording()
    async with (
        ReplayEndpoint(recorded) as endpoint,
        openai.AsyncOpenAI(base_url=endpoint.base_url, api_key="none", max_retries=0) as client,
    ):
        with anyio.fail_after(20):
            assert [model.id for model in (await client.models.list()).data] == ["tiny"]
            stream = await client.chat.completions.create(
                model="tiny", stream=True, messages=[{"role": "user", "content": recorded.question}]
            )
            async with stream:
                chunks = [chunk async for chunk in stream]
    assert [chunk.choices[0].delta.content for chunk in chunks] == ["answer 0", "é\u2028"]


def test_a_recording_that_is_not_bundled_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="no recording of this name"):
        bundled_recording("never-made")


def test_every_bundled_recording_can_be_read_and_ends_with_an_answer() -> None:
    folder = importlib.resources.files("host.demo") / "recordings"
    for file in folder.iterdir() if folder.is_dir() else ():
        recorded = bundled_recording(file.name.removesuffix(".json"))
        assert recorded.requests
        assert all(request.payloads for request in recorded.requests)
