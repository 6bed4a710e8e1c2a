"""The room's own names."""

from __future__ import annotations

import re
import subprocess
import sys
from textwrap import dedent

import pytest

import host.wire
from tests.fakes.endpoint import answer
from tests.fakes.http_endpoint import HttpEndpoint

HEAVY = ("openai", "httpx2", "anyio", "pydantic", "mcp")


def _loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_every_promised_name_is_there_and_in_order() -> None:
    names = host.wire.__all__
    assert all(getattr(host.wire, name) is not None for name in names)
    assert set(names) <= set(dir(host.wire))
    constants = [name for name in names if name.isupper()]
    classes = [name for name in names if name[0].isupper() and not name.isupper()]
    assert names == [*constants, *classes, *sorted(name for name in names if name.islower())]
    assert (constants, classes) == (sorted(constants), sorted(classes))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'continue_everything'"):
        _ = host.wire.continue_everything


def test_the_room_alone_loads_nothing_heavy() -> None:
    assert _loaded_by("import host.wire") == set()


def test_the_example_at_the_top_runs(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"(?m)^    .+(?:\n\n?    .+)*", host.wire.__doc__ or "")
    assert found
    with HttpEndpoint(answer("Hello!", completion=7)) as endpoint:
        code = dedent(found[0]).replace("http://localhost:8080/v1", endpoint.base_url)
        exec(code, {})
    assert capsys.readouterr().out == "Hello!\nHello! 7\n"
    assert endpoint.bodies[0]["messages"] == [{"role": "user", "content": "Say hello."}]


def test_settings_and_judgements_load_nothing_heavy() -> None:
    names = "EndpointSettings, RetryPolicy, build_body, is_transient, parse_json, sanitize_tools"
    assert _loaded_by(f"from host.wire import {names}") == set()


def test_all_of_the_room_loads_no_mcp() -> None:
    assert "mcp" not in _loaded_by("from host.wire import *")
