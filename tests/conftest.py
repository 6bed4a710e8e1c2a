"""Async tests run on asyncio, and on trio among the slow tests; most under virtual time.

Properties are tried with the same examples each time, and more of them under the profile ``ci``;
under ``thorough`` with many fresh ones.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.absence import ABSENT, is_strict
from tests.fakes.clock import JUMP_THRESHOLD_SECONDS, jumping_loop

settings.register_profile(
    "host",
    deadline=None,
    max_examples=15,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("ci", settings.get_profile("host"), max_examples=25)
settings.register_profile(
    "thorough", settings.get_profile("host"), max_examples=1000, derandomize=False
)
settings.load_profile("host")


def _virtual(name: str) -> tuple[str, dict[str, Any]]:
    if name == "asyncio":
        return name, {"loop_factory": jumping_loop}
    from trio.testing import MockClock

    return name, {"clock": MockClock(autojump_threshold=JUMP_THRESHOLD_SECONDS)}


BACKENDS = ["asyncio", pytest.param("trio", marks=pytest.mark.slow)]


@pytest.fixture(params=BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Both backends, with clocks that jump as soon as everybody waits.

    A test that talks to real processes or sockets overrides this fixture with ``real_time``.
    """
    return _virtual(request.param)


@pytest.fixture(params=BACKENDS)
def real_time(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Both backends on the real clock: for child processes and sockets."""
    return request.param, {}


def pytest_configure() -> None:
    """A shell's background jobs start deaf to Ctrl-C; what is started here must hear it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are processors: many tests wait for other processes."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else 2


def pytest_collection_finish() -> None:
    """What was imported by now stays to the end: no collection of garbage looks at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def no_authorities(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Clients for loopback read no certificates of the system's, each of which takes 30 ms or more.

    Slow tests talk to registries and keep them.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not any(item.get_closest_marker("slow") for item in request.session.items):
            patch.delenv("SSL_CERT_FILE", raising=False)
            patch.setenv("SSL_CERT_DIR", os.fspath(tmp_path_factory.mktemp("no-authorities")))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, a skip that is not for something absent is a failure."""
    report = yield
    if report.skipped and is_strict() and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if ABSENT not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped in CI for a reason of its own: {reason}"
    return report
