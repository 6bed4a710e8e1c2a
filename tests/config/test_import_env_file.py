"""An env file says the same here as in the clients that read it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.import_env_file import env_file_variables


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("  export A = b c  ", "b c"),
        ("A=", ""),
        ('A="b # c"', "b # c"),
        ("A='b\\n$x'", "b\\n$x"),
        ('A="b\\nc\\\\d"', "b\nc\\d"),
        ("A=b # note", "b"),
        ("A=#note", ""),
        ("A=b#c", "b#c"),
        ('A="x" # note', "x"),
        ('A="open', '"open'),
        ("A=b=c", "b=c"),
    ],
)
def test_a_line_gives_a_variable(line: str, value: str) -> None:
    assert env_file_variables(f"# first\n\ufeff\n{line}\n") == {"A": value}


def test_what_is_no_variable_is_passed_over() -> None:
    assert env_file_variables("\ufeffA=1\nnonsense\n=x\n1B=2\n# C=3\r\nA=4") == {"A": "4"}


NAMES = st.sampled_from(["A", "B_1", "c.d"])
VALUES = st.text(st.sampled_from("ab =#$'{}"), max_size=6)


@given(st.lists(st.tuples(NAMES, VALUES)), st.sampled_from(["\n", "\r\n"]))
def test_values_in_double_quotes_are_read_as_they_are(
    pairs: list[tuple[str, str]], newline: str
) -> None:
    text = newline.join(f'{name}="{value}"' for name, value in pairs)
    assert env_file_variables(text) == dict(pairs)
