"""Each server that does not come up says why, in one line that a person can act on."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.pool.rows import HttpServerRow, ServerRow, StdioServerRow
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from tests.fakes.mcp_servers.processes import plain_row
from tests.fakes.mcp_servers.watching import state_of

pytestmark = pytest.mark.slow

SECONDS = 1.5
NO_PROGRAM = "it is no program of this system; a script begins with a line such as #!/bin/sh"


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


def program(row_id: str, code: str, **fields: Any) -> StdioServerRow:
    """A row that runs a line of Python."""
    return StdioServerRow(
        id=row_id,
        command=sys.executable,
        args=("-I", "-S", "-c", code),
        connect_timeout_ms=int(1000 * SECONDS),
        **fields,
    )


async def reasons(*rows: ServerRow) -> dict[str, str]:
    """Why each server failed; a neighbour has calls in flight all the while."""
    near = plain_row("near", "--mark", "here")
    made = 0
    with anyio.fail_after(30):
        settings = PoolSettings(max_concurrent_dials=len(rows) + 1)
        async with ServerPool.open([near, *rows], settings=settings) as pool:

            async def keep_calling() -> None:
                nonlocal made
                while True:
                    assert await pool.call("near__mark") == "here"
                    made += 1

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(keep_calling)
                assert await pool.wait_ready()
                while made < 3:  # noqa: ASYNC110 - made in the task above
                    await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()
            return {row.id: state_of(pool, row.id).error for row in rows}


async def test_children_that_fail_each_in_their_own_way_say_how(tmp_path: Path) -> None:
    files = {"text": ("words", 0o644), "odd": ("words", 0o755), "lost": ("#!/no/such\n", 0o755)}
    for name, (content, mode) in files.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(mode)

    def unstarted(name: str) -> str:
        return f'the command "{tmp_path / name}" could not be started:'

    node = "console\n\\nError: no licence\\n    at x (y.js:1:2)\\n\\nNode.js v20.11.0\\n"
    late = f"did not answer within {SECONDS:g} s"
    expected: dict[str, tuple[StdioServerRow, str]] = {
        row.id: (row, words)
        for row, words in [
            (
                program("code", "import sys; sys.stderr.write('no key\\n'); sys.exit(3)"),
                "exited with code 3: no key",
            ),
            (
                program("stack", f"import sys; sys.stderr.write('''{node}'''); sys.exit(1)"),
                "exited with code 1: Error: no licence",
            ),
            (program("usage", "print('usage: x FILE')"), "exited with code 0: usage: x FILE"),
            (program("silent", ""), "exited with code 0"),
            (program("signal", "import os; os.kill(os.getpid(), 9)"), "was ended by SIGKILL"),
            (program("mute", "import time; time.sleep(60)"), late),
            (
                program("banner", "import time; print('on :80', flush=True); time.sleep(60)"),
                f"{late}: on :80",
            ),
            (
                program("stderr", "import os, time; os.write(2, b'running\\n'); time.sleep(60)"),
                f"{late}: running",
            ),
            (
                StdioServerRow(id="missing", command="no-such-command"),
                'the command "no-such-command" was not found; install it or give its full path',
            ),
            (
                StdioServerRow(id="folder", command=str(tmp_path)),
                f'the command "{tmp_path}" is a folder; name the program inside it',
            ),
            (
                StdioServerRow(id="text", command=str(tmp_path / "text")),
                f'the command "{tmp_path / "text"}" is not executable; try chmod +x',
            ),
            (
                StdioServerRow(id="odd", command=str(tmp_path / "odd")),
                f"{unstarted('odd')} {NO_PROGRAM}",
            ),
            (
                StdioServerRow(id="lost", command=str(tmp_path / "lost")),
                f"{unstarted('lost')} the interpreter that its first line names is not there",
            ),
            (
                program("cwd", "", cwd="/no/such"),
                'the working folder "/no/such" does not exist; create it or change "cwd"',
            ),
        ]
    }
    found = await reasons(*(row for row, _ in expected.values()))
    assert found == {row_id: words for row_id, (_, words) in expected.items()}


async def test_a_child_that_closes_its_output_and_stays_is_told_so() -> None:
    row = program("shut", "import os, time; os.close(1); time.sleep(60)", era="legacy")
    assert await reasons(row) == {"shut": "closed its output"}


async def test_the_second_of_two_attempts_tells_of_the_first() -> None:
    code = (
        "import os, sys, time\n"
        "line = sys.stdin.readline()\n"
        "if 'discover' in line: sys.stderr.write('what?\\n'); os._exit(1)\n"
        "time.sleep(60)"
    )
    found = await reasons(program("twice", code))
    late = f"did not answer within {SECONDS:g} s"
    assert found == {"twice": f"{late}; before that it exited with code 1: what?"}


# Over the network.


@contextmanager
def listening(talk: bytes | None, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """A port that answers whatever is sent with the same; None closes at once."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            try:
                if context is not None:
                    connection = context.wrap_socket(connection, server_side=True)
                connection.recv(1000)
                if talk is not None:
                    connection.sendall(talk)
            except OSError:
                pass
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A certificate of nobody's."""
    folder = tmp_path_factory.mktemp("certificate")
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-days", "2", "-nodes", "-newkey", "rsa:2048"]
    subprocess.run(
        ["openssl", "req", "-x509", *subject, "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
        timeout=60,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


async def test_servers_that_cannot_be_reached_say_what_stands_in_the_way(
    certified: ssl.SSLContext,
) -> None:
    with (
        listening(None) as deaf,
        listening(b"SSH-2.0-OpenSSH_9.6\r\n\r\n") as other,
        listening(None, certified) as self_signed,
        socket.socket() as unused,
    ):
        unused.bind(("127.0.0.1", 0))
        urls = {
            "name": "http://no-such-host.invalid/mcp",
            "refused": f"http://127.0.0.1:{unused.getsockname()[1]}/mcp",
            "deaf": f"http://127.0.0.1:{deaf}/mcp",
            "other": f"http://127.0.0.1:{other}/mcp",
            "untrusted": f"https://127.0.0.1:{self_signed}/mcp",
            "plain": f"https://127.0.0.1:{other}/mcp",
        }
        rows = [HttpServerRow(id=row_id, url=url) for row_id, url in urls.items()]
        found = await reasons(*rows)
    start = "could not be reached: "
    assert {row_id: words.removeprefix(start) for row_id, words in found.items()} == {
        "name": "its host name is unknown; check the row's url",
        "refused": "nothing listens at its address; check the row's url, and that the server runs",
        "deaf": "what listens there hung up without an answer",
        "other": "what listens there does not speak HTTP",
        "untrusted": "its certificate is not trusted (self-signed certificate); SSL_CERT_FILE can "
        "name the certificate of its authority",
        "plain": "what listens there does not speak TLS; its url may have to begin with http://",
    }
