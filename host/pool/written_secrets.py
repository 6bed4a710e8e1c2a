"""The secrets in the fields of rows and hooks, and those fields without them.

Fields come as a mapping from their Python names, so that rows themselves can be shown by this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from host.text.redaction import Redactor, redact_url
from host.text.secret_values import blanked_arguments, blanked_given, secret_values

_ADDRESSES = ("url", "issuer", "token_url", "client_metadata_url")
_OTHERS = ("command", "cwd", "args", "roots")


def written_secrets(fields: Mapping[str, Any], *, only_sure: bool = False) -> tuple[str, ...]:
    """What of a row or a hook nobody else is to read, wherever it stands in it.

    Args:
        only_sure: without what may be ordinary after all (``host.text.secret_values``).
    """
    args, url = fields.get("args"), fields.get("url") or ""
    of_hooks = [hook.args for hook in fields.get("hooks") or ()]
    found = secret_values(
        fields.get("env"),
        headers=fields.get("headers"),
        url=url,
        args=None if isinstance(args, Mapping) else args,
        given={"": [args, *of_hooks] if isinstance(args, Mapping) else of_hooks},
        only_sure=only_sure,
    )
    clients = _client_secrets(fields.get("auth"))
    return tuple(secret for secret in (*found, _user_info(url), *clients) if secret)


def shown_fields(fields: Mapping[str, Any], redactor: Redactor | None = None) -> dict[str, Any]:
    """Those fields that may hold secrets, without them; not ``env`` and ``headers``.

    Args:
        redactor: takes out what is known beside; None takes out what the fields themselves hold.
    """
    redactor = redactor or Redactor(written_secrets(fields))
    told = (*_ADDRESSES, *_OTHERS)
    return {name: _shown(fields[name], name, redactor) for name in told if fields.get(name)}


def _shown(value: Any, name: str, redactor: Redactor) -> Any:
    if isinstance(value, Mapping):
        return redactor.redact_values(blanked_given(value))
    if isinstance(value, tuple):
        told = blanked_arguments(value) if name == "args" else value
        return tuple(map(redactor.redact, told))
    return redactor.redact(redact_url(value) if name in _ADDRESSES else value)


def _client_secrets(auth: Any) -> Iterator[str]:
    """The secrets of our clients at the authorization server and at the identity provider."""
    for client in (auth, auth and auth.identity_provider):
        if client is not None and client.client_secret:
            yield client.client_secret


def _user_info(url: str) -> str:
    """``user:password`` as one secret, so that an address in a text does not name the user."""
    try:
        return urlsplit(url).netloc.rpartition("@")[0]
    except ValueError:
        return ""
