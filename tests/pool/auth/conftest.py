"""An authorization server on a loopback port, under the real clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.auth_server import AuthServer, auth_server


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


@pytest.fixture
def web() -> Iterator[AuthServer]:
    with auth_server() as server:
        yield server
