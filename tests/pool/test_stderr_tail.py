"""The end of what a child said, readable, however much it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.pool.stderr_tail import MAX_TAIL_CHARS, StderrTail


@given(
    st.lists(st.sampled_from([b"word ", b"\n", b"\x1b[31m", b"\xff", "é".encode(), b"x" * 5000]))
)
def test_the_tail_is_bounded_clean_and_the_end_of_it_all(chunks: list[bytes]) -> None:
    tail = StderrTail()
    for chunk in chunks:
        tail.add(chunk)
    text = tail.text()
    assert len(text) <= MAX_TAIL_CHARS
    assert "\x1b" not in text
    everything = b"".join(chunks).replace(b"\x1b[31m", b"").decode("utf-8", "replace").strip()
    assert everything.endswith(text)
    assert bool(text) == bool(everything)


def test_the_useful_last_line_of_a_long_traceback_is_kept() -> None:
    tail = StderrTail()
    for number in range(3000):
        tail.add(f"  File {number}\n".encode())
    tail.add(b"ImportError: no module named x\n")
    assert tail.text().endswith("ImportError: no module named x")
