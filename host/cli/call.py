"""``agent-host call NAME JSON``: one tool call, its result on stdout."""

from __future__ import annotations

import argparse
import json
from typing import Any

import anyio

from host.cli.eliciting import MODES, terminal_elicitor
from host.cli.keyboard import Keyboard
from host.cli.opening import open_pool, saved_listings, text_or_stdin, unknown_tool
from host.cli.screen import Screen, json_text
from host.config import HostConfig
from host.errors import ConfigError, PoolError
from host.text.json_text import parse_json_strict


def call(config: HostConfig, arguments: argparse.Namespace) -> int:
    """Calls the tool; 1 when it fails, 2 when the arguments are no JSON object."""
    args = read_object(text_or_stdin(arguments.arguments))
    return anyio.run(_call, config, arguments, args)


def read_object(text: str) -> dict[str, Any]:
    """The JSON object in a text.

    Raises:
        ConfigError: the text is no JSON object.
    """
    try:
        value = parse_json_strict(text)
    except ValueError as error:
        problem = f'not JSON ({error}); write an object, such as \'{{"zone": "Europe/Paris"}}\''
        raise ConfigError("JSON", [problem]) from error
    if not isinstance(value, dict):
        raise ConfigError("JSON", [f"must be an object in braces, not {json.dumps(value)[:40]}"])
    return value


async def _call(config: HostConfig, arguments: argparse.Namespace, args: dict[str, Any]) -> int:
    screen = Screen(quiet=True)
    on_elicit = terminal_elicitor(Keyboard(), Screen(), may_ask=not arguments.json)
    async with open_pool(
        config,
        lambda _: None,
        on_elicit=on_elicit,
        elicitation_modes=MODES,
        **saved_listings(arguments),
    ) as pool:
        try:
            if arguments.json:
                result = await pool.call_raw(
                    arguments.name, args, timeout_seconds=arguments.timeout
                )
                dumped = result.model_dump(mode="json", by_alias=True, exclude_none=True)
                screen.write(json_text(dumped))
                return 1 if result.is_error else 0
            screen.write(await pool.call(arguments.name, args, timeout_seconds=arguments.timeout))
        except PoolError as error:
            if pool.describe(arguments.name) is None and error.code == "unknown-tool":
                raise unknown_tool(pool, arguments.name) from error
            raise
        return 0
