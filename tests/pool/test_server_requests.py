"""What servers ask in a session is answered, refused or cancelled, and nothing else breaks."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from host.pool.elicitation import (
    ElicitationAnswer,
    ElicitationRequest,
    FormElicitation,
    UrlElicitation,
)
from host.pool.sampling import SamplingAnswer, SamplingRefusal, SamplingRequest
from host.pool.server_pool import ServerPool
from host.pool.server_requests import MAX_ELICITATIONS, MAX_SAMPLES
from host.records.events import event_json
from tests.fakes.mcp_servers.asking import AskingServer, form, page, sample
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row
from tests.fakes.mcp_servers.watching import Watch
from tests.pool.pools import memory_pool, refused

ERAS = pytest.mark.parametrize("era", ["legacy", "auto"])
NAME = {"type": "string"}
CANARY = "my-private-answer-4711"

Answering = Callable[[str, ElicitationRequest], Awaitable[ElicitationAnswer]]


class Person:
    """Answers every question alike and remembers it."""

    def __init__(self, action: Any = "accept", content: dict[str, Any] | None = None) -> None:
        self.asked: list[tuple[str, ElicitationRequest]] = []
        self._answer = ElicitationAnswer(action=action, content=content)

    async def __call__(self, server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
        self.asked.append((server_id, request))
        return self._answer


async def asked(pool: ServerPool, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    """What the server was answered."""
    keyed = {f"k{number}": request for number, request in enumerate(requests)}
    answers = json.loads(await pool.call("fs__echo", {"ask": keyed}))
    return [answers[key] for key in keyed]


def asking_row(era: str, **fields: Any) -> Any:
    return memory_row("fs", era=era, **fields)


@ERAS
async def test_a_form_is_put_to_the_person_and_the_answer_reaches_the_server(era: str) -> None:
    person = Person(content={"name": "Ada"})
    rows = [asking_row(era)]
    async with memory_pool(Servers(fs=AskingServer()), rows, on_elicit=person) as pool:
        watch = Watch(pool)
        assert await asked(pool, form(name=NAME)) == [
            {"action": "accept", "content": {"name": "Ada"}}
        ]
        ((server_id, request),) = person.asked
        assert server_id == "fs"
        assert isinstance(request, FormElicitation)
        assert request.message == "Who are you?"
        assert [field.name for field in request.fields] == ["name"]
        (told,) = watch.of("elicitation", "fs")
        assert (told.mode, told.action) == ("form", "accept")


@ERAS
async def test_only_what_is_served_is_advertised(era: str) -> None:
    fs = AskingServer()
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"on_elicit": Person()}, {"elicitation": {"form": {}}}),
        ({"on_elicit": Person(), "elicitation_modes": ("url",)}, {"elicitation": {"url": {}}}),
        (
            {"on_elicit": Person(), "elicitation_modes": ("form", "url")},
            {"elicitation": {"form": {}, "url": {}}},
        ),
        ({"on_elicit": Person(), "elicitation_modes": ()}, {}),
        ({"on_sample": _echoing}, {}),
    ]
    for settings, known in cases:
        async with memory_pool(Servers(fs=fs), [asking_row(era)], **settings) as pool:
            await pool.call("fs__ping")
        said = fs.capabilities[-1]
        assert {name: said[name] for name in ("elicitation", "sampling") if name in said} == known


@ERAS
async def test_nobody_to_ask_is_a_refusal_the_server_can_live_with(era: str) -> None:
    async with memory_pool(Servers(fs=AskingServer()), [asking_row(era)]) as pool:
        if era == "legacy":
            (answer,) = await asked(pool, form(name=NAME))
            assert answer["code"] == -32600
        else:
            error = await refused(pool, "fs__echo", {"ask": {"k": form(name=NAME)}})
            assert "not supported" in str(error)
        assert await pool.call("fs__ping") == "ping({})"


@ERAS
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_no_and_nothing_are_told_without_content(era: str, action: str) -> None:
    person = Person(action, {"name": "Ada"})
    async with memory_pool(Servers(fs=AskingServer()), [asking_row(era)], on_elicit=person) as pool:
        assert await asked(pool, form(name=NAME)) == [{"action": action}]


@ERAS
async def test_fields_left_out_are_sent_with_their_defaults(era: str) -> None:
    person = Person(content={"name": "Ada"})
    properties: dict[str, Any] = {
        "name": NAME,
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "idle"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
        "note": {"type": "string"},
        "nick": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    }
    async with memory_pool(Servers(fs=AskingServer()), [asking_row(era)], on_elicit=person) as pool:
        (answer,) = await asked(pool, form(**properties, required=["name"]))
        assert answer["content"] == {
            "name": "Ada",
            "age": 30,
            "score": 95.5,
            "status": "active",
            "verified": True,
        }


@ERAS
@pytest.mark.parametrize(
    "content",
    [{}, {"n": 0}, {"n": "1"}, {"n": 1, "other": CANARY}, {"n": True}, {"n": [CANARY]}],
    ids=str,
)
async def test_an_answer_that_does_not_fit_its_form_is_not_sent(
    era: str, content: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    person = Person(content=content)
    async with memory_pool(Servers(fs=AskingServer()), [asking_row(era)], on_elicit=person) as pool:
        watch = Watch(pool)
        number = {"type": "integer", "minimum": 1}
        assert await asked(pool, form(n=number, required=["n"])) == [{"action": "cancel"}]
        (notice,) = watch.of("log", "fs")
        assert "does not fit the form" in str(notice.text)
        assert CANARY not in repr(watch.events) + caplog.text


async def test_half_a_character_in_an_answer_does_not_end_the_session() -> None:
    person = Person(content={"name": "\ud800"})
    async with memory_pool(Servers(fs=AskingServer()), on_elicit=person) as pool:
        assert await asked(pool, form(name=NAME)) == [{"action": "cancel"}]
        assert await pool.call("fs__ping") == "ping({})"


@ERAS
async def test_a_callback_that_raises_is_a_cancel_that_says_nothing_of_it(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def raising(server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
        raise ValueError(CANARY)

    caplog.set_level(logging.DEBUG)
    async with memory_pool(
        Servers(fs=AskingServer()), [asking_row(era)], on_elicit=raising
    ) as pool:
        watch = Watch(pool)
        assert await asked(pool, form(name=NAME)) == [{"action": "cancel"}]
        (notice,) = watch.of("log", "fs")
        assert "on_elicit raised ValueError in test_server_requests.py:" in str(notice.text)
        assert CANARY not in repr(watch.events) + caplog.text


@pytest.mark.parametrize("nonsense", [None, "yes", ElicitationAnswer(action="maybe")])  # type: ignore[arg-type]
async def test_a_callback_that_answers_nonsense_is_a_cancel(nonsense: Any) -> None:
    async def babbling(server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
        return nonsense  # type: ignore[no-any-return]

    async with memory_pool(Servers(fs=AskingServer()), on_elicit=babbling) as pool:
        assert await asked(pool, form(name=NAME)) == [{"action": "cancel"}]


@ERAS
async def test_an_answer_appears_in_no_event_and_no_log(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    person = Person(content={"name": CANARY})
    async with memory_pool(Servers(fs=AskingServer()), [asking_row(era)], on_elicit=person) as pool:
        watch = Watch(pool)
        (answer,) = await asked(pool, form(name=NAME))
        assert answer["content"] == {"name": CANARY}
        assert CANARY not in json.dumps([event_json(event) for event in watch.events])
        ours = [record for record in caplog.records if record.name.startswith("host")]
        assert all(CANARY not in record.getMessage() for record in ours)
        assert CANARY not in repr(ElicitationAnswer(action="accept", content={"name": CANARY}))


@ERAS
async def test_what_steers_a_terminal_is_taken_out_of_a_question(era: str) -> None:
    person = Person()
    title = {"type": "string", "title": "Na\x1b[31mme\nfake> ", "description": "\u202eabc"}
    async with memory_pool(Servers(fs=AskingServer()), [asking_row(era)], on_elicit=person) as pool:
        await asked(pool, form("Hi\x1b]0;owned\x07 there\u200b\r!", name=title))
        request = person.asked[0][1]
        assert isinstance(request, FormElicitation)
        assert request.message == "Hi there!"
        assert (request.fields[0].title, request.fields[0].description) == ("Name fake>", "abc")


@ERAS
async def test_a_page_is_put_to_the_person_with_its_host_set_apart(era: str) -> None:
    person = Person()
    settings: dict[str, Any] = {"on_elicit": person, "elicitation_modes": ("form", "url")}
    async with memory_pool(Servers(fs=AskingServer()), [asking_row(era)], **settings) as pool:
        watch = Watch(pool)
        address = "https://bank.example@evil.example/login?x=1"
        assert await asked(pool, page(address)) == [{"action": "accept"}]
        request = person.asked[0][1]
        assert isinstance(request, UrlElicitation)
        assert (request.url, request.host, request.is_needed) == (address, "evil.example", False)
        assert [event.mode for event in watch.of("elicitation")] == ["url"]


@pytest.mark.parametrize(
    "request_",
    [
        page("javascript:alert(1)"),
        page("file:///etc/passwd"),
        page("https://bank.example\\@evil.example/"),
        page("https://b\u0430nk.example/"),
        page("https://bank.example/ \x1b[2J"),
        form(nested={"type": "object", "properties": {}}),
        form(files={"type": "array", "items": {"type": "object"}}),
        form(either={"type": ["string", "integer"]}),
    ],
    ids=lambda request: str(request["params"].get("url", "form")),
)
async def test_what_cannot_be_asked_is_refused_before_anybody_sees_it(
    request_: dict[str, Any],
) -> None:
    person = Person()
    settings: dict[str, Any] = {"on_elicit": person, "elicitation_modes": ("form", "url")}
    rows = [asking_row("legacy")]
    async with memory_pool(Servers(fs=AskingServer()), rows, **settings) as pool:
        (answer,) = await asked(pool, request_)
        assert answer["code"] == -32602
        assert person.asked == []


async def test_a_mode_that_is_not_served_is_refused() -> None:
    person = Person()
    rows = [asking_row("legacy")]
    async with memory_pool(Servers(fs=AskingServer()), rows, on_elicit=person) as pool:
        (answer,) = await asked(pool, page("https://example.org/"))
        assert answer["code"] == -32602
        assert person.asked == []


class Slow:
    """A person who takes a while, and sees it when nobody wants to know any more."""

    def __init__(self, seconds: float) -> None:
        self.began = anyio.Event()
        self.was_cancelled = anyio.Event()
        self._seconds = seconds

    async def __call__(self, server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
        self.began.set()
        try:
            await anyio.sleep(self._seconds)
        except anyio.get_cancelled_exc_class():
            self.was_cancelled.set()
            raise
        return ElicitationAnswer(action="accept", content={"name": "Ada"})


@ERAS
@pytest.mark.parametrize(
    ("fields", "ends_well"),
    [
        ({}, False),
        ({"progress_extends_timeout": True}, True),
        ({"progress_extends_timeout": True, "max_call_timeout_ms": 20_000}, False),
    ],
)
async def test_a_person_may_take_their_time_where_the_row_says_that_progress_extends_it(
    era: str, fields: dict[str, Any], ends_well: bool
) -> None:
    person = Slow(50)
    rows = [asking_row(era, call_timeout_ms=2000, **fields)]
    async with memory_pool(Servers(fs=AskingServer()), rows, on_elicit=person) as pool:
        if ends_well:
            (answer,) = await asked(pool, form(name=NAME))
            assert answer["action"] == "accept"
        else:
            error = await refused(pool, "fs__echo", {"ask": {"k": form(name=NAME)}})
            assert error.code == "timeout"
            with anyio.fail_after(10):
                await person.was_cancelled.wait()


@ERAS
async def test_a_call_that_is_cancelled_takes_its_question_with_it(era: str) -> None:
    person = Slow(1000)
    async with memory_pool(Servers(fs=AskingServer()), [asking_row(era)], on_elicit=person) as pool:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked, pool, form(name=NAME))
            await person.began.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(10):
            await person.was_cancelled.wait()
        assert await pool.call("fs__ping") == "ping({})"


@ERAS
async def test_closing_the_pool_does_not_wait_for_a_person(era: str) -> None:
    person = Slow(100_000)
    async with anyio.create_task_group() as tasks:
        async with memory_pool(
            Servers(fs=AskingServer()), [asking_row(era)], on_elicit=person
        ) as pool:
            tasks.start_soon(refused, pool, "fs__echo", {"ask": {"k": form(name=NAME)}})
            await person.began.wait()
            began = anyio.current_time()
        assert anyio.current_time() - began < 10


@ERAS
async def test_calls_to_a_neighbour_go_on_while_a_person_thinks_and_when_a_callback_raises(
    era: str,
) -> None:
    neighbour = EchoServer()
    slow = Slow(20)

    async def clumsy(server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
        await slow(server_id, request)
        raise RuntimeError("fell over")

    servers = Servers(fs=AskingServer(), web=neighbour)
    rows = [asking_row(era), memory_row("web")]
    async with memory_pool(servers, rows, on_elicit=clumsy) as pool:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked, pool, form(name=NAME))
            await slow.began.wait()
            for _ in range(30):
                assert await pool.call("web__echo", {"sleepMs": 1000}) == 'echo({"sleepMs":1000})'
        assert await pool.call("web__ping") == "ping({})"
        assert (servers.dials("fs"), servers.dials("web")) == (1, 1)


async def test_a_server_that_asks_without_end_is_cancelled_and_stays_usable() -> None:
    person = Person("decline")
    rows = [asking_row("legacy")]
    async with memory_pool(Servers(fs=AskingServer()), rows, on_elicit=person) as pool:
        watch = Watch(pool)
        answers = await asked(pool, *[form(name=NAME)] * (MAX_ELICITATIONS + 200))
        assert [answer["action"] for answer in answers[-200:]] == ["cancel"] * 200
        assert len(person.asked) == MAX_ELICITATIONS
        assert len(watch.of("log")) <= 20
        assert await pool.call("fs__ping") == "ping({})"


async def test_only_a_few_questions_of_one_server_wait_at_once() -> None:
    person = Slow(10)
    async with memory_pool(Servers(fs=AskingServer()), on_elicit=person) as pool:
        answers = await asked(pool, *[form(name=NAME)] * 7)
        actions = sorted(answer["action"] for answer in answers)
        assert actions == ["accept"] * 4 + ["cancel"] * 3


PAGES = [{"mode": "url", "message": "Sign in", "url": "https://auth.test/x", "elicitationId": "1"}]


@ERAS
async def test_a_call_that_needs_a_page_is_made_once_more_when_the_person_has_been_there(
    era: str,
) -> None:
    person = Person()
    settings: dict[str, Any] = {"on_elicit": person, "elicitation_modes": ("url",)}
    async with memory_pool(Servers(fs=AskingServer()), [asking_row(era)], **settings) as pool:
        assert (await pool.call("fs__echo", {"pages": PAGES})).startswith("echo(")
        request = person.asked[0][1]
        assert isinstance(request, UrlElicitation)
        assert (request.host, request.is_needed) == ("auth.test", True)


@pytest.mark.parametrize(
    ("settings", "needed", "pages"),
    [
        ({"on_elicit": Person("decline"), "elicitation_modes": ("url",)}, 1, PAGES),
        ({"on_elicit": Person(), "elicitation_modes": ("form",)}, 1, PAGES),
        ({"elicitation_modes": ("url",)}, 1, PAGES),
        ({"on_elicit": Person(), "elicitation_modes": ("url",)}, 2, PAGES),
    ],
    ids=["declined", "no pages", "nobody", "needed again"],
)
async def test_a_call_whose_page_nobody_visits_says_so_in_plain_words(
    settings: dict[str, Any], needed: int, pages: Any
) -> None:
    fs = AskingServer()
    fs.pages_needed = needed
    async with memory_pool(Servers(fs=fs), **settings) as pool:
        error = await refused(pool, "fs__echo", {"pages": pages})
        assert (error.code, str(error)) == (
            "tool-error",
            'fs__echo: server "fs" wants a person to do something in a browser first, at auth.test',
        )


@pytest.mark.parametrize("pages", [None, [], [7], [{"url": "file:///x"}], [{"url": 5}]], ids=str)
async def test_a_page_that_is_none_is_not_put_to_anybody(pages: Any) -> None:
    person = Person()
    settings: dict[str, Any] = {"on_elicit": person, "elicitation_modes": ("url",)}
    async with memory_pool(Servers(fs=AskingServer()), **settings) as pool:
        error = await refused(pool, "fs__echo", {"pages": pages})
        assert str(error).endswith("wants a person to do something in a browser first")
        assert person.asked == []


async def _echoing(server_id: str, request: SamplingRequest) -> SamplingAnswer:
    text = f"{server_id}: {request.messages[-1].text} ({request.max_tokens})"
    return SamplingAnswer(text=text, model="m", prompt_tokens=7, completion_tokens=3)


def allowing(era: str, **fields: Any) -> Any:
    return asking_row(era, sampling={"allow": True, **fields})


@ERAS
async def test_the_model_is_asked_with_the_lesser_limit_and_its_tokens_are_told(era: str) -> None:
    fs = AskingServer()
    rows = [allowing(era, maxTokens=50)]
    async with memory_pool(Servers(fs=fs), rows, on_sample=_echoing) as pool:
        watch = Watch(pool)
        (answer,) = await asked(pool, sample("Hello?"))
        assert answer["content"]["text"] == "fs: Hello? (50)"
        assert (answer["model"], answer["role"], answer["stopReason"]) == (
            "m",
            "assistant",
            "endTurn",
        )
        (told,) = watch.of("sampling")
        assert (told.ok, told.prompt_tokens, told.completion_tokens) == (True, 7, 3)
        assert fs.capabilities[-1]["sampling"] == {}


@pytest.mark.parametrize("sampling", [None, {}, {"allow": False}])
async def test_the_model_is_not_asked_where_the_row_does_not_allow_it(sampling: Any) -> None:
    fs = AskingServer()
    rows = [asking_row("legacy", sampling=sampling)]
    async with memory_pool(Servers(fs=fs), rows, on_sample=_echoing) as pool:
        (answer,) = await asked(pool, sample())
        assert answer["code"] == -32600
        assert "sampling" not in fs.capabilities[-1]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (
            sample(
                messages=[
                    {
                        "role": "user",
                        "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                    }
                ]
            ),
            "type image",
        ),
        (sample(tools=[{"name": "t", "inputSchema": {"type": "object"}}]), "tools"),
        (sample(toolChoice={"mode": "auto"}), "tools"),
    ],
    ids=["image", "tools", "choice"],
)
async def test_pictures_and_tools_are_refused_in_plain_words(
    request_: dict[str, Any], words: str
) -> None:
    rows = [allowing("legacy")]
    async with memory_pool(Servers(fs=AskingServer()), rows, on_sample=_echoing) as pool:
        (answer,) = await asked(pool, request_)
        assert answer["code"] == -32602
        assert words in answer["message"]
        assert "only text" in answer["message"]


async def test_a_refusal_is_told_with_its_reason() -> None:
    async def refusing(server_id: str, request: SamplingRequest) -> SamplingRefusal:
        return SamplingRefusal(reason="the user said no")

    rows = [allowing("legacy")]
    async with memory_pool(Servers(fs=AskingServer()), rows, on_sample=refusing) as pool:
        watch = Watch(pool)
        assert await asked(pool, sample()) == [{"code": -1, "message": "the user said no"}]
        assert [event.error for event in watch.of("sampling")] == ["the user said no"]


async def test_a_sampling_callback_that_raises_is_a_refusal_that_says_nothing_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def raising(server_id: str, request: SamplingRequest) -> SamplingAnswer:
        raise RuntimeError(CANARY)

    rows = [allowing("legacy")]
    async with memory_pool(Servers(fs=AskingServer()), rows, on_sample=raising) as pool:
        watch = Watch(pool)
        (answer,) = await asked(pool, sample())
        assert answer["message"] == "the model could not be asked"
        assert CANARY not in repr(watch.events) + caplog.text


async def test_a_server_that_asks_the_model_in_a_loop_is_refused() -> None:
    rows = [allowing("legacy")]
    async with memory_pool(Servers(fs=AskingServer()), rows, on_sample=_echoing) as pool:
        answers = await asked(pool, *[sample()] * (MAX_SAMPLES + 5))
        assert [answer.get("code") for answer in answers] == [None] * MAX_SAMPLES + [-1] * 5


async def test_a_server_that_asks_the_model_in_answering_the_model_comes_to_an_end() -> None:
    depth = 0

    async def deeper(server_id: str, request: SamplingRequest) -> SamplingAnswer:
        nonlocal depth
        depth += 1
        text = await pool.call("fs__echo", {"ask": {"k": sample()}})
        return SamplingAnswer(text=text, model="m")

    rows = [allowing("legacy")]
    async with memory_pool(Servers(fs=AskingServer()), rows, on_sample=deeper) as pool:
        assert "asked too often" in str(await asked(pool, sample()))
        assert depth == 4


async def test_half_a_character_in_the_models_answer_does_not_end_the_session() -> None:
    async def halved(server_id: str, request: SamplingRequest) -> SamplingAnswer:
        return SamplingAnswer(text="a\ud800", model="m")

    rows = [allowing("legacy")]
    async with memory_pool(Servers(fs=AskingServer()), rows, on_sample=halved) as pool:
        (answer,) = await asked(pool, sample())
        assert answer["content"]["text"] == "a?"


@ERAS
async def test_a_server_reads_the_roots_of_its_row(era: str) -> None:
    rows = [asking_row(era, roots=["/tmp/a b", "file:///etc"])]
    async with memory_pool(Servers(fs=AskingServer()), rows) as pool:
        (answer,) = await asked(pool, {"method": "roots/list"})
        assert answer["roots"] == [{"uri": "file:///tmp/a%20b"}, {"uri": "file:///etc"}]
