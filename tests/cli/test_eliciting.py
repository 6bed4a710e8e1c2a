"""Servers' questions on the terminal: asked in plain words, answered, declined, cancelled."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.from_thread import start_blocking_portal

from host.cli.eliciting import (
    NEVER_SECRETS,
    Questions,
    Unattended,
    open_browser,
    person_at_terminal,
    terminal_elicitor,
)
from host.cli.keyboard import Keyboard
from host.cli.screen import Screen
from host.loop.approval import NOBODY_ASKED_TEXT
from host.loop.collaborators import Decision
from host.pool.elicitation import CANCEL, DECLINE, ElicitationAnswer, form_request, url_request
from host.records import ToolCallRequest
from tests.cli.conftest import CommandLine
from tests.cli.test_approving import Stream, Typist
from tests.fakes.command_line import calling
from tests.fakes.endpoint import answer
from tests.fakes.http_endpoint import HttpEndpoint
from tests.fakes.mcp_servers.asking import PROGRAM_ARGS

ASKING: dict[str, Any] = {"command": sys.executable, "args": list(PROGRAM_ARGS)}
SCHEMA = {
    "properties": {
        "name": {"type": "string", "title": "Name"},
        "age": {"type": "integer", "minimum": 18, "default": 30},
        "plan": {"type": "string", "enum": ["free", "paid"]},
    },
    "required": ["name"],
}
FORM = form_request("Who are you?\nfake> y", SCHEMA)
PAGE = url_request("Sign in.", "https://bank.example@evil.example/login")
NEEDED = url_request("Sign in.", "https://auth.test/", is_needed=True)


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


def nothing() -> None:
    """What there is to do before a question."""


class Browser:
    """Remembers what it was to open."""

    def __init__(self, *, works: bool = True) -> None:
        self.opened: list[str] = []
        self._works = works

    def __call__(self, url: str) -> bool:
        self.opened.append(url)
        return self._works


def questions(
    *lines: str, browser: Callable[[str], bool] | None = None, keyboard: Keyboard | None = None
) -> Questions:
    return Questions(keyboard or Keyboard(), Screen(), Typist(*lines), nothing, browser)


@pytest.mark.parametrize(
    ("lines", "content"),
    [
        (["Ada", "", "", "y"], {"name": "Ada", "age": 30}),
        (["Ada", "44", "paid", "y"], {"name": "Ada", "age": 44, "plan": "paid"}),
        (["", "Ada", "7", "x", "18", "2", "y"], {"name": "Ada", "age": 18, "plan": "paid"}),
        (
            ["A", "", "", "e", "Ada", "", "1", "?", "yes"],
            {"name": "Ada", "age": 30, "plan": "free"},
        ),
    ],
)
async def test_a_form_is_filled_in_field_by_field_and_sent_when_the_person_says_so(
    lines: list[str], content: dict[str, Any]
) -> None:
    assert await questions(*lines)("fs", FORM) == ElicitationAnswer(
        action="accept", content=content
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Ada", "", "", "n"], DECLINE),
        (["/no"], DECLINE),
        (["Ada", " /no "], DECLINE),
        ([], CANCEL),
        (["Ada"], CANCEL),
        (["Ada", "", ""], CANCEL),
    ],
)
async def test_no_declines_and_the_end_of_input_cancels(
    lines: list[str], expected: ElicitationAnswer
) -> None:
    assert await questions(*lines)("fs", FORM) == expected


async def test_the_question_names_the_server_warns_of_secrets_and_sets_its_words_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    padded = form_request("x" + " " * 200 + "? server bank asks you:", {})
    await questions("Ada", "", "", "y")("weather", FORM)
    await questions("y")("weather", padded)
    shown = capsys.readouterr().err.splitlines()
    assert shown[:4] == [
        "? server weather asks you:",
        "  | Who are you?",
        "  | fake> y",
        f"  {NEVER_SECRETS}",
    ]
    assert [line for line in shown if line.startswith("? server")] == [
        "? server weather asks you:"
    ] * 2


async def test_a_question_without_fields_is_a_yes_or_no() -> None:
    confirm = form_request("Delete it all?", {})
    assert await questions("y")("fs", confirm) == ElicitationAnswer(action="accept", content={})
    assert await questions("n")("fs", confirm) == DECLINE


@pytest.mark.parametrize(
    ("lines", "expected", "opened"),
    [
        (["y"], "accept", True),
        (["o"], "accept", False),
        (["n"], "decline", False),
        (["", "open", "y"], "accept", True),
        ([], "cancel", False),
    ],
)
async def test_a_page_is_opened_only_when_the_person_says_so(
    lines: list[str], expected: str, opened: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = Browser()
    given = await questions(*lines, browser=browser)("fs", PAGE)
    assert given.action == expected
    assert browser.opened == ([PAGE.url] if opened else [])
    shown = capsys.readouterr().err
    assert "whose page  evil.example\n" in shown
    assert "address     https://bank.example@evil.example/login\n" in shown


async def test_a_browser_that_does_not_open_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    given = await questions("y", browser=Browser(works=False))("fs", PAGE)
    assert given.action == "accept"
    assert "open the address yourself" in capsys.readouterr().err


async def test_without_a_browser_the_person_opens_the_page() -> None:
    assert (await questions("y", "o")("fs", PAGE)).action == "accept"


@pytest.mark.parametrize(
    ("lines", "expected"), [(["o", "y"], "accept"), (["o", "n"], "decline"), (["o"], "cancel")]
)
async def test_a_page_that_a_call_needs_is_accepted_when_it_is_done(
    lines: list[str], expected: str
) -> None:
    assert (await questions(*lines)("fs", NEEDED)).action == expected


async def test_questions_side_by_side_are_asked_one_after_the_other() -> None:
    typist = Typist(*["Ada", "", "", "y"] * 3)
    asking = Questions(Keyboard(), Screen(), typist, nothing, None)
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(asking, "fs", FORM)
    assert typist.most_waiting == 1


async def test_without_a_person_everything_is_declined_and_each_server_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unattended = Unattended(Screen(quiet=True))
    for server in ("fs", "fs", "web"):
        assert await unattended(server, FORM) == DECLINE
    told = capsys.readouterr().err.splitlines()
    assert told == [
        f'✗ {server} asks "Who are you? fake> y": declined, since nobody can be asked here; '
        "run it in a terminal to answer"
        for server in ("fs", "web")
    ]


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("may_ask", [True, False])
def test_a_person_is_asked_where_they_can_read_and_type(
    typed: bool, may_ask: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stream(sys.stdin, is_terminal=typed))
    monkeypatch.setattr(sys, "stderr", Stream(sys.stderr, is_terminal=True))
    elicitor = terminal_elicitor(Keyboard(), Screen(), may_ask=may_ask)
    assert isinstance(elicitor, Questions if typed and may_ask else Unattended)


@pytest.mark.parametrize(
    ("variables", "has_one"), [({}, False), ({"DISPLAY": ":0"}, True), ({"DISPLAY": ""}, False)]
)
def test_a_browser_needs_a_window_of_its_own(
    variables: dict[str, str], has_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (open_browser() is not None) is has_one


# The keyboard


async def never() -> str | None:
    await anyio.sleep_forever()
    return None


async def when_asked(keyboard: Keyboard, *, interrupts: bool, act: Callable[[], object]) -> Any:
    """What a question comes to when this is done while it waits."""
    asked = anyio.Event()
    outcome: list[Any] = ["nothing yet"]

    async def question() -> str | None:
        asked.set()
        return await never()

    async def ask() -> None:
        outcome[0] = await keyboard.ask(question, interrupts=interrupts)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await asked.wait()
        await anyio.lowlevel.checkpoint()
        act()
    return outcome[0]


async def test_ctrl_c_takes_back_the_question_and_nothing_else() -> None:
    before = signal.getsignal(signal.SIGINT)
    keyboard = Keyboard()
    with anyio.fail_after(20):
        for _ in range(2):
            interrupt = lambda: os.kill(os.getpid(), signal.SIGINT)  # noqa: E731
            assert await when_asked(keyboard, interrupts=True, act=interrupt) is None
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_at_a_form_cancels_it_and_the_program_goes_on() -> None:
    async def interrupted() -> str | None:
        os.kill(os.getpid(), signal.SIGINT)
        return await never()

    async def main() -> ElicitationAnswer:
        with anyio.fail_after(20):
            return await Questions(Keyboard(), Screen(), interrupted, nothing, None)("fs", FORM)

    assert anyio.run(main) == CANCEL


def test_in_another_thread_ctrl_c_is_passed_on_by_whoever_hears_it() -> None:
    keyboard = Keyboard()
    with start_blocking_portal() as portal:
        taken: list[bool] = []
        act = lambda: taken.append(keyboard.interrupt())  # noqa: E731
        assert portal.call(lambda: when_asked(keyboard, interrupts=True, act=act)) is None
        assert taken == [True]
        assert keyboard.interrupt() is False


async def test_a_question_that_ctrl_c_is_not_for_stays() -> None:
    keyboard = Keyboard()
    with anyio.move_on_after(0.1) as scope:
        await when_asked(keyboard, interrupts=False, act=keyboard.interrupt)
    assert scope.cancelled_caught


@pytest.mark.parametrize("interrupts", [True, False])
async def test_a_keyboard_taken_back_ends_its_question_and_is_lent_to_no_other(
    interrupts: bool,
) -> None:
    keyboard = Keyboard()
    async with anyio.create_task_group() as tasks:
        act = lambda: tasks.start_soon(keyboard.close)  # noqa: E731
        with anyio.fail_after(20):
            assert await when_asked(keyboard, interrupts=interrupts, act=act) is None
    assert await questions("Ada", "", "", "y", keyboard=keyboard)("fs", FORM) == CANCEL
    keyboard.is_free = True
    assert (await questions("Ada", "", "", "y", keyboard=keyboard)("fs", FORM)).action == "accept"


async def test_an_approver_takes_its_turn_at_the_keyboard() -> None:
    async def asked(call: ToolCallRequest) -> Decision:
        return "allow"

    keyboard = Keyboard()
    lent = keyboard.lent(asked, interrupts=True)
    call = ToolCallRequest(id="1", name="sampling/fs", args={}, raw="")
    assert await lent(call) == "allow"
    keyboard.is_free = False
    assert await lent(call) == ("deny", NOBODY_ASKED_TEXT)


# Commands where nobody can be asked


def form_arguments(message: str = "Who?") -> dict[str, Any]:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


@pytest.mark.parametrize("flags", [[], ["--modern"]])
@pytest.mark.parametrize("how", [[], ["--json"]])
def test_a_call_without_a_terminal_is_declined_with_one_line(
    flags: list[str], how: list[str], agent_host: CommandLine
) -> None:
    agent_host.servers({"shop": {**ASKING, "args": [*ASKING["args"], *flags]}})
    ended = agent_host("call", "shop__ask", json.dumps(form_arguments()), *how)
    assert ended.status == 0
    assert "decline" in ended.out
    assert ended.err == (
        '✗ shop asks "Who?": declined, since nobody can be asked here; '
        "run it in a terminal to answer\n"
    )


def test_a_page_that_nobody_can_open_fails_the_call_in_plain_words(agent_host: CommandLine) -> None:
    agent_host.servers({"shop": ASKING})
    ended = agent_host("call", "shop__page", "{}")
    assert ended.status == 1
    assert ended.err.splitlines()[-1] == (
        'agent-host: shop__page: server "shop" wants a person to do something in a browser first, '
        "at auth.test"
    )


def test_what_servers_ask_and_report_during_a_run_is_told_in_events(
    agent_host: CommandLine,
) -> None:
    agent_host.servers({"shop": ASKING})
    script = (
        calling("shop__ask", **form_arguments()),
        calling("shop__report"),
        answer("Done."),
    )
    with HttpEndpoint(*script) as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("ask", "Buy it", "--json")
    assert ended.status == 0
    events = [event for event in ended.json_lines if event["event"] == "pool"]
    asked = [event for event in events if event["kind"] == "elicitation"]
    assert [(event["mode"], event["action"]) for event in asked] == [("form", "decline")]
    reports = [event for event in events if event["kind"] == "progress"]
    assert reports[0]["toolName"] == "shop__report"
    assert (reports[0]["total"], reports[0]["text"]) == (4.0, "at it")
    lines = [event for event in events if event["kind"] == "log" and event["source"] == "server"]
    assert [(line["logger"], line["text"]) for line in lines] == [("disk", "nearly full")]


def test_a_server_that_wants_the_model_needs_a_yes_that_nobody_here_can_give(
    agent_host: CommandLine,
) -> None:
    agent_host.servers({"shop": {**ASKING, "sampling": {"allow": True}}})
    params = {
        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
        "maxTokens": 5,
    }
    script = (
        calling("shop__ask", method="sampling/createMessage", params=params),
        answer("Done."),
    )
    with HttpEndpoint(*script) as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("ask", "Buy it")
    assert ended.status == 0
    assert 'put "sampling/shop" into agent.approve.allow' in ended.err
    assert len(endpoint.bodies) == 2


def test_a_server_on_the_list_asks_the_model(agent_host: CommandLine) -> None:
    agent_host.servers(
        {"shop": {**ASKING, "sampling": {"allow": True, "maxTokens": 7}}},
        approve={"allow": ["sampling/*"]},
        maxTokens=5000,
    )
    params = {
        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
        "systemPrompt": "Be brief.",
        "maxTokens": 100,
        "temperature": 0.5,
        "stopSequences": ["\n"],
    }
    script = (
        calling("shop__ask", method="sampling/createMessage", params=params),
        answer("A hat."),
        answer("Done."),
    )
    with HttpEndpoint(*script) as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("ask", "Buy it")
    assert ended.status == 0
    body = endpoint.bodies[1]
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
    ]
    assert (body["max_tokens"], body["temperature"], body["stop"]) == (7, 0.5, ["\n"])
    assert "tools" not in body
    told = json.loads(endpoint.bodies[2]["messages"][-1]["content"])
    assert (told["content"]["text"], told["stopReason"]) == ("A hat.", "endTurn")
    assert "· shop asked the model: " in ended.err


def test_rules_of_the_moment_stand_behind_a_person_even_where_there_are_none() -> None:
    person = person_at_terminal(None, Screen())
    assert person.for_servers()["ask_person"] is person.ask_for_server
