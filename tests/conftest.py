"""Every async test runs on asyncio and on trio, under virtual time unless it says otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.fakes.clock import JUMP_THRESHOLD_SECONDS, jumping_loop

settings.register_profile(
    "host", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("host")


def _virtual(name: str) -> tuple[str, dict[str, Any]]:
    if name == "asyncio":
        return name, {"loop_factory": jumping_loop}
    from trio.testing import MockClock

    return name, {"clock": MockClock(autojump_threshold=JUMP_THRESHOLD_SECONDS)}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Both backends, with clocks that jump as soon as everybody waits.

    A test that talks to real processes or sockets overrides this fixture with ``real_time``.
    """
    return _virtual(request.param)


@pytest.fixture(params=["asyncio", "trio"])
def real_time(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Both backends on the real clock: for child processes and sockets."""
    return request.param, {}
