"""Taking the secrets of a whole configuration out of texts."""

from __future__ import annotations

from host.assembly.local_engine import LocalEngine
from host.config import EndpointChoice, HostConfig
from host.pool.row_secrets import row_secrets
from host.text.redaction import Redactor


def config_redactor(config: HostConfig, endpoint: EndpointChoice | LocalEngine | None) -> Redactor:
    """What takes the secrets of all rows and the endpoint's key out of texts."""
    key = endpoint.api_key if isinstance(endpoint, EndpointChoice) else None
    return Redactor([*(secret for row in config.rows for secret in row_secrets(row)), key or ""])
