"""The tool schemas of real public servers, kept beside this repository."""

from __future__ import annotations

import gzip
import json
from typing import Any

from tests.absence import shared


def livemcpbench_tools() -> dict[str, Any]:
    """The 527 tools of LiveMCPBench."""
    entries = json.loads(shared("data", "livemcpbench", "tools.json").read_text("utf-8"))
    return {
        f"livemcpbench/{server}/{tool['name']}": tool["inputSchema"]
        for entry in entries
        for server, listing in entry["tools"].items()
        for tool in listing["tools"]
    }


def fleet_tools() -> dict[str, Any]:
    """The tools of the fleet, as its servers listed them."""
    packed = shared("fleet", "listings.json.gz").read_bytes()
    servers = json.loads(gzip.decompress(packed))["servers"]
    return {
        f"fleet/{server}/{tool['name']}": tool["inputSchema"]
        for server, listing in servers.items()
        for tool in listing["tools"]
    }
