"""Rows and hooks are shown without their secrets, by whatever way they are shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.rows import AuthRow, HookRow, HttpServerRow, ServerRow, StdioServerRow
from host.pool.written_secrets import shown_fields, written_secrets
from host.text.redaction import Redactor

SECRETS = st.text("kq7xv", min_size=12, max_size=16).map("9{}q7".format)


@st.composite
def rows(draw: st.DrawFn) -> tuple[ServerRow, list[str]]:
    """A row, and the secrets in it."""
    secrets = draw(st.lists(SECRETS, min_size=4, max_size=4))
    one, two, three, four = secrets
    hook = {"id": "h", "on": "beforeTurn", "tool": "t"}
    hooks = [hook | {"args": draw(st.sampled_from([{"token": four}, {"a": [{"b": four}]}]))}]
    if draw(st.booleans()):
        args = [
            "-y",
            draw(st.sampled_from([f"--key={two}", f"pg://u:{two}@h/d", f"--h=Auth: {two}"])),
        ]
        env = {"NAME": one, "DB": f"pg://u:{three}@h"}
        return StdioServerRow(
            id="a", command=f"/opt/{one}", cwd=f"/x/{one}", env=env, args=args, hooks=hooks
        ), secrets
    url = f"https://me:{one}@h.example/mcp?x={two}"
    headers = {draw(st.sampled_from(["Authorization", "X-Any"])): f"Bearer {three}"}
    return HttpServerRow(id="a", url=url, headers=headers, hooks=hooks), secrets


@given(rows())
def test_every_secret_is_found_and_none_is_in_the_repr(made: tuple[ServerRow, list[str]]) -> None:
    row, secrets = made
    found = written_secrets(vars(row))
    assert not [secret for secret in secrets if not any(secret in each for each in found)]
    assert set(written_secrets(vars(row), only_sure=True)) <= set(found)
    assert not [secret for secret in secrets if secret in repr(row) + str(row)]
    for hook in row.hooks or ():
        assert not [secret for secret in secrets if secret in repr(hook)]


@given(rows())
def test_what_is_shown_has_the_shape_of_what_was_written(
    made: tuple[ServerRow, list[str]],
) -> None:
    row, secrets = made
    shown = shown_fields(vars(row))
    again: dict[str, Any] = row.model_dump() | shown
    assert not [secret for secret in secrets if secret in repr(shown)]
    read = type(row).model_validate(again | {"url": "http://h"} if "url" in again else again)
    assert read.id == row.id
    assert len(shown.get("args", ())) == len(getattr(row, "args", ()) or ())


def test_short_values_by_telling_names_are_blanked_in_their_places() -> None:
    args = ("--token", "abc", "--use-auth=true", "abc")
    assert shown_fields({"args": args})["args"] == ("--token", "***", "--use-auth=true", "abc")
    given = {"pin": 123, "token": None, "deep": [{"auth": {"x": "ab", "on": True}}], "y": 5}
    assert shown_fields({"args": given})["args"] == {
        "pin": "***",
        "token": None,
        "deep": [{"auth": {"x": "***", "on": True}}],
        "y": 5,
    }


@pytest.mark.parametrize("name", ["issuer", "client_metadata_url"])
def test_the_addresses_of_a_client_are_shown_without_credentials(name: str) -> None:
    fields = {name: "https://me:s3same-0pen@as.example/doc?k=s3same-0pen"}
    assert "s3same" not in repr(AuthRow.model_validate(fields))


def test_secrets_that_are_known_from_elsewhere_go_as_well() -> None:
    hook = HookRow(id="h", on="beforeTurn", tool="t", args={"a": "from elsewhere"})
    shown = shown_fields(vars(hook), Redactor(["elsewhere"]))
    assert shown == {"args": {"a": "from ***"}}
