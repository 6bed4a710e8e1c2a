"""Failures of the network name what to look at; those before anything was sent are told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.network_words import network_words, was_never_sent

CLASSES = ("ConnectError", "ConnectTimeout", "ReadError", "RemoteProtocolError", "WriteError")
TEXTS = (
    "[Errno -2] Name or service not known",
    "All connection attempts failed",
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed (_ssl.c:1006)",
    "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)",
    "Server disconnected without sending a response.",
    "",
    "something else",
)


@given(st.sampled_from(CLASSES), st.sampled_from(TEXTS))
def test_every_failure_is_one_clause_and_only_failed_connections_were_never_sent(
    kind: str, text: str
) -> None:
    failure = f"{kind}: {text}" if text else kind
    words = network_words(failure)
    assert words.startswith("could not be reached")
    assert "_ssl.c" not in words
    assert was_never_sent(failure) == kind.startswith("Connect")


MISMATCH = (
    "ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "
    "Hostname mismatch, not valid for 'a.test'. (_ssl.c:1006)"
)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ("ConnectError: [Errno -2] Name or service not known", "its host name is unknown"),
        (
            "ConnectError: [Errno -3] Temporary failure in name resolution",
            "its host name is unknown",
        ),
        ("ConnectError: All connection attempts failed", "nothing listens at its address"),
        ("ConnectError: all attempts to connect to a.test:1 failed", "nothing listens at its"),
        ("ConnectError: [Errno 111] Connection refused", "nothing listens at its address"),
        (MISMATCH, "is not trusted (Hostname mismatch, not valid for 'a.test'); SSL_CERT_FILE"),
        ("ConnectError: [SSL: WRONG_VERSION_NUMBER] wrong version", "does not speak TLS"),
        ("ConnectTimeout", "nothing accepts connections"),
        ("RemoteProtocolError: Server disconnected without sending a response.", "hung up"),
        ("ReadError: [Errno 104] Connection reset by peer", "hung up"),
        ("RemoteProtocolError: illegal status line: bytearray(b'SSH-2.0')", "not speak HTTP"),
        ("ReadError: cut", "could not be reached (ReadError: cut)"),
    ],
)
def test_the_usual_failures_say_what_to_look_at(failure: str, words: str) -> None:
    assert words in network_words(failure)
