"""A person at the terminal decides about calls; where there is none, the answer is no."""

from __future__ import annotations

import os
import pty
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.from_thread import start_blocking_portal

from host.cli.approving import (
    MAX_SHOWN_CHARS,
    Nobody,
    Person,
    drop_typed_ahead,
    line_from_thread,
    refusal_line,
    terminal_approver,
    typed_line,
)
from host.cli.chat import on_interrupt
from host.cli.screen import Screen
from host.config.approval_settings import ApprovalSettings
from host.loop import AgentLoopOptions, RunControl, run_agent_loop
from host.loop.approval import NOBODY_ASKED_TEXT, ApprovalPolicy, declined_text
from host.loop.collaborators import Decision
from host.records import Run, ToolCallRequest
from tests.absence import linux_processes
from tests.cli.conftest import CommandLine
from tests.fakes.command_line import calling as calling_tool
from tests.fakes.command_line import plain_server
from tests.fakes.endpoint import answer
from tests.fakes.http_endpoint import HttpEndpoint
from tests.fakes.loop_peers import MemoryToolbox, ScriptedModel, call, calling, saying
from tests.loop.runs import QUESTION, replays

WAIT_SECONDS = 20
QUESTION_LINE = '? fs__wipe {"path":"/tmp"}'


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


def wipe(name: str = "fs__wipe", **args: Any) -> ToolCallRequest:
    return ToolCallRequest(id="c", name=name, args=args or {"path": "/tmp"})


def nothing() -> None:
    """What there is to do before a question."""


class Typist:
    """Types these lines, one for each that is waited for; then the input ends."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.waiting = self.most_waiting = 0

    async def __call__(self) -> str | None:
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        await anyio.lowlevel.checkpoint()
        self.waiting -= 1
        return self._lines.pop(0) if self._lines else None


# What is asked, and what an answer means


@pytest.mark.parametrize(
    ("lines", "decision"),
    [
        (["y"], "allow"),
        ([" Yes "], "allow"),
        (["a"], "allow"),
        (["n"], ("deny", declined_text())),
        (["no"], ("deny", declined_text())),
        (["n not  before\x1b[31m noon"], ("deny", declined_text("not before noon"))),
        (["", "what?", "never", "yess", "y"], "allow"),
        (["maybe", "n"], ("deny", declined_text())),
        ([], ("deny", NOBODY_ASKED_TEXT)),
        (["hm"], ("deny", NOBODY_ASKED_TEXT)),
    ],
)
async def test_the_person_is_asked_until_the_answer_is_clear(
    lines: list[str], decision: Decision, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await Person(Screen(), Typist(*lines), nothing)(wipe()) == decision
    out, err = capsys.readouterr()
    assert out == ""
    asked, *choices = err.splitlines()
    assert asked == QUESTION_LINE
    assert choices
    assert set(choices) == {choices[0]}
    assert len(choices) == max(1, len(lines) + (decision == ("deny", NOBODY_ASKED_TEXT)))


async def test_always_holds_for_the_tool_and_for_no_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = Person(Screen(), Typist("a", "n"), nothing)
    decisions = [await person(wipe()), await person(wipe(path="/")), await person(wipe("fs__rm"))]
    assert decisions == ["allow", "allow", ("deny", declined_text())]
    assert capsys.readouterr().err.count("? ") == 2


async def test_calls_side_by_side_are_asked_about_one_after_the_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    typist = Typist("a", "a")
    person = Person(Screen(), typist, nothing)
    decisions: list[Decision] = []

    async def decide(request: ToolCallRequest) -> None:
        decisions.append(await person(request))

    async with anyio.create_task_group() as group:
        for name in ("fs__wipe", "fs__rm", "fs__wipe"):
            group.start_soon(decide, wipe(name))
    assert typist.most_waiting == 1
    assert decisions == ["allow"] * 3
    assert capsys.readouterr().err.count("? ") == 2


async def test_a_question_given_up_lets_the_next_one_be_asked() -> None:
    lines = iter([anyio.sleep_forever])

    async def read() -> str | None:
        for wait in lines:
            await wait()
        return "y"

    person = Person(Screen(), read, nothing)
    with anyio.move_on_after(0.01) as given_up:
        await person(wipe())
    assert given_up.cancelled_caught
    assert await person(wipe()) == "allow"


async def test_what_is_shown_steers_no_terminal_and_says_where_it_was_cut(
    capsys: pytest.CaptureFixture[str],
) -> None:
    request = wipe("fs__\x1b[2Jwipe", path="a\n\x1b]0;t\x07b" + "x" * 2 * MAX_SHOWN_CHARS + "end")
    await Person(Screen(), Typist("s", "y"), nothing)(request)
    short, choices, whole, _ = capsys.readouterr().err.splitlines()
    assert short.startswith('? fs__wipe {"path":"a')
    assert short.endswith("…")
    assert len(short) < MAX_SHOWN_CHARS + 20
    assert "show all" in choices
    assert whole.endswith('end"}')
    assert short.isprintable()
    assert whole.isprintable()


# Nobody


async def test_without_a_person_calls_are_refused_and_each_tool_is_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nobody = Nobody(ApprovalPolicy(), Screen(quiet=True))
    for request in (wipe(), wipe(path="/"), wipe("fs__rm")):
        assert await nobody(request) == ("deny", NOBODY_ASKED_TEXT)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(":")[0] for line in err.splitlines()] == ["✗ fs__wipe", "✗ fs__rm"]


def test_the_advice_names_what_would_go_on_asking() -> None:
    added = 'put "fs__wipe" into agent.approve.allow'
    by_hint = refusal_line(ApprovalPolicy(ask=("db__*",)), "fs__wipe")
    by_list = refusal_line(ApprovalPolicy(ask=("fs__*", "db__*", "*wipe")), "fs__wipe")
    assert by_hint.endswith(f"always, {added}")
    assert by_list.endswith(f'take "fs__*" and "*wipe" out of agent.approve.ask and {added}')


class Stream:
    def __init__(self, stream: Any, *, is_terminal: bool) -> None:
        self._stream = stream
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize("may_ask", [True, False])
def test_a_person_is_asked_where_they_can_read_and_type(
    typed: bool, read: bool, may_ask: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stream(sys.stdin, is_terminal=typed))
    monkeypatch.setattr(sys, "stderr", Stream(sys.stderr, is_terminal=read))
    approver = terminal_approver(ApprovalSettings(), Screen(), may_ask=may_ask)
    assert isinstance(approver, Person if typed and read and may_ask else Nobody)
    assert terminal_approver(None, Screen(), may_ask=may_ask) is None


@pytest.mark.parametrize("how", [[], ["--quiet"], ["--json"]])
def test_a_question_without_a_terminal_goes_on_without_the_call_and_says_how_to_allow_it(
    how: list[str], agent_host: CommandLine
) -> None:
    agent_host.servers({"plain": plain_server()}, approve={"ask": ["plain__*"]})
    script = (calling_tool("plain__echo", text="hi"), answer("I could not."))
    with HttpEndpoint(*script) as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("ask", "Say hi", *how)
    assert ended.status == 0
    assert "I could not." in ended.out
    told = [line for line in ended.err.splitlines() if "agent.approve" in line]
    assert told == [refusal_line(ApprovalPolicy(ask=("plain__*",)), "plain__echo")]
    assert endpoint.bodies[1]["messages"][-1]["content"] == NOBODY_ASKED_TEXT


# A real terminal


class Keyboard:
    """The typing end of a terminal that is this process's stdin."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        linux_processes()
        self._end, self._other = pty.openpty()
        self._stdin = os.fdopen(self._other, encoding="utf-8")
        patch.setattr(sys, "stdin", self._stdin)

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def hang_up(self) -> None:
        os.close(self._end)
        self._end = -1

    def close(self) -> None:
        self._stdin.close()
        if self._end >= 0:
            os.close(self._end)


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keyboard]:
    keyboard = Keyboard(monkeypatch)
    yield keyboard
    keyboard.close()


async def line_while(act: Callable[[], None]) -> str | None:
    """The line that is read when this is done once somebody waits for it."""

    async def later() -> None:
        await anyio.wait_all_tasks_blocked()
        act()

    line = None
    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(later)
            line = await typed_line()
    return line


@pytest.mark.parametrize(
    ("typed", "line"),
    [("y\n", "y"), ("n früher nicht\n", "n früher nicht"), ("\n", ""), ("y\nn\n", "y")],
)
async def test_a_line_is_what_is_typed_up_to_its_end(
    typed: str, line: str, keyboard: Keyboard
) -> None:
    assert await line_while(lambda: keyboard.type(typed)) == line


async def test_what_was_typed_before_the_question_is_no_answer_to_it(
    keyboard: Keyboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    class QuickScreen(Screen):
        """Its person answers before anybody waits for them."""

        def notice(self, text: str, *, style: str = "dim") -> None:
            if "y: yes" in text:
                keyboard.type("n\n")

    monkeypatch.setattr(sys, "stderr", sys.stdin)  # a terminal, too
    person = terminal_approver(ApprovalSettings(), QuickScreen())
    assert person is not None
    keyboard.type("y\n")
    with anyio.fail_after(WAIT_SECONDS):
        assert await person(wipe()) == ("deny", declined_text())


def test_a_terminal_that_has_gone_has_nothing_to_forget(keyboard: Keyboard) -> None:
    keyboard.hang_up()
    drop_typed_ahead()


@pytest.mark.parametrize("ending", [lambda k: k.type("\x04"), lambda k: k.hang_up()])
async def test_the_end_of_input_is_no_line(
    ending: Callable[[Keyboard], None], keyboard: Keyboard
) -> None:
    assert await line_while(lambda: ending(keyboard)) is None


async def test_half_a_line_is_no_answer(keyboard: Keyboard) -> None:
    assert await line_while(lambda: keyboard.type("y\x04\x04")) is None


async def test_a_question_given_up_leaves_the_next_line_to_others(keyboard: Keyboard) -> None:
    with anyio.move_on_after(0.01) as given_up:
        await typed_line()
    assert given_up.cancelled_caught
    keyboard.type("next\n")
    assert sys.stdin.readline() == "next\n"


# Ctrl-C while asking


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


async def interrupted_line() -> str | None:
    """A line that is waited for when Ctrl-C is pressed."""
    return await line_while(interrupt)


def test_an_interrupted_question_stops_the_turn_and_the_next_line_is_the_chats(
    keyboard: Keyboard,
) -> None:
    toolbox, control = MemoryToolbox("fs__wipe"), RunControl()
    model = ScriptedModel(calling(call("fs__wipe")), saying("Done."))
    person = Person(Screen(), interrupted_line, nothing)  # made outside the loop, as chat does
    options = AgentLoopOptions(
        model, toolbox, [QUESTION], discovery="eager", approve=person, control=control
    )
    with start_blocking_portal() as portal:
        with on_interrupt(lambda: portal.start_task_soon(control.stop, "Ctrl-C")):
            run = ended(portal.start_task_soon(run_agent_loop, options))
        keyboard.type("next\n")
        assert sys.stdin.readline() == "next\n"
    assert run.stop_reason == "stopped"
    assert toolbox.calls == []
    assert replays(run.messages)


def ended(turn: Future[Run]) -> Run:
    """As chat waits: looking up now and then, so that signals are heard."""
    for _ in range(WAIT_SECONDS * 10):
        try:
            return turn.result(timeout=0.1)
        except NotYet:
            continue
    raise AssertionError("the turn goes on")


def test_an_interrupted_question_ends_a_command(keyboard: Keyboard) -> None:
    person = Person(Screen(), interrupted_line, nothing)
    with pytest.raises(KeyboardInterrupt):
        anyio.run(person, wipe())


# Where the loop cannot wait for a terminal


@pytest.mark.parametrize(("typed", "line"), [("y\r\n", "y"), ("\n", ""), ("", None), ("y", "y")])
async def test_a_line_can_come_from_a_thread(typed: str, line: str | None) -> None:
    assert await line_from_thread(lambda: typed) == line


async def test_a_thread_that_cannot_read_gives_no_line() -> None:
    def closed() -> str:
        raise ValueError("I/O operation on closed file")

    assert await line_from_thread(closed) is None


def test_a_thread_given_up_keeps_nobody_waiting() -> None:
    end, other = os.pipe()
    with os.fdopen(end) as reading:

        async def give_up() -> bool:
            with anyio.move_on_after(0.01) as scope:
                await line_from_thread(reading.readline)
            return scope.cancelled_caught

        assert anyio.run(give_up)
        os.close(other)  # the thread reads the end, and finds the loop gone
