"""Telling a server only of the kinds of question that are really put to a person.

The SDK says of every client that asks people at all that it knows forms and pages (sdk.md §1), and
has no switch. So what it sends is corrected on its way out.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mcp_types import CLIENT_CAPABILITIES_META_KEY


def correct_capabilities(params: dict[str, Any], modes: Collection[str]) -> None:
    """Take the other kinds out of what a request says of us: of a handshake, or in ``_meta``."""
    told = (params.get("_meta") or {}).get(CLIENT_CAPABILITIES_META_KEY)
    for capabilities in (told, params.get("capabilities")):
        if isinstance(capabilities, dict) and isinstance(capabilities.get("elicitation"), dict):
            known = capabilities["elicitation"]
            for mode in [mode for mode in known if mode not in modes]:
                del known[mode]
