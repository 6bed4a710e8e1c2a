"""An edited servers file is read again, once, whatever way it was written; half an edit is not."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from host.config.host_config import HostConfig
from host.config.watching import FRESH_SECONDS, ServersFileWatch, is_watchable
from host.errors import ConfigError

LONG_AGO = 1_000_000_000


class Watched:
    """A servers file, its watch, and the time of day."""

    def __init__(self, path: Path, env: Mapping[str, str]) -> None:
        self.path = path
        self.now = float(LONG_AGO)
        self.watch = ServersFileWatch(path, env=env, clock=lambda: self.now)

    def ids(self) -> list[str] | str | None:
        """What a look finds: ids of rows, the first problem, or nothing new."""
        self.now += 1
        found = self.watch.look()
        if isinstance(found, ConfigError):
            return found.problems[0]
        return None if found is None else [row.id for row in found.rows]

    def write(self, *ids: str, text: str | None = None) -> None:
        """Writes the file in place, at a time of its own."""
        self.path.write_text(servers(*ids) if text is None else text)
        self.now += 10
        os.utime(self.path, (self.now, self.now))
        self.now += FRESH_SECONDS


def servers(*ids: str, **fields: Any) -> str:
    return json.dumps({"mcpServers": {row_id: {"command": "x", **fields} for row_id in ids}})


@pytest.fixture
def file(tmp_path: Path) -> Watched:
    watched = Watched(tmp_path / "servers.json", {})
    watched.write("a")
    assert watched.ids() == ["a"]
    return watched


def test_a_file_that_stays_as_it_is_is_no_news(file: Watched) -> None:
    assert [file.ids() for _ in range(3)] == [None, None, None]


def test_a_file_that_is_only_touched_is_no_news(file: Watched) -> None:
    os.utime(file.path, (LONG_AGO + 500, LONG_AGO + 500))
    assert [file.ids(), file.ids()] == [None, None]


def test_an_edit_in_place_is_news_once(file: Watched) -> None:
    file.write("a", "b")
    assert [file.ids(), file.ids()] == [["a", "b"], None]


def test_a_file_that_is_replaced_is_news_even_with_the_old_ones_size_and_times(
    file: Watched, tmp_path: Path
) -> None:
    before = file.path.stat()
    new = tmp_path / "new"
    new.write_text(servers("b"))
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.replace(file.path)
    assert file.path.stat().st_size == before.st_size
    assert [file.ids(), file.ids()] == [["b"], None]


def test_two_edits_within_one_tick_of_the_clock_are_both_seen(file: Watched) -> None:
    """The file's own time and size stay, and with them everything a ``stat`` can tell."""

    class Blind(ServersFileWatch):
        def _stamp(self) -> tuple[int, ...]:
            return (int(1e9 * LONG_AGO), 1)

    now = [float(LONG_AGO)]
    watch = Blind(file.path, env={}, clock=lambda: now[0])
    assert isinstance(watch.look(), HostConfig)
    file.path.write_text(servers("b"))
    found = watch.look()
    assert isinstance(found, HostConfig)
    assert [row.id for row in found.rows] == ["b"]


def test_a_link_is_followed_wherever_it_leads(file: Watched, tmp_path: Path) -> None:
    first, second = tmp_path / "one.json", tmp_path / "two.json"
    first.write_text(servers("one"))
    second.write_text(servers("two"))
    link = tmp_path / "link.json"
    link.symlink_to(first)
    linked = Watched(link, {})
    assert linked.ids() == ["one"]
    link.unlink()
    link.symlink_to(second)
    assert linked.ids() == ["two"]
    second.write_text(servers("three"))
    assert linked.ids() == ["three"]


def test_a_file_that_is_gone_for_a_moment_is_not_told(file: Watched) -> None:
    content = file.path.read_text()
    file.path.unlink()
    assert file.ids() is None
    file.path.write_text(content)
    assert [file.ids(), file.ids()] == [None, None]


def test_a_file_that_stays_away_is_told_once_and_so_is_its_return(file: Watched) -> None:
    content = file.path.read_text()
    file.path.unlink()
    assert [file.ids(), file.ids(), file.ids()] == [None, "there is no such file", None]
    file.path.write_text(content)
    assert [file.ids(), file.ids()] == [["a"], None]


def test_a_file_that_is_being_written_is_waited_for(file: Watched) -> None:
    file.write(text="")
    assert file.ids() is None
    file.write(text=servers("b")[:20])
    assert file.ids() is None
    file.write("b")
    assert [file.ids(), file.ids()] == [["b"], None]


def test_a_mistake_that_stays_is_told_once_for_each_edit(file: Watched) -> None:
    file.write(text='{"mcpServers": {"a": {"comand": "x"}}}')
    told = [file.ids(), file.ids(), file.ids()]
    assert told[0] is told[2] is None
    assert "transport is missing" in str(told[1])
    file.write(text='{"mcpServers": {"a": {"comand": "y"}}}')
    assert [file.ids() is None, "missing" in str(file.ids()), file.ids()] == [True, True, None]
    file.write("a")
    assert [file.ids(), file.ids()] == [["a"], None]


def test_a_file_that_cannot_be_read_is_told(file: Watched) -> None:
    file.path.unlink()
    file.path.mkdir()
    assert file.ids() is None
    assert "cannot be read" in str(file.ids())


def test_a_pipe_in_place_of_the_file_is_told_and_not_waited_for(file: Watched) -> None:
    content = file.path.read_text()
    file.path.unlink()
    os.mkfifo(file.path)
    assert [file.ids(), file.ids(), file.ids()] == [None, "is no file that can be read", None]
    file.path.unlink()
    file.path.write_text(content)
    assert file.ids() == ["a"]


def test_variables_have_the_values_of_the_moment(tmp_path: Path) -> None:
    env: dict[str, str] = {}
    file = Watched(tmp_path / "s.json", env)
    file.write(text=servers("a", env={"KEY": "${KEY}"}))
    found = file.watch.look()
    assert isinstance(found, HostConfig)
    assert (found.rows, found.unset) == ((), {"a": ("KEY",)})
    env["KEY"] = "k"
    file.write(text=servers("a", env={"KEY": "${KEY}"}) + "\n")
    assert file.ids() == ["a"]


def test_only_a_file_can_be_watched(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("{}")
    os.mkfifo(tmp_path / "pipe")
    assert is_watchable(str(tmp_path / "s.json"))
    assert not is_watchable(str(tmp_path / "pipe"))
    assert not is_watchable(str(tmp_path))
    assert not is_watchable("no servers file")
