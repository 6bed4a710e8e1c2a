"""The SDK is imported by the first dial, and not on the loop's own time."""

from __future__ import annotations

import json
import subprocess
import sys

from host.pool.sdk_loading import has_sdk, load_sdk
from tests.architecture import ROOT

CODE = """
import json, sys, threading
import anyio
from host.pool.server_pool import ServerPool
from host.pool.sdk_loading import has_sdk
from tests.fakes.mcp_servers.processes import plain_row

threads = set()
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "mcp":
            threads.add(threading.current_thread() is threading.main_thread())

async def main():
    sys.meta_path.insert(0, Finder())
    async with ServerPool.open() as pool:
        before = has_sdk(), "mcp" in sys.modules
        with anyio.fail_after(60):
            await pool.sync([plain_row("a"), plain_row("b")])
            said = await pool.call("b__echo", {"text": "hi"})
            report = await pool.probe(plain_row("c"))
    print(json.dumps([before, said, report.ok, sorted(threads), has_sdk()]))

anyio.run(main)
"""


def test_a_process_that_dials_for_the_first_time_imports_it_beside_its_loop() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert done.stderr == ""
    assert json.loads(done.stdout) == [[False, False], "hi", True, [False], True]


async def test_what_is_imported_is_there_at_once() -> None:
    import host.pool.connection  # noqa: F401

    assert has_sdk()
    await load_sdk()
