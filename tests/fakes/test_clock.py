"""The virtual clocks jump over waits and leave threads their time, on both backends."""

import time

import anyio
import anyio.to_thread


async def test_a_long_sleep_takes_no_real_time() -> None:
    real, virtual = time.monotonic(), anyio.current_time()
    await anyio.sleep(1000)
    assert anyio.current_time() - virtual >= 999.9
    assert time.monotonic() - real < 5


async def test_a_thread_is_waited_for_before_the_clock_jumps() -> None:
    with anyio.fail_after(100):
        assert await anyio.to_thread.run_sync(sum, range(200_000)) == 19_999_900_000
