"""``agent-host chat`` asks at a terminal: no and why, Ctrl-C, always; and never hangs."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

from host.loop.approval import declined_text
from tests.absence import linux_processes
from tests.fakes.command_line import calling, environment, plain_server, write_servers
from tests.fakes.endpoint import answer
from tests.fakes.http_endpoint import HttpEndpoint
from tests.journeys.host_process import WAIT_SECONDS


class Terminal:
    """A terminal with one process on it for stdin, stdout and stderr, as a person has it."""

    def __init__(self, folder: Path, *args: str, **env: str) -> None:
        linux_processes()
        self._end, other = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "host", *args],
            cwd=folder,
            env=environment(folder) | env,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        self._shown = b""
        self._seen = 0

    def wait_for(self, text: str) -> None:
        """Returns once the text is shown behind what was waited for before."""
        while (at := self._shown.find(text.encode(), self._seen)) < 0:
            ready, _, _ = select.select([self._end], [], [], WAIT_SECONDS)
            assert ready, f"{text!r} does not come: {self._shown.decode()}"
            self._shown += os.read(self._end, 65536)
        self._seen = at + len(text.encode())

    def type(self, text: str) -> None:
        """Types on it."""
        os.write(self._end, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Ctrl-D; waits for the process's exit status."""
        self.type("\x04")
        return self._process.wait(WAIT_SECONDS)

    def close(self) -> None:
        """Ends the process if it is still there."""
        self._process.kill()
        self._process.wait()
        os.close(self._end)


def test_a_conversation_asks_about_its_calls_and_survives_an_interrupt_while_asking(
    tmp_path: Path,
) -> None:
    write_servers(tmp_path, {"plain": plain_server()}, approve={"ask": ["plain__*"]})
    call = calling("plain__echo", text="hi")
    script = (call, answer("I may not."), call, call, call, answer("It said hi."))
    with HttpEndpoint(*script) as endpoint:
        env = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_MODEL": "fake-model"}
        terminal = Terminal(tmp_path, "chat", **env)
        try:
            terminal.wait_for("you> ")
            terminal.type("Say hi\n")
            terminal.wait_for("? plain__echo ")
            terminal.wait_for("a: always")
            terminal.type("n not so loud\n")
            terminal.wait_for("I may not.")
            terminal.wait_for("you> ")
            terminal.type("Say it\n")
            terminal.wait_for("a: always")
            terminal.interrupt()
            terminal.wait_for("stopped: Ctrl-C")
            terminal.wait_for("you> ")
            terminal.type("Say it twice\n")  # a line that no earlier question takes for itself
            terminal.wait_for("a: always")
            terminal.type("a\n")
            terminal.wait_for("It said hi.")
            terminal.wait_for("you> ")
            assert terminal.end() == 0
        finally:
            terminal.close()
    messages = endpoint.bodies[-1]["messages"]
    told = [m["content"] for m in messages if m["role"] == "tool"]
    assert (told[0], told[2:]) == (declined_text("not so loud"), ["hi", "hi"])
    questions = [m["content"] for m in messages if m["role"] == "user"]
    assert questions == ["Say hi", "Say it", "Say it twice"]
