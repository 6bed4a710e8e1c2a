"""Listings in files: read back, seen by nobody else, and never worse than none."""

from __future__ import annotations

import os
import stat
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from host.pool.listing_files import MAX_BYTES, UNUSED_SECONDS, ListingFiles
from host.pool.saved_listings import SavedListing

DIGEST, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Threads write the files, on the real clock."""
    return real_time


def found(folder: Path) -> dict[str, int]:
    """Names and modes of what is in a folder."""
    return {path.name: mode(path) for path in folder.iterdir()}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def listing(connection: str = DIGEST, description: str = "Looks.") -> SavedListing:
    return SavedListing(
        connection=connection,
        tools=({"name": "look", "description": description, "inputSchema": {"type": "object"}},),
        fingerprint="f",
        saved_at=datetime.now(UTC),
    )


async def test_each_connection_has_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    files = ListingFiles(tmp_path / "a" / "listings")
    assert files.load("fs", DIGEST) is None
    await files.save("fs", listing())
    await files.save("web", listing(OTHER))
    assert (files.load("fs", DIGEST), files.load("x", OTHER)) == (listing(), listing(OTHER))
    folder = tmp_path / "a" / "listings"
    assert mode(folder) == 0o700
    assert found(folder) == {f"{DIGEST}.json": 0o600, f"{OTHER}.json": 0o600}


async def test_a_folder_that_others_could_enter_is_closed(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o755)
    await ListingFiles(tmp_path).save("fs", listing())
    assert mode(tmp_path) == 0o700


async def test_a_listing_takes_the_place_of_the_one_before_as_a_whole(tmp_path: Path) -> None:
    files = ListingFiles(tmp_path)
    await files.save("fs", listing())
    held = (tmp_path / f"{DIGEST}.json").open("rb")
    await files.save("fs", listing(description="Sees."))
    with held:
        assert b"Looks." in held.read()
    assert files.load("fs", DIGEST) == listing(description="Sees.")
    assert len(found(tmp_path)) == 1


async def test_what_cannot_be_put_in_place_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / f"{DIGEST}.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        await ListingFiles(tmp_path).save("fs", listing())
    assert list(found(tmp_path)) == [f"{DIGEST}.json"]


async def test_a_damaged_file_is_an_error_until_it_is_saved_anew(tmp_path: Path) -> None:
    files = ListingFiles(tmp_path)
    await files.save("fs", listing())
    path = tmp_path / f"{DIGEST}.json"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match="damaged"):
        files.load("fs", DIGEST)
    await files.save("fs", listing())
    assert files.load("fs", DIGEST) == listing()


def test_what_is_no_plain_file_of_our_making_is_not_read(tmp_path: Path) -> None:
    files, path = ListingFiles(tmp_path), tmp_path / f"{DIGEST}.json"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="not of this program's making"):
        files.load("fs", DIGEST)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(OSError, match="symbolic links"):
        files.load("fs", DIGEST)
    path.unlink()
    path.touch()
    os.truncate(path, MAX_BYTES + 1)
    with pytest.raises(ValueError, match="not of this program's making"):
        files.load("fs", DIGEST)


def test_a_file_of_another_user_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{DIGEST}.json").write_text("{}")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ValueError, match="not of this program's making"):
        ListingFiles(tmp_path).load("fs", DIGEST)


def test_only_a_digest_names_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="digest"):
        ListingFiles(tmp_path).load("fs", "../../etc/passwd")


async def test_what_nobody_has_read_for_months_goes_and_what_was_read_stays(
    tmp_path: Path,
) -> None:
    files = ListingFiles(tmp_path)
    await files.save("fs", listing())
    await files.save("web", listing(OTHER))
    long_ago = time.time() - UNUSED_SECONDS - 60
    for name in found(tmp_path):
        os.utime(tmp_path / name, (long_ago, long_ago))
    assert files.load("web", OTHER) == listing(OTHER)
    await files.save("new", listing("ef" * 32))
    assert files.load("fs", DIGEST) is None
    assert files.load("web", OTHER) == listing(OTHER)


@pytest.mark.parametrize(
    ("named", "folder"),
    [
        ("/c", "/c"),
        ("", "/home/x/.cache"),
        ("relative", "/home/x/.cache"),
        (None, "/home/x/.cache"),
    ],
)
def test_the_users_files_are_in_the_cache_folder(named: str | None, folder: str) -> None:
    env = {} if named is None else {"XDG_CACHE_HOME": named}
    files = ListingFiles.of_user(env, Path("/home/x"))
    assert files.folder == Path(folder) / "agent-host" / "listings"
