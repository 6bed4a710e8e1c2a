"""A server asks a person at a terminal: answered, cancelled by Ctrl-C, and the chat goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_eliciting import ASKING, form_arguments
from tests.fakes.command_line import calling, write_servers
from tests.fakes.endpoint import answer
from tests.fakes.http_endpoint import HttpEndpoint
from tests.journeys.test_approvals import Terminal

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("flags", [[], ["--modern"]], ids=["sessions", "2026-07-28"])
def test_a_chat_answers_a_form_cancels_one_and_keeps_its_keyboard(
    flags: list[str], tmp_path: Path
) -> None:
    write_servers(tmp_path, {"shop": {**ASKING, "args": [*ASKING["args"], *flags]}})
    asking = calling("shop__ask", **form_arguments("What name?"))
    script = (asking, answer("It is for Ada."), asking, answer("No name."), answer("Bye."))
    with HttpEndpoint(*script) as endpoint:
        env = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_MODEL": "fake-model"}
        terminal = Terminal(tmp_path, "chat", **env)
        try:
            terminal.wait_for("you> ")
            terminal.type("Buy it\n")
            terminal.wait_for("server shop asks you:")
            terminal.wait_for("| What name?")
            terminal.wait_for("1/1 name")
            terminal.type("Ada\n")
            terminal.wait_for("name: Ada")
            terminal.wait_for("y: send this")
            terminal.type("y\n")
            terminal.wait_for("It is for Ada.")
            terminal.wait_for("you> ")
            terminal.type("Again\n")
            terminal.wait_for("1/1 name")
            terminal.interrupt()
            terminal.wait_for("the question of shop was cancelled")
            terminal.wait_for("No name.")
            terminal.wait_for("you> ")
            terminal.type("Well\n")  # a line that no earlier question takes for itself
            terminal.wait_for("Bye.")
            terminal.wait_for("you> ")
            assert terminal.end() == 0
        finally:
            terminal.close()
    messages = endpoint.bodies[-1]["messages"]
    told = [json.loads(m["content"]) for m in messages if m["role"] == "tool"]
    assert [answered["action"] for answered in told] == ["accept", "cancel"]
    assert told[0]["content"] == {"name": "Ada"}
    assert [m["content"] for m in messages if m["role"] == "user"] == ["Buy it", "Again", "Well"]


def test_a_call_opens_no_page_by_itself_and_is_made_once_more_when_it_is_done(
    tmp_path: Path,
) -> None:
    write_servers(tmp_path, {"shop": ASKING})
    terminal = Terminal(tmp_path, "call", "shop__page", DISPLAY="", WAYLAND_DISPLAY="")
    try:
        terminal.wait_for("wants you to open a page")
        terminal.wait_for("whose page  auth.test")
        terminal.wait_for("address     https://auth.test/x?1")
        terminal.wait_for("o: I open it myself")
        terminal.type("o\n")
        terminal.wait_for("y: it is done there")
        terminal.type("y\n")
        terminal.wait_for("page\r\n")
    finally:
        terminal.close()


def test_ctrl_c_at_a_form_of_a_call_cancels_the_form_and_the_call_goes_on(tmp_path: Path) -> None:
    write_servers(tmp_path, {"shop": ASKING})
    terminal = Terminal(tmp_path, "call", "shop__ask", json.dumps(form_arguments()))
    try:
        terminal.wait_for("1/1 name")
        terminal.interrupt()
        terminal.wait_for("was cancelled")
        terminal.wait_for('{"action": "cancel"}')
    finally:
        terminal.close()
