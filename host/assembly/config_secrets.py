"""Taking the secrets of a whole configuration out of texts."""

from __future__ import annotations

from host.config import EndpointChoice, HostConfig
from host.pool.row_secrets import row_secrets
from host.text.redaction import Redactor
from host.text.secret_values import secret_values
from host.wire import NO_KEY


def config_redactor(config: HostConfig, endpoint: object) -> Redactor:
    """What takes the secrets of all rows out of texts, and those of the endpoint's choice."""
    secrets = [secret for row in config.rows for secret in row_secrets(row)]
    if isinstance(endpoint, EndpointChoice):
        key = "" if endpoint.api_key == NO_KEY else endpoint.api_key
        secrets += (key, *secret_values(url=endpoint.base_url))
    return Redactor(secrets)
