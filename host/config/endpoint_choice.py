"""Which endpoint to ask, with which key: flags before the file before the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from host.text.redaction import redact_url
from host.wire.settings import EndpointSettings, resolve_api_key

OPENAI_BASE_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointWish:
    """What one place (flags, file, environment) says about the endpoint; None for nothing.

    Attributes:
        gguf: the path of a model's file, to be served here instead of asking an address.
    """

    base_url: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    gguf: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWish:
    """A model's file that is to be served here.

    Attributes:
        name: what to call the model; None for the file's own name.
        origin: where the path comes from, in words for a person.
    """

    path: str
    name: str | None
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointChoice:
    """The endpoint that was chosen.

    Attributes:
        model: None when no place names one that belongs to this endpoint.
        origin: where the address comes from, in words for a person.
    """

    base_url: str = field(repr=False)
    api_key: str = field(repr=False)
    model: str | None
    origin: str

    @property
    def shown_url(self) -> str:
        """The address for people to read, without the credentials it may hold."""
        return redact_url(self.base_url)


def environment_wish(env: Mapping[str, str]) -> EndpointWish:
    """What ``OPENAI_BASE_URL``, ``OPENAI_API_KEY`` and ``OPENAI_MODEL`` say; blank is unset.

    A key alone means OpenAI's own endpoint.
    """
    base_url, api_key, model = (
        env.get(name, "").strip() or None
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL")
    )
    return EndpointWish(
        base_url=base_url or (OPENAI_BASE_URL if api_key else None), api_key=api_key, model=model
    )


def choose_endpoint(
    *, flags: EndpointWish, file: EndpointWish, environment: EndpointWish
) -> EndpointChoice | None:
    """The endpoint to ask, or None when no place names an address.

    Each place overrides what the next one says. A key is sent only to the address it was given
    for (agent-core §14), and a model is asked only of the endpoint it was named for.
    """
    chosen: EndpointChoice | None = None
    places = ((environment, "the environment"), (file, "the servers file"), (flags, "the flags"))
    for wish, origin in places:
        chosen = _overridden(chosen, wish, origin)
    return chosen


def choose_file(*, flags: EndpointWish, file: EndpointWish, source: str) -> FileWish | None:
    """The model's file to serve, or None when an address is to be asked.

    What the flags say overrides what the servers file says, be it a path or an address.

    Args:
        source: the servers file's own path.
    """
    if flags.gguf is not None:
        return FileWish(path=flags.gguf, name=flags.model, origin="--gguf")
    if file.gguf is None or flags.base_url is not None:
        return None
    return FileWish(path=file.gguf, name=flags.model or file.model, origin=f"{source}: agent.gguf")


def _overridden(
    below: EndpointChoice | None, wish: EndpointWish, origin: str
) -> EndpointChoice | None:
    base_url = wish.base_url or (below.base_url if below else None)
    if base_url is None:
        return None
    own = EndpointSettings(base_url=wish.base_url or "", api_key=wish.api_key)
    inherited = None
    if below is not None:
        inherited = EndpointSettings(base_url=below.base_url, api_key=below.api_key)
    same_place = below is not None and _address(below.base_url) == _address(base_url)
    return EndpointChoice(
        base_url=base_url,
        api_key=resolve_api_key(own, inherited, env={}),
        model=wish.model or (below.model if below and same_place else None),
        origin=origin if wish.base_url or below is None else below.origin,
    )


def _address(base_url: str) -> str:
    return base_url.strip().rstrip("/")
