"""The secrets of a configuration are those of its rows and of its endpoint."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.assembly.config_secrets import config_redactor
from host.config import EndpointChoice, HostConfig
from host.pool.rows import HttpServerRow, StdioServerRow

SECRETS = st.lists(st.text("kq7xv", min_size=12).map("9{}q7".format), min_size=4, max_size=4)


@given(SECRETS, st.booleans())
def test_no_secret_of_a_configuration_is_left_in_a_text(
    secrets: list[str], has_endpoint: bool
) -> None:
    one, two, three, four = secrets
    rows = (
        StdioServerRow(id="a", command="x", env={"NAME": one}),
        HttpServerRow(id="b", url=f"http://h/mcp?key={two}"),
    )
    url = f"http://me:{three}@h/v1"
    endpoint = EndpointChoice(base_url=url, api_key=four, model="m", origin="test")
    text = " ".join(secrets)
    redactor = config_redactor(HostConfig(rows=rows), endpoint if has_endpoint else None)
    shown = redactor.redact(f"{text} {url}" if has_endpoint else text)
    known = secrets if has_endpoint else secrets[:2]
    assert not [secret for secret in known if secret in shown]
    assert config_redactor(HostConfig(), None).redact(text) == text
