"""What kept a request from being answered, in words that say what to look at. No I/O."""

from __future__ import annotations

import re

_KNOWN = (
    (
        r"Name or service not known|nodename nor servname|name resolution|getaddrinfo",
        "its host name is unknown; check the row's url",
    ),
    (
        r"^ConnectError: (?:All connection attempts|all attempts to connect|.*Connection refused)",
        "nothing listens at its address; check the row's url, and that the server runs",
    ),
    (
        r"WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE|record layer failure",
        "what listens there does not speak TLS; its url may have to begin with http://",
    ),
    (r"^ConnectTimeout", "nothing accepts connections at its address; check the row's url"),
    (
        r"^RemoteProtocolError: Server disconnected|reset by peer",
        "what listens there hung up without an answer",
    ),
    (r"^RemoteProtocolError", "what listens there does not speak HTTP"),
)
_KNOWN_PATTERNS = tuple((re.compile(pattern), words) for pattern, words in _KNOWN)
_UNTRUSTED = re.compile(r"certificate verify failed: (?P<why>.*?)\.?(?: \(_ssl\.c:\d+\))?$")
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout")


def network_words(failure: str) -> str:
    """A clause without its subject for a failed exchange.

    Args:
        failure: the error's class and text, ``ConnectError: …``.
    """
    if found := _UNTRUSTED.search(failure):
        remedy = "SSL_CERT_FILE can name the certificate of its authority"
        return f"could not be reached: its certificate is not trusted ({found['why']}); {remedy}"
    for pattern, words in _KNOWN_PATTERNS:
        if pattern.search(failure):
            return f"could not be reached: {words}"
    return f"could not be reached ({failure})"


def was_never_sent(failure: str) -> bool:
    """Whether the failure came before anything of the request was sent."""
    return failure.startswith(_NEVER_SENT)
