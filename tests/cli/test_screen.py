"""What reaches the terminal is text: no steering, the answer on stdout, the rest on stderr."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout

from hypothesis import example, given
from hypothesis import strategies as st

from host.cli.screen import Screen, counted, duration

MARKS = ["\x1b[31m", "\x1b]0;title\x07", "\x1b", "\x9b2J", "\x08", "\r", "\u202e", "\x00", "[bold]"]
pieces = st.lists(st.one_of(st.sampled_from(MARKS), st.text("ab \n\t", max_size=4)), max_size=8)

UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}


def written(act: object, **options: bool) -> tuple[str, str]:
    assert callable(act)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        act(Screen(**options))
    return out.getvalue(), err.getvalue()


def is_harmless(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)


@given(pieces)
def test_nothing_that_steers_a_terminal_is_written(chunks: list[str]) -> None:
    def speak(screen: Screen) -> None:
        for chunk in chunks:
            screen.stream(chunk)
        whole = "".join(chunks)
        for write in (screen.write, screen.notice, screen.warn, screen.fail):
            write(whole)

    out, err = written(speak)
    assert is_harmless(out + err)


@given(st.lists(st.text("ab[/]", max_size=4), max_size=8))
def test_a_streamed_answer_is_written_as_it_came(chunks: list[str]) -> None:
    def speak(screen: Screen) -> None:
        for chunk in chunks:
            screen.stream(chunk)

    assert written(speak)[0] == "".join(chunks)


def test_a_line_about_the_work_does_not_go_on_in_the_line_of_the_answer() -> None:
    def speak(screen: Screen) -> None:
        screen.stream("half an ans")
        screen.notice("a call")
        screen.stream("wer\n")
        screen.end_line()

    assert written(speak) == ("half an ans\nwer\n", "a call\n")
    assert written(speak, all_to_stdout=True) == ("half an ans\na call\nwer\n", "")


def test_where_only_the_answer_is_asked_for_only_a_failure_is_told_besides() -> None:
    def speak(screen: Screen) -> None:
        screen.notice("n")
        screen.warn("w")
        screen.fail("f")
        screen.write("answer")

    assert written(speak, quiet=True) == ("answer\n", "f\n")


def test_a_long_line_is_left_to_the_terminal_to_wrap() -> None:
    assert written(lambda screen: screen.write("x" * 500)) == ("x" * 500 + "\n", "")


@given(st.floats(0, 10**6))
@example(0.9996)
@example(59.96)
@example(59.949)
@example(3599.6)
def test_a_duration_is_right_to_what_it_shows(seconds: float) -> None:
    shown = duration(seconds)
    parts = re.findall(r"([\d.]+) (\w+)", shown)
    assert " ".join(f"{number} {unit}" for number, unit in parts) == shown
    named = sum(float(number) * UNITS[unit] for number, unit in parts)
    exact_to = {"ms": 0.00051, "s": 0.051, "min": 0.51, "h": 60.0}[parts[0][1]]
    assert abs(named - seconds) <= exact_to
    assert all(float(number) < {"ms": 1000, "s": 60, "min": 60, "h": 1e9}[u] for number, u in parts)


@given(st.floats(-1000, 0))
def test_a_clock_that_was_set_back_counts_as_no_time(seconds: float) -> None:
    assert duration(seconds) == "0 ms"


def test_one_is_one_and_the_rest_are_many() -> None:
    assert [counted(number, "tool") for number in (0, 1, 2, 1234)] == [
        "0 tools",
        "1 tool",
        "2 tools",
        "1,234 tools",
    ]
