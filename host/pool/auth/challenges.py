"""Why a server refused a request, as its ``WWW-Authenticate`` header says it (RFC 6750, 9449)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ITEM = re.compile(r'(?:"(?:[^"\\]|\\.)*"?|[^",])+')
"""What stands between two commas, none of which is quoted."""
_PARAMETER = re.compile(
    r"(?:(?P<scheme>[\w!#$%&\'*+.^`|~-]+)\s+)?(?P<name>[\w-]+)\s*=\s*"
    r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]+))',
)
_SCHEME = re.compile(r"[\w!#$%&'*+.^`|~-]+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """A refusal: its HTTP status, and what the server wants instead.

    Attributes:
        wants_proof: tokens must be bound to a key; plain ones are not taken.
        error: RFC 6750's word for it; "" for none.
        scope: what the request needs; None when that is not said.
        resource_metadata: where the server describes its authorisation; None when not said.
    """

    status: int
    wants_proof: bool = False
    error: str = ""
    scope: str | None = None
    resource_metadata: str | None = None

    @property
    def is_step_up(self) -> bool:
        """Whether the token is good, but not for this."""
        return self.status == 403 and self.error == "insufficient_scope"

    @property
    def wants_nonce(self) -> bool:
        """Whether the same request is good with the server's nonce in its proof."""
        return self.error == "use_dpop_nonce"

    @property
    def is_for_tokens(self) -> bool:
        """Whether another token may help."""
        return self.status == 401 or self.is_step_up

    def header(self, scope: str | None) -> str:
        """The challenge as a header of its own, asking for this scope."""
        said = {"resource_metadata": self.resource_metadata, "scope": scope}
        written = (
            f'{name}="{value}"' for name, value in said.items() if value and '"' not in value
        )
        return f"Bearer {', '.join(written)}".rstrip()


def read_challenge(status: int, header: str | None) -> Challenge:
    """What a refusal with this ``WWW-Authenticate`` header (None for none) asks for."""
    found = list(_challenges(header or ""))
    schemes = {scheme.lower(): parameters for scheme, parameters in reversed(found)}
    wants_proof = "dpop" in schemes and "bearer" not in schemes
    said = schemes.get("dpop" if wants_proof else "bearer", {})
    return Challenge(
        status=status,
        wants_proof=wants_proof,
        error=said.get("error") or schemes.get("dpop", {}).get("error", ""),
        scope=said.get("scope") or None,
        resource_metadata=said.get("resource_metadata") or None,
    )


def _challenges(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each scheme with its parameters; what does not follow the grammar is passed over."""
    scheme, parameters = "", dict[str, str]()
    for item in _ITEM.findall(header):
        item = item.strip()
        parameter = _PARAMETER.fullmatch(item)
        opened = parameter["scheme"] if parameter else _scheme_of(item)
        if opened:
            if scheme:
                yield scheme, parameters
            scheme, parameters = opened, {}
        if parameter:
            quoted = parameter["quoted"]
            value = parameter["bare"] if quoted is None else _ESCAPED.sub(r"\1", quoted)
            parameters.setdefault(parameter["name"].lower(), value)
    if scheme:
        yield scheme, parameters


def _scheme_of(item: str) -> str:
    """The scheme of an item without parameters: alone, or before something like Base64."""
    matched = _SCHEME.match(item)
    if matched is None or item[matched.end() :].lstrip().startswith("="):
        return ""
    return matched[0]
