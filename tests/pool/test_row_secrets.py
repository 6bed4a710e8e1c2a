"""The secrets of a row are found wherever it holds them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.pool.row_secrets import (
    MAX_LEARNT,
    LearntSecrets,
    LiveRedactor,
    RowRedactor,
    row_redactor,
)
from host.pool.rows import AuthRow, HttpServerRow, StdioServerRow
from host.pool.state_view import blanked_row

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


@given(fixed=SECRETS, learnt=st.lists(SECRETS, max_size=3), later=SECRETS)
def test_what_is_learnt_later_is_taken_out_as_well(
    fixed: str, learnt: list[str], later: str
) -> None:
    secrets = LearntSecrets()
    secrets.learn(*learnt, None, " ")
    redactor = LiveRedactor([fixed], secrets)
    text = f"<{fixed}|{later}|{'|'.join(learnt)}>"
    assert not [secret for secret in (fixed, *learnt) if secret in redactor.redact(text)]
    secrets.learn(later)
    assert later not in redactor.redact(text)
    assert later not in repr(secrets) + repr(redactor)


def test_only_the_newest_secrets_are_remembered() -> None:
    secrets = LearntSecrets()
    for number in range(MAX_LEARNT + 5):
        secrets.learn(f"secret-{number:03d}", "the-first")
    assert len(secrets.values) == MAX_LEARNT
    assert secrets.values[-2:] == (f"secret-{MAX_LEARNT + 4:03d}", "the-first")


@given(SECRETS, SECRETS)
def test_the_secrets_of_clients_are_the_rows(secret: str, other: str) -> None:
    provider = {
        "token_url": "https://idp.test/token",
        "client_id": "us",
        "client_secret": other,
        "id_token_file": "token",
    }
    auth = AuthRow.model_validate(
        {
            "grant": "jwt_bearer",
            "client_id": "me",
            "client_secret": secret,
            "issuer": "https://as.test",
            "identity_provider": provider,
        }
    )
    row = HttpServerRow(id="a", url="https://web.test/mcp", auth=auth)
    assert row_redactor(row).redact(f"-{secret}-{other}-") == "-***-***-"
    shown = blanked_row(row, row_redactor(row))
    assert secret not in shown.model_dump_json()
    assert other not in shown.model_dump_json()


@given(SECRETS, SECRETS)
def test_models_read_what_may_be_ordinary_after_all(secret: str, learnt: str) -> None:
    secrets = LearntSecrets()
    env = {"API_KEY": f"{secret}-0", "PROJECT": "my-project-12", "AWS_REGION": "us-east-1"}
    row = StdioServerRow(id="a", command="run", env=env)
    redactor = RowRedactor(row, secrets)
    secrets.learn(learnt)
    text = f"<{secret}-0|{learnt}|my-project-12|us-east-1>"
    assert redactor.redact(text) == "<***|***|***|us-east-1>"
    assert redactor.for_models.redact(text) == "<***|***|my-project-12|us-east-1>"
    assert secret not in repr(redactor) + repr(redactor.for_models)
    assert not RowRedactor(StdioServerRow(id="a", command="run")).for_models


def test_a_region_stays_readable_in_an_error_and_is_blanked_in_the_row() -> None:
    row = StdioServerRow(id="a", command="run", env={"AWS_REGION": "us-east-1"})
    text = "no route to servicereference.us-east-1.amazonaws.com"
    assert row_redactor(row).redact(text) == text
    shown = blanked_row(row, row_redactor(row))
    assert "us-east-1" not in repr(shown) + shown.model_dump_json()
