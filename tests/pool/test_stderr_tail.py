"""The end of what a child said, readable, however much it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.pool.stderr_tail import MAX_SECRET_CHARS, MAX_TAIL_CHARS, StderrTail
from host.text.redaction import Redactor


@given(
    st.lists(st.sampled_from([b"word ", b"\n", b"\x1b[31m", b"\xff", "é".encode(), b"x" * 5000]))
)
def test_the_tail_is_bounded_clean_and_the_end_of_it_all(chunks: list[bytes]) -> None:
    tail = StderrTail(Redactor())
    for chunk in chunks:
        tail.add(chunk)
    text = tail.text()
    assert len(text) <= MAX_TAIL_CHARS
    assert "\x1b" not in text
    everything = b"".join(chunks).replace(b"\x1b[31m", b"").decode("utf-8", "replace").strip()
    assert everything.endswith(text)
    assert bool(text) == bool(everything)


def test_the_useful_last_line_of_a_long_traceback_is_kept() -> None:
    tail = StderrTail(Redactor())
    for number in range(3000):
        tail.add(f"  File {number}\n".encode())
    tail.add(b"ImportError: no module named x\n")
    assert tail.text().endswith("ImportError: no module named x")


SECRET = "canary-0123456789-abcdefghij"


@given(
    st.integers(0, 3),
    st.integers(-len(SECRET), len(SECRET)),
    st.sampled_from([MAX_TAIL_CHARS, MAX_TAIL_CHARS + MAX_SECRET_CHARS]),
    st.sampled_from(["x", "é", "\U0001f600"]),
)
def test_a_secret_across_the_tails_beginning_is_not_shown_in_part(
    times: int, shift: int, after: int, filling: str
) -> None:
    size = len(filling.encode())
    for following in (after + shift, (4 * after) // size + shift):
        tail = StderrTail(Redactor([SECRET]))
        tail.add(filling.encode() * 100 * times + SECRET.encode() + filling.encode() * following)
        text = tail.text()
        assert "canary" not in text
        assert "abcdefghij" not in text
        assert not text.startswith(("j" + filling, "ij" + filling))
        assert len(text) <= MAX_TAIL_CHARS
