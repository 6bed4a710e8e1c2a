"""What a browser brings back from a login (RFC 6749 §4.1.2, RFC 9207)."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from host.text.terminal_text import one_line

PATH = "/callback"
MAX_WORDS_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """The answer of an authorization server, as the address that the browser was sent to has it.

    Attributes:
        code: to be traded for tokens; "" when ``problem`` says why there is none.
        issuer: who says it is answering; None when it does not say.
        problem: a clause about what went wrong; "" for nothing.
    """

    code: str = field(default="", repr=False)
    state: str = field(default="", repr=False)
    issuer: str | None = None
    problem: str = ""


def redirect_in(head: str, state: str) -> Redirect | None:
    """The answer in the first line of an HTTP request; None when the request is for another page.

    Args:
        head: the request up to the end of its first line at least.
        state: what was sent along, and must come back.
    """
    method, _, rest = head.partition(" ")
    target = rest.split(" ", 1)[0].split("\r", 1)[0]
    try:
        parts = urlsplit(target)
    except ValueError:
        return None
    if method != "GET" or parts.path != PATH:
        return None
    said = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if not hmac.compare_digest(said.get("state", "").encode(), state.encode()):
        return Redirect(problem="the answer belongs to no login of ours: its state is another one")
    if error := said.get("error"):
        why = said.get("error_description")
        shown = f"{one_line(error)} ({one_line(why)})" if why else one_line(error)
        return Redirect(problem=f"it was refused: {shown[:MAX_WORDS_CHARS]}")
    if not said.get("code"):
        return Redirect(problem="the answer holds no code")
    return Redirect(code=said["code"], state=state, issuer=said.get("iss"))
