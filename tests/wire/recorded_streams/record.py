"""Records the raw bytes of real streams: ``python -m tests.wire.recorded_streams.record --help``.

Bodies come from ``requests.json``; what the server answers is written as it came, without the
transfer coding, as ``NAME.sse``.
"""

from __future__ import annotations

import argparse
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TIMEOUT_SECONDS = 600.0


def request_bodies() -> dict[str, dict[str, Any]]:
    """The body of each recording's request, by name."""
    bodies: dict[str, dict[str, Any]] = json.loads((HERE / "requests.json").read_text("utf-8"))
    return bodies


def record(base_url: str, body: dict[str, Any]) -> bytes:
    """Sends one chat request and returns the bytes of its answer, whatever the status.

    Args:
        base_url: with the version, such as ``http://127.0.0.1:8080/v1``.
    """
    request = urllib.request.Request(
        f"{base_url.rstrip('/')}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            received: bytes = answer.read()
    except urllib.error.HTTPError as refusal:
        received = refusal.read()
    return received


def main() -> None:
    """Records the named streams, or every one."""
    bodies = request_bodies()
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("base_url")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(bodies))
    options = parser.parse_args()
    for name in options.names or bodies:
        (HERE / f"{name}.sse").write_bytes(record(options.base_url, bodies[name]))


if __name__ == "__main__":
    main()
