"""A user's folders are where the variables say, if they say it from the root."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from host.pool.xdg_folders import xdg_folder

USUAL = Path("/home/ada/.config")
VALUES = st.text("/a.~ ", max_size=6)


@given(st.none() | VALUES)
def test_a_folder_is_taken_at_its_word_only_from_the_root(value: str | None) -> None:
    env = {} if value is None else {"XDG_CONFIG_HOME": value, "XDG_DATA_HOME": "/data"}
    found = xdg_folder(env, "XDG_CONFIG_HOME", USUAL)
    assert found == (Path(value) if value and value.startswith("/") else USUAL)
    assert found.is_absolute()
