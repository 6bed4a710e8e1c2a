"""Commands of a chat: prompts listed, completed, refused with the nearest, and said."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from anyio.from_thread import start_blocking_portal

from host.cli.chat_commands import ChatCommands
from host.cli.screen import Screen
from host.cli.slash_lines import CommandRefused
from host.errors import PoolError
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from tests.cli.conftest import CommandLine
from tests.fakes.endpoint import answer
from tests.fakes.http_endpoint import HttpEndpoint
from tests.fakes.mcp_servers import answering
from tests.fakes.mcp_servers.in_memory import AnsweringFleet, AnsweringServer

T = TypeVar("T")

PROMPTS = {
    "prompts": [
        {
            "name": "review",
            "description": "Reviews a file.\nWith care.",
            "arguments": [
                {"name": "file", "required": True, "description": "which\x1b[31m one"},
                {"name": "tone"},
            ],
        },
        {"name": "greet"},
    ]
}


def filled(*said: tuple[str, str]) -> dict[str, Any]:
    return {
        "messages": [
            {"role": role, "content": {"type": "text", "text": text}} for role, text in said
        ]
    }


def table(**methods: Any) -> dict[str, Any]:
    return {
        **answering.greeting({"prompts": {}}),
        "tools/list": {"tools": []},
        "prompts/list": PROMPTS,
        "prompts/get": filled(("user", "Review it.")),
        **{name.replace("_", "/"): held for name, held in methods.items()},
    }


class Typist:
    """Somebody who types the next of these lines each time, and what they were asked."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.asked: list[str] = []

    def __call__(self, words: str) -> str:
        self.asked.append(words)
        return self.lines.pop(0)


@contextmanager
def commands(
    *servers: AnsweringServer, read: Callable[[str], str] | None = None
) -> Iterator[ChatCommands]:
    """The commands of a chat whose servers are ``one``, ``two``, … ."""
    fleet = AnsweringFleet(**dict(zip(("one", "two", "three"), servers, strict=False)))
    settings = PoolSettings(create_transport=fleet.create_transport)
    with start_blocking_portal() as portal:

        def wait(act: Callable[[], Awaitable[T]], /) -> T:
            return portal.start_task_soon(act).result(timeout=20)

        opened = portal.wrap_async_context_manager(ServerPool.open(fleet.rows(), settings=settings))
        with opened as pool:
            wait(pool.wait_ready)
            yield ChatCommands(pool, Screen(), wait, read)


def test_prompts_are_listed_with_their_arguments_and_who_could_not_be_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ill = table(prompts_list={"error": {"code": -32603, "message": "no\nbackend"}})
    with commands(AnsweringServer(table()), AnsweringServer(ill)) as chat:
        assert chat.run("/prompts") == []
        out, err = capsys.readouterr()
        assert out == ("/one:review file=… [tone=…]\n    Reviews a file. With care.\n/one:greet\n")
        assert err == 'server "two" answered with an error: no backend (-32603)\n'
        assert chat.run("/prompts ONE") == []
        with pytest.raises(CommandRefused) as refused:
            chat.run("/prompts nobody")
    assert str(refused.value) == "nobody offers no prompts; these do: one, two"


def test_a_fleet_without_prompts_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    bare = {**answering.greeting({}), "tools/list": {"tools": []}}
    with commands(AnsweringServer(bare)) as chat:
        chat.run("/prompts")
        assert capsys.readouterr().err == "no server offers a prompt\n"
        with pytest.raises(CommandRefused, match="nor does any other"):
            chat.run("/prompts one")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with commands() as chat:
        chat.run("/help")
        out = capsys.readouterr().out
        assert "/prompts" in out
        assert "/SERVER:PROMPT" in out
        for line, told in [
            ("/hlep", "did you mean /help?"),
            ("/weather", "/help lists what there is"),
        ]:
            with pytest.raises(CommandRefused, match=told.replace("?", r"\?")):
                chat.run(line)


def test_a_prompt_becomes_messages_that_are_shown_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = filled(("user", "Look."), ("assistant", "I\x1b[2J did."), ("user", "And?"))
    server = AnsweringServer(table(prompts_get=said))
    with commands(server) as chat:
        messages = chat.run('/one:review file="a b.py" tone=kind')
    assert [(one["role"], one["content"]) for one in messages] == [
        ("user", "Look."),
        ("assistant", "I\x1b[2J did."),
        ("user", "And?"),
    ]
    (params,) = [params for method, params in server.asked if method == "prompts/get"]
    assert params["arguments"] == {"file": "a b.py", "tone": "kind"}
    assert capsys.readouterr().err == "user: Look.\nassistant: I did.\nuser: And?\n"


def test_what_is_needed_is_asked_for_in_cleaned_words_until_it_is_there() -> None:
    typist = Typist("", " a.py ")
    server = AnsweringServer(table())
    with commands(server, read=typist) as chat:
        assert chat.run("/one:review tone=kind")
    assert typist.asked == ["file (which one): "] * 2
    (params,) = [params for method, params in server.asked if method == "prompts/get"]
    assert params["arguments"] == {"file": "a.py", "tone": "kind"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/one:review", "/one:review file=… is the least it needs"),
        ("/one:reveiw", "there is no prompt /one:reveiw; did you mean /one:review?"),
        ("/two:greet", "there is no prompt /two:greet; did you mean /one:greet?"),
        ("/x:zzzzzz", "there is no prompt /x:zzzzzz; /prompts lists what there is"),
        ("/one:greet who=me", "/one:greet takes no arguments, not who"),
        ("/one:empty", "/one:empty came back empty"),
    ],
)
def test_what_cannot_be_said_is_refused_with_a_way_out(line: str, told: str) -> None:
    listed = {"prompts": [*PROMPTS["prompts"], {"name": "empty"}]}
    server = table(prompts_list=listed, prompts_get=filled(("user", " ")))
    with commands(AnsweringServer(server)) as chat, pytest.raises(CommandRefused) as refused:
        chat.run(line)
    assert str(refused.value) == told


def test_a_server_that_fails_says_so_and_not_that_there_is_no_prompt() -> None:
    ill = table(prompts_list={"error": {"code": -32603, "message": "no backend"}})
    with (
        commands(AnsweringServer(ill)) as chat,
        pytest.raises(CommandRefused, match="no backend"),
    ):
        chat.run("/one:review")
    failing = table(prompts_get={"error": {"code": -32603, "message": "no file"}})
    with commands(AnsweringServer(failing)) as chat, pytest.raises(PoolError, match="no file"):
        chat.run("/one:greet")


# The same in a whole chat, with a child process for a server.


def child(folder: Path, **methods: Any) -> dict[str, Any]:
    """A servers file's row for a server with this table."""
    (folder / "table.json").write_text(json.dumps(table(**methods)), "utf-8")
    args = ["-I", "-S", answering.__file__, str(folder / "table.json")]
    return {"command": sys.executable, "args": args}


def test_a_prompt_is_a_turn_of_the_chat_with_its_roles(agent_host: CommandLine) -> None:
    said = filled(("user", "Look."), ("assistant", "I did."), ("user", "And?"))
    agent_host.servers({"docs": child(agent_host.folder, prompts_get=said)})
    with HttpEndpoint(answer("Fine."), answer("Bye.")) as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("chat", typed="/docs:greet\n/etc/hosts is what?\n/docs:gret\n")
    assert ended.status == 0
    assert ended.out == "Fine.\nBye.\n\n"
    assert "there is no prompt /docs:gret; did you mean /docs:greet?" in ended.err
    first, second = (body["messages"][1:] for body in endpoint.bodies)
    assert [(one["role"], one["content"]) for one in first] == [
        ("user", "Look."),
        ("assistant", "I did."),
        ("user", "And?"),
    ]
    assert [one["content"] for one in second[3:]] == ["Fine.", "/etc/hosts is what?"]


def test_a_prompt_that_ends_with_the_models_word_waits_for_the_next_line(
    agent_host: CommandLine,
) -> None:
    said = filled(("user", "Ask me."), ("assistant", "What is it?"))
    agent_host.servers({"docs": child(agent_host.folder, prompts_get=said)})
    with HttpEndpoint(answer("Blue.")) as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("chat", typed="/docs:greet\nThe sky?\n/help\n/docs:review\n")
    assert "what you say next follows on this" in ended.err
    assert "is the least it needs" in ended.err
    assert "/prompts [SERVER]" in ended.out
    (body,) = endpoint.bodies
    assert [one["content"] for one in body["messages"][1:]] == [
        "Ask me.",
        "What is it?",
        "The sky?",
    ]


def test_an_interrupt_gives_a_command_up_and_not_the_chat(agent_host: CommandLine) -> None:
    agent_host.servers({"docs": child(agent_host.folder, prompts_list="interrupt")})
    with HttpEndpoint(answer("Here.")) as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("chat", typed="/prompts\nStill there?\n")
    assert ended.status == 0
    assert ended.out == "\nHere.\n\n"
