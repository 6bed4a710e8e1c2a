"""The secrets of a row are found wherever it holds them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.pool.row_secrets import row_redactor
from host.pool.rows import HttpServerRow, StdioServerRow

SECRETS = st.text("abcdefgh0123456789", min_size=8, max_size=20)


@given(SECRETS, SECRETS, SECRETS)
def test_no_secret_of_a_row_stays_in_a_text(user: str, password: str, key: str) -> None:
    url = f"https://{user}:{password}@web.test/mcp?token={key}"
    row = HttpServerRow(id="a", url=url, headers={"X-Key": key})
    shown = row_redactor(row).redact(f"GET {url} with {key}") + repr(row)
    assert not [
        secret for secret in (f"{user}:", f":{password}", f"={key}", f"'{key}") if secret in shown
    ]
    child = StdioServerRow(id="a", command="run", env={"KEY": key})
    assert row_redactor(child).redact(f"-{key}-") == "-***-"


def test_an_address_that_is_none_has_no_user() -> None:
    row = HttpServerRow(id="a", url="http://[${HOST}/mcp?key=sesame!")
    assert row_redactor(row).redact("is sesame! right") == "is *** right"


def test_the_repr_of_a_row_has_its_address_without_secrets() -> None:
    row = HttpServerRow(id="a", url="https://me:hunter2@web.test/mcp?key=sesame")
    assert "url='https://***@web.test/mcp?key=***'" in repr(row)
    assert "hunter2" not in repr(row) + str(row)
