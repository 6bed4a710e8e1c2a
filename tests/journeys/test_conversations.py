"""``agent-host chat`` at a terminal: turns, Ctrl-C, Ctrl-D."""

from __future__ import annotations

from tests.fakes.command_line import calling, plain_server
from tests.fakes.endpoint import Mute, answer, role, streamed, text
from tests.fakes.http_endpoint import HttpEndpoint
from tests.journeys.conftest import StartHost
from tests.journeys.host_process import wait_until_gone


def test_a_conversation_has_turns_with_tools_and_history_and_survives_an_interrupt(
    start: StartHost,
) -> None:
    script = (
        calling("plain__echo", text="hi"),
        answer("It said hi."),
        streamed(role(), text("Half an ans"), Mute()),
        answer("Goodbye."),
    )
    with (
        HttpEndpoint(*script) as endpoint,
        start("chat", rows={"plain": plain_server()}, endpoint=endpoint, typed=None) as process,
    ):
        groups = process.wait_for_children(2)
        process.wait_for("you> ")
        process.type_line("Say hi")
        process.wait_for("It said hi.\n")
        process.wait_for("you> ", times=2)
        process.type_line("Say more")
        process.wait_for("Half an ans")
        process.interrupt()
        process.wait_for("you> ", times=3)
        process.interrupt()  # at the prompt: a new line, and nothing else
        process.wait_for("you> ", times=4)
        process.type_line("Say goodbye")
        process.wait_for("Goodbye.\n")
        process.wait_for("you> ", times=5)
        process.type_end()
        ended = process.end()
    assert ended.status == 0
    assert ended.out == "you> It said hi.\nyou> Half an ans\nyou> \nyou> Goodbye.\nyou> \n"
    assert '→ plain__echo {"text"' in ended.err
    assert ended.err.splitlines()[-1] == "· stopped: Ctrl-C"
    questions = [m["content"] for m in endpoint.bodies[-1]["messages"] if m["role"] == "user"]
    assert questions == ["Say hi", "Say more", "Say goodbye"]
    wait_until_gone(groups)


def test_an_interrupt_in_a_call_gives_the_prompt_back(start: StartHost) -> None:
    row = plain_server("--diary", "diary.txt")
    with (
        HttpEndpoint(calling("plain__sleep", seconds=60), answer("Fine.")) as endpoint,
        start("chat", rows={"plain": row}, endpoint=endpoint, typed=None) as process,
    ):
        process.wait_for("you> ")
        process.type_line("Sleep")
        process.wait_for_file("diary.txt")
        process.interrupt()
        process.wait_for("you> ", times=2)
        process.type_line("How are you?")
        process.wait_for("Fine.\n")
        process.type_end()
        ended = process.end()
    assert ended.status == 0
    told = [m for m in endpoint.bodies[-1]["messages"] if m["role"] == "tool"]
    assert len(told) == 1, "the call that was cut off has its answer in the transcript"
