from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.pool.rate_limit import RateLimit


@given(
    st.integers(1, 5),
    st.floats(0.1, 10),
    st.lists(st.floats(0, 5) | st.just(0.0), max_size=60),
)
def test_no_stretch_of_time_lets_more_pass_than_it_may(
    times: int, seconds: float, waits: list[float]
) -> None:
    limit, now = RateLimit(times, seconds), 0.0
    moments, passed = [], []
    for wait in waits:
        now += wait
        moments.append(now)
        if limit.admits(now):
            passed.append(now)

    # The model: stretches laid end to end, each from the first thing after the last one's end.
    expected: list[float] = []
    end, count = float("-inf"), 0
    for moment in moments:
        if moment >= end:
            end, count = moment + seconds, 0
        count += 1
        if count <= times:
            expected.append(moment)
    assert passed == expected
    assert limit.take_left_out() == len(moments) - len(passed)
    assert limit.take_left_out() == 0
