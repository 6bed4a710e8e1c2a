"""The servers file is found where it is expected, and its absence is told with a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.config.servers_file import find_servers_file, load_config
from host.errors import ConfigError
from host.pool.relaxed_json import parse_relaxed_json
from host.pool.rows import field_names
from tests.architecture import ROOT


def test_a_named_file_is_taken_whether_it_is_there_or_not(tmp_path: Path) -> None:
    found = find_servers_file("x.json", env={}, home=tmp_path, folder=tmp_path)
    assert found == Path("x.json")


def test_the_file_of_the_folder_comes_before_the_one_of_the_user(tmp_path: Path) -> None:
    own = tmp_path / ".config" / "agent-host" / "servers.json"
    own.parent.mkdir(parents=True)
    own.write_text("{}")
    assert find_servers_file(None, env={}, home=tmp_path, folder=tmp_path) == own
    (tmp_path / "servers.json").write_text("{}")
    found = find_servers_file(None, env={}, home=tmp_path, folder=tmp_path)
    assert found == tmp_path / "servers.json"


def test_the_configuration_folder_can_be_elsewhere(tmp_path: Path) -> None:
    own = tmp_path / "agent-host" / "servers.json"
    own.parent.mkdir()
    own.write_text("{}")
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert find_servers_file(None, env=env, home=Path("/nowhere"), folder=tmp_path / "x") == own


def test_a_configuration_folder_without_a_root_counts_for_nothing(tmp_path: Path) -> None:
    own = tmp_path / ".config" / "agent-host" / "servers.json"
    own.parent.mkdir(parents=True)
    own.write_text("{}")
    env = {"XDG_CONFIG_HOME": "some/folder"}
    assert find_servers_file(None, env=env, home=tmp_path, folder=tmp_path / "x") == own


def test_no_file_at_all_says_what_to_do(tmp_path: Path) -> None:
    assert find_servers_file(None, env={}, home=tmp_path, folder=tmp_path) is None
    with pytest.raises(ConfigError, match=r"servers\.example\.json"):
        load_config(None, env={})


@pytest.mark.parametrize(
    ("content", "words"), [(None, "no such file"), (b"\xff\xfe\x00", "UTF-8"), ("folder", "read")]
)
def test_what_cannot_be_read_is_told(tmp_path: Path, content: object, words: str) -> None:
    path = tmp_path / "s.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "folder":
        path.mkdir()
    with pytest.raises(ConfigError, match=words) as caught:
        load_config(path, env={})
    assert caught.value.source == str(path)


def test_the_example_at_the_top_level_is_right() -> None:
    config = load_config(ROOT / "servers.example.json", env={})
    assert {row.id for row in config.rows if row.enabled} == {"clock", "notes", "units"}
    assert [row.id for row in config.rows if not row.enabled] == ["remote", "personal"]
    assert config.notices == ()
    assert config.unset == {}


def test_the_example_uses_every_field_a_server_may_have() -> None:
    written = parse_relaxed_json((ROOT / "servers.example.json").read_text("utf-8"))
    used = {field for body in written["mcpServers"].values() for field in body}
    ours = set(field_names("stdio")) | set(field_names("http"))
    # The id is the key, and clients write `disabled` and `type` for these two.
    assert used - {"disabled", "type"} == ours - {"id", "enabled", "transport"}
