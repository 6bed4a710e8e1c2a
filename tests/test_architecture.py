"""The house stands as it was drawn: floors, rooms side by side, pure modules, no circles."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture import (
    FLOORS,
    ROOT,
    cycles,
    floor_problems,
    has_property_test,
    imports_of,
    package_sources,
    purity_problems,
    room_of,
    size_problems,
)

SOURCES = package_sources()


def _modules(rooms: dict[str, str]) -> set[str]:
    return {f"{room}.{name}".lstrip(".") for room, names in rooms.items() for name in names.split()}


SHELLS: set[str] = _modules(
    {
        "host": "__main__ toolbox",
        "host.tracing": "tracer",
        "host.assembly": (
            "active_run background configured_model engine_program host live_config local_engine "
            "opening run_tracer sampling settling subscribers"
        ),
        "host.cli": (
            "approving ask call chat chat_commands check configuration demo eliciting import_ "
            "keyboard login main opening screen servers tools"
        ),
        "host.config": (
            "endpoint_resolution import_files local_endpoints model_file servers_file watching"
        ),
        "host.demo": "atomic_file loopback note_store record replay servers",
        "host.demo.servers": "__main__ bundled clock notes units",
        "host.event_bus": "bus",
        "host.loop": (
            "agent_calls agent_loop agent_run asking bounded_loop callbacks compaction folding "
            "guiding hooks loop_observers own_task routing run_control run_hooks tool_batch "
            "tool_loop wall_clock"
        ),
        "host.pool": (
            "bounded calling child_process command_lookup commons connection contents direct_use "
            "entry exchange_note failure_words fleet group_guard guard hook_runner "
            "http_containment http_transport line_writer listing_cache listing_files "
            "log_redaction offering pool_contents pool_events pool_reading probing roster "
            "row_import sdk_loading server_pool server_requests session_client session_life "
            "settings stdio syncing tasks tool_finder tool_walk whole_file wire_mending "
            "xdg_folders"
        ),
        "host.pool.auth": (
            "authorities dpop person pool_logins redirect_listener renewal sdk_flow server_auth "
            "stores token_client token_source wallet"
        ),
        "host.text": "identity_memo",
        "host.wire": (
            "answer_bytes client_pool clients continuation endpoint exchange failure isolation "
            "listings model negotiation scrubbing settings side_tasks streaming"
        ),
    }
)
"""Modules with effects. Everything else in the package is pure and property-tested."""

RECORDS_ONLY: set[str] = _modules(
    {
        "": "host",
        "host": (
            "assembly catalogue cli config demo errors event_bus loop pool records text tracing "
            "wire"
        ),
        "host.catalogue": "guided_prompts",
        "host.cli": "parser",
        "host.config": "agent_settings host_config",
        "host.loop": "collaborators run_tracing",
        "host.pool": "auth sampling server_state transports wiring",
        "host.pool.auth": "not_authorised records",
        "host.records": "contents hooks messages runs tools turns",
    }
)
"""Pure modules that compute nothing of their own: definitions, tables, re-exports, protocols."""


def pure_modules() -> list[str]:
    return sorted(set(SOURCES) - SHELLS - RECORDS_ONLY)


def test_imports_go_down_and_never_sideways() -> None:
    assert [p for module, source in SOURCES.items() for p in floor_problems(module, source)] == []


def test_no_circle_of_imports() -> None:
    assert cycles(SOURCES) == []


def test_every_room_of_the_plan_is_there_and_no_other() -> None:
    rooms = {room_of(module) for module in SOURCES} - {None}
    assert rooms <= set(FLOORS)


def test_a_module_that_is_no_shell_has_no_effects() -> None:
    silent = sorted(set(SOURCES) - SHELLS)
    assert [p for module in silent for p in purity_problems(module, SOURCES[module])] == []


def test_a_pure_module_has_a_property_test() -> None:
    paths = {module: ROOT / "tests" / _test_path(module) for module in pure_modules()}
    assert [module for module, path in paths.items() if not path.exists()] == []
    assert [m for m, path in paths.items() if not has_property_test(path.read_text("utf-8"))] == []


def _test_path(module: str) -> str:
    *rooms, name = module.split(".")[1:]
    return "/".join([*rooms, f"test_{name}.py"])


def test_modules_and_functions_stay_short() -> None:
    assert [p for module, source in SOURCES.items() for p in size_problems(module, source)] == []


def test_half_of_the_modules_are_under_150_lines() -> None:
    lengths = sorted(len(source.splitlines()) for source in SOURCES.values())
    assert lengths[len(lengths) // 2] < 150


@pytest.mark.parametrize(
    ("room", "forbidden"),
    [
        ("host", {"anyio", "pydantic", "mcp", "openai", "rich"}),
        ("host.pool", {"openai", "rich"}),
        ("host.wire", {"mcp", "mcp_types", "rich"}),
        ("host.loop", {"mcp", "mcp_types", "openai", "pydantic", "rich"}),
        ("host.catalogue", {"mcp", "openai", "pydantic", "anyio", "rich"}),
        ("host.text", {"mcp", "openai", "pydantic", "anyio", "rich"}),
    ],
)
def test_a_room_with_all_its_modules_loads_nothing_of_its_neighbours(
    room: str, forbidden: set[str]
) -> None:
    modules = [m for m in SOURCES if m == room or (room != "host" and m.startswith(f"{room}."))]
    modules = [m for m in modules if m not in PROGRAMS]
    code = f"import {', '.join(modules)}\nimport sys\nprint(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=60,
    )
    assert not forbidden & set(answer.stdout.split())


PROGRAMS = {"host.assembly.engine_program", "host.pool.group_guard"}
"""Modules that are run and not imported."""

# The rules themselves, each against one bad source.

BAD_SOURCES = {
    "upward": ("host.text.x", "import host.pool.rows"),
    "upward from": ("host.text.x", "from host.loop import agent_loop"),
    "sibling room": ("host.pool.x", "from host.wire.settings import EndpointSettings"),
    "under TYPE_CHECKING": (
        "host.loop.x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from host.pool import ServerPool",
    ),
    "inside a function": ("host.wire.x", "def f():\n    from host.pool import naming"),
    "by importlib": ("host.wire.x", "import importlib\nimportlib.import_module('host.pool')"),
    "by __import__": ("host.wire.x", "__import__('host.loop')"),
    "package imports a room": ("host", "from host.records import Run"),
    "unknown room": ("host.cellar.x", "import re"),
}


@pytest.mark.parametrize("rule", BAD_SOURCES)
def test_the_floor_rule_sees_a_bad_import(rule: str) -> None:
    assert floor_problems(*BAD_SOURCES[rule])


def test_the_floor_rule_lets_good_imports_pass() -> None:
    source = "from host.text import tokens\nfrom host.pool.rows import ServerRow\nimport anyio"
    assert floor_problems("host.pool.x", source) == []


def test_the_one_exemption_is_for_types_only() -> None:
    guarded = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from host.records.runs import Run"
    )
    assert floor_problems("host.errors", guarded) == []
    assert floor_problems("host.errors", "from host.records.runs import Run")
    assert floor_problems("host.errors", guarded.replace("runs import Run", "tools import X"))


@pytest.mark.parametrize(
    "source",
    [
        "import anyio",
        "import urllib.request",
        "def f():\n    import time",
        "from os import environ",
        "open('x')",
        "print('x')",
        "from datetime import datetime\ndatetime.now()",
    ],
)
def test_the_purity_rule_sees_an_effect(source: str) -> None:
    assert purity_problems("host.text.x", source)


def test_the_purity_rule_lets_types_pass() -> None:
    source = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import anyio\nimport json, re"
    )
    assert purity_problems("host.text.x", source) == []


def test_the_circle_rule_sees_a_circle_through_a_room() -> None:
    sources = {
        "host.pool": "from host.pool.a import A",
        "host.pool.a": "from host.pool.b import B",
        "host.pool.b": "from host.pool import A",
        "host.pool.c": "from host.pool.a import A",
    }
    assert cycles(sources) == [["host.pool", "host.pool.a", "host.pool.b"]]


def test_the_size_rule_sees_a_long_module_and_a_long_function() -> None:
    long_function = "def f():\n" + "    x = 1\n" * 41
    assert len(size_problems("host.x", long_function)) == 1
    assert len(size_problems("host.x", "x = 1\n" * 401)) == 1
    documented = 'def f():\n    """' + "words\n" * 50 + '    """\n' + "    x = 1\n" * 30
    assert size_problems("host.x", documented) == []


def test_the_property_rule_sees_given_and_state_machines() -> None:
    assert has_property_test("@given(st.text())\ndef test_x(t): ...")
    assert has_property_test("class M(RuleBasedStateMachine): ...")
    assert not has_property_test("def test_given_nothing(): ...")


def test_imports_are_found_with_their_lines() -> None:
    found = imports_of("import re\nfrom host import errors")
    assert [(i.target, i.line) for i in found] == [("re", 1), ("host", 2), ("host.errors", 2)]
