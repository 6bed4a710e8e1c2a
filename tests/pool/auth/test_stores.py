"""Logins are kept where only their owner reads them, and never half."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
import types
from pathlib import Path

import anyio
import pytest

from host.pool.auth import stores
from host.pool.auth.credentials import Authority, Credentials, Registration, Tokens
from host.pool.auth.stores import (
    SERVICE,
    UserStore,
    credentials_file,
    credentials_name,
    system_keyring,
)


class FakeKeyring:
    """A keyring in memory; it fails when told to."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.fails = False

    def get_password(self, service: str, name: str, /) -> str | None:
        self._check()
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, password: str, /) -> None:
        self._check()
        self.kept[service, name] = password

    def delete_password(self, service: str, name: str, /) -> None:
        self._check()
        del self.kept[service, name]

    def _check(self) -> None:
        if self.fails:
            raise OSError("the daemon is locked")


def login(access: str = "access-1") -> Credentials:
    """What a login leaves behind."""
    return Credentials(
        authority=Authority(issuer="https://as.example", token_url="https://as.example/token"),
        registration=Registration(client_id="c"),
        tokens=Tokens(access=access, refresh="refresh-1", expires_at=5.0),
    )


def mode(path: Path) -> int:
    """Who may do what with a file."""
    return stat.S_IMODE(path.stat().st_mode)


async def test_without_a_keyring_one_private_file_keeps_all(tmp_path: Path) -> None:
    notices: list[tuple[str, str]] = []
    path = tmp_path / "data" / "credentials.json"
    store = UserStore(path, find_keyring=lambda: None, on_notice=lambda *said: notices.append(said))
    assert await store.load("a") is None
    assert await store.save("a", login("A")) == str(path)
    assert await store.save("b", login("B")) == str(path)
    assert await UserStore(path).load("a") == login("A")
    assert await store.load("b") == login("B")
    assert await store.load("c") is None
    assert mode(path) == 0o600
    assert mode(path.parent) == 0o700
    await store.forget("a")
    assert await store.load("a") is None
    assert await store.load("b") == login("B")
    assert notices == [
        (
            "info",
            f"there is no keyring here; logins are kept in {path}, which only its owner can read",
        )
    ]


async def test_a_file_that_others_could_read_is_private_after_the_next_login(
    tmp_path: Path,
) -> None:
    path = tmp_path / "credentials.json"
    path.write_text("{}", "utf-8")
    path.chmod(0o644)
    await UserStore(path, find_keyring=lambda: None).save("a", login())
    assert mode(path) == 0o600


async def test_with_a_keyring_the_file_names_servers_only(tmp_path: Path) -> None:
    path, ring = tmp_path / "credentials.json", FakeKeyring()
    store = UserStore(path, find_keyring=lambda: ring)
    assert await store.save("a", login("canary")) == "the keyring of this system"
    assert "canary" in ring.kept[SERVICE, "a"]
    assert "canary" not in path.read_text("utf-8")
    assert await UserStore(path, find_keyring=lambda: ring).load("a") == login("canary")
    await store.forget("a")
    assert ring.kept == {}
    assert json.loads(path.read_text("utf-8"))["servers"] == {}


async def test_nobody_asks_the_keyring_before_somebody_has_logged_in(tmp_path: Path) -> None:
    path = tmp_path / "credentials.json"

    def ask() -> None:
        raise AssertionError("nothing is kept there")

    store = UserStore(path, find_keyring=ask)
    assert await store.load("a") is None
    await UserStore(path, find_keyring=lambda: None).save("b", login())
    assert await store.load("b") == login()


async def test_a_keyring_that_fails_is_told_of_once_and_the_file_is_used(tmp_path: Path) -> None:
    notices: list[tuple[str, str]] = []
    path, ring = tmp_path / "credentials.json", FakeKeyring()
    store = UserStore(path, find_keyring=lambda: ring, on_notice=lambda *said: notices.append(said))
    await store.save("kept", login())
    ring.fails = True
    assert await store.save("a", login()) == str(path)
    assert await store.save("b", login()) == str(path)
    assert await store.load("a") == login()
    assert await store.load("kept") is None
    await store.forget("kept")
    ((level, text),) = notices
    assert level == "warning"
    assert text.startswith("the keyring failed (OSError); logins are kept in")
    assert "locked" not in text


async def test_a_keyring_that_does_not_answer_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "KEYRING_SECONDS", 0.05)
    gate = threading.Event()

    class Locked(FakeKeyring):
        def set_password(self, service: str, name: str, password: str, /) -> None:
            gate.wait(10)

    path = tmp_path / "credentials.json"
    store = UserStore(path, find_keyring=Locked)
    try:
        with anyio.fail_after(5):
            assert await store.save("a", login()) == str(path)
    finally:
        gate.set()


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", '{"servers": []}', '{"servers": {"a": 5}}', "[" * 100_000]
)
async def test_a_file_that_cannot_be_read_holds_nothing_and_is_mended_by_a_login(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "credentials.json"
    path.write_text(text, "utf-8")
    store = UserStore(path, find_keyring=lambda: None)
    assert await store.load("a") is None
    await store.save("a", login())
    assert await store.load("a") == login()


async def test_a_write_that_breaks_off_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[tuple[str, str]] = []
    path = tmp_path / "credentials.json"
    store = UserStore(path, find_keyring=lambda: None, on_notice=lambda *said: notices.append(said))
    await store.save("a", login("old"))
    before = path.read_bytes()

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert await store.save("a", login("new")) == "memory only"
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["credentials.json", "credentials.lock"]
    assert notices[-1] == (
        "warning",
        f"the login lasts for this run only: {path}: No space left on device",
    )


async def test_logins_side_by_side_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "credentials.json"
    names = [f"server-{number}" for number in range(12)]
    async with anyio.create_task_group() as tasks:
        for name in names:  # a store each, as processes of their own have
            store = UserStore(path, find_keyring=lambda: None)
            tasks.start_soon(store.save, name, login(name))
    read = UserStore(path)
    for name in names:
        assert await read.load(name) == login(name)


def test_the_file_is_where_the_user_keeps_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert credentials_file() == tmp_path / "agent-host" / "credentials.json"
    monkeypatch.setenv("HOME", str(tmp_path))
    for nothing in ("", "a/checkout"):
        monkeypatch.setenv("XDG_DATA_HOME", nothing)
        assert credentials_file() == tmp_path / ".local/share/agent-host/credentials.json"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "written", ['{"version": 1, "serv', '{"version": 99, "servers": {}}', "[]"]
)
async def test_a_file_that_is_not_read_is_put_aside_and_not_lost(
    written: str, tmp_path: Path
) -> None:
    path = tmp_path / "credentials.json"
    store = UserStore(path, find_keyring=lambda: None)
    for copies in (1, 2):
        path.write_text(written)
        assert await store.load("a") is None
        await store.save("a", login())
        assert await store.load("a") == login()
        assert put_aside(tmp_path) == [written] * copies


def put_aside(folder: Path) -> list[str]:
    return [each.read_text() for each in folder.glob("credentials.damaged*")]


def test_another_address_is_another_server_and_no_name_holds_one() -> None:
    one, two = (credentials_name("a", f"https://h/?key={key}") for key in ("sesame", "other"))
    assert one != two
    assert "sesame" not in one
    assert credentials_name("a", "https://h/?key=sesame") == one


@pytest.mark.parametrize(("priority", "is_used"), [(5, True), (1, True), (0.5, False), (0, False)])
def test_only_a_keyring_that_is_recommended_is_used(
    monkeypatch: pytest.MonkeyPatch, priority: float, is_used: bool
) -> None:
    module = types.ModuleType("keyring")
    backend = types.SimpleNamespace(priority=priority)
    monkeypatch.setattr(module, "get_keyring", lambda: backend, raising=False)
    monkeypatch.setitem(sys.modules, "keyring", module)
    assert (system_keyring() is module) is is_used


def test_a_keyring_that_cannot_be_imported_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert system_keyring() is None
