"""No command shows a secret of a servers file, whatever its servers tell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import CommandLine
from tests.fakes.command_line import calling
from tests.fakes.endpoint import answer
from tests.fakes.http_endpoint import HttpEndpoint
from tests.fakes.mcp_servers import telling
from tests.fakes.mcp_servers.http_server import serving
from tests.fakes.surfaces import EveryRecord, every_record, shown_in
from tests.test_secrets import (
    IN_CHILDREN,
    IN_WEB,
    USER,
    Place,
    TellingWeb,
    by_name,
    child_row,
    web_row,
)

pytestmark = pytest.mark.slow

__all__ = ["every_record"]


@pytest.fixture
def web() -> Iterator[TellingWeb]:
    with serving(TellingWeb()) as server:
        yield server


def body(place: Place, web: TellingWeb) -> dict[str, Any]:
    """The row as a servers file has it."""
    telling.TOLD.clear()
    row = web_row(place, web) if place in IN_WEB else child_row(place)
    own = {"id", "transport", "enabled", "era", "progress_extends_timeout"}
    written: dict[str, Any] = row.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude=own
    )
    return written


PLACES = [place for place in (*IN_CHILDREN, *IN_WEB) if place.is_sure]


@pytest.mark.parametrize("place", PLACES, ids=by_name)
def test_no_command_shows_a_secret(
    place: Place, agent_host: CommandLine, web: TellingWeb, every_record: EveryRecord
) -> None:
    agent_host.servers({"s": body(place, web), "dead": body(place, web) | {"era": "legacy"}})
    web.fails["initialize"] = (500, "text")
    script = (calling("load_tools", names=["s__say"]), calling("s__say"), answer("Done."))
    with HttpEndpoint(*script) as endpoint:
        agent_host.ask_from(endpoint)
        for command in (
            *(("servers",), ("servers", "--json"), ("check",), ("check", "--json")),
            *(("tools", "list"), ("tools", "list", "--json"), ("tools", "search", "given")),
            *(("tools", "show", "s__say"), ("tools", "show", "s__say", "--json")),
            *(("call", "s__say", "{}"), ("call", "s__fail", "{}"), ("call", "s__none", "{}")),
            ("ask", "--json", "Say all"),
        ):
            ended = agent_host(*command)
            assert shown_in(ended.out + ended.err, place.secret, USER) == [], command
            assert ended.out + ended.err
    assert endpoint.requests == len(script)
    assert shown_in(json.dumps(endpoint.bodies), place.secret, USER) == []
    assert shown_in("\n".join(every_record.lines), place.secret, USER) == []


SECRET = "c4nary-0pen-sesame"


@pytest.mark.parametrize(
    "row",
    [
        {"command": "x", "env": {"KEY": [SECRET]}},
        {"command": "x", "env": SECRET},
        {"command": "x", "args": f"--token {SECRET}"},
        {"command": "x", "args": [{"token": SECRET}]},
        {"url": f"ftp://me:{SECRET}@h/mcp"},
        {"url": f"http://me:{SECRET}@h:port/mcp"},
        {"url": "http://h/mcp", "headers": [f"Authorization: {SECRET}"]},
        {"url": "http://h/mcp", "headers": {"Authorization": {"Bearer": SECRET}}},
        {"url": "http://h/mcp", "auth": {"clientSecret": [SECRET]}},
        {"url": "http://h/mcp", "auth": {"grant": "none", "clientSecret": SECRET}},
        {"command": "x", "hooks": [{"id": "h", "on": "never", "tool": "t", "args": SECRET}]},
        {"command": "x", "hooks": {"token": SECRET}},
    ],
    ids=json.dumps,
)
def test_what_is_wrong_with_a_row_is_said_without_its_secret(
    row: dict[str, Any], agent_host: CommandLine
) -> None:
    agent_host.servers({"s": row})
    for command in ("servers", "check"):
        ended = agent_host(command)
        assert ended.status == 2
        assert "s" in ended.err
        assert SECRET not in ended.out + ended.err


def test_a_file_that_is_no_json_is_not_quoted(agent_host: CommandLine) -> None:
    (agent_host.folder / "servers.json").write_text(f'{{"mcpServers": {{"s": {SECRET}}}}}')
    ended = agent_host("servers")
    assert ended.status == 2
    assert SECRET not in ended.out + ended.err
