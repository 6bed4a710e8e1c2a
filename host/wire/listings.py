"""What an endpoint says about its models: their names and how much each of them holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import anyio
import openai

from host.errors import EndpointRefused, EndpointUnavailable, WireError
from host.wire.exchange import exchange

LISTING_MISS_SECONDS = 30.0
"""How long an endpoint that does not list a model is not asked for it again; agent-core §14."""

LISTING_TIMEOUT_SECONDS = 10.0
"""How long a listing may take where the endpoint's settings name no limit."""

_WINDOW_FIELDS = (
    "context_length",
    "max_context_window",
    "max_model_len",
    "context_window",
    "n_ctx",
)
_ROUTE_IS_MISSING = (404, 405, 501)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """One model of a listing.

    Attributes:
        context_length: its window in tokens; 0 when the listing does not say.
        trained_only: the window is the one it was trained with; the server may hold less.
    """

    id: str
    context_length: int = 0
    trained_only: bool = False


def listed_models(body: object) -> tuple[ListedModel, ...] | None:
    """The models of a listing, by id; None for a body that is no listing.

    Read are ``{"data": […]}`` (OpenAI), ``{"models": […]}`` and a bare list.
    """
    entries = body
    if isinstance(body, Mapping):
        entries = body.get("data", body.get("models"))
    if not isinstance(entries, list):
        return None
    models = {model.id: model for entry in entries if (model := _listed(entry))}
    return tuple(models[name] for name in sorted(models))


def positive_int(value: object) -> int:
    """The number, whole, if it is a positive one; else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value < float("inf") else 0


def is_fresh(stamp: float | None, now: float, seconds: float) -> bool:
    """Whether less than ``seconds`` have passed since ``stamp``; None is never fresh."""
    return stamp is not None and now - stamp < seconds


class EndpointListing:
    """What is known of one endpoint's models, asked for when it is needed.

    A listing without the model is remembered for ``miss_seconds``, a failed one is not; an earlier
    good listing survives a failure. Two who ask at once send one request.
    """

    def __init__(self, *, miss_seconds: float = LISTING_MISS_SECONDS) -> None:
        self._miss_seconds = miss_seconds
        self._models: Mapping[str, ListedModel] = {}
        self._missed_at: dict[str, float] = {}
        self._served = _ServedWindows(miss_seconds)
        self._lock = anyio.Lock()

    async def refresh(self, client: openai.AsyncOpenAI) -> tuple[ListedModel, ...]:
        """Asks for the listing and keeps it.

        Raises:
            WireError: the endpoint did not answer with a list of models.
        """
        body = await _get(client, "/models")
        models = listed_models(body)
        if models is None:
            raise EndpointRefused(200, "the answer to /models is not a list of models")
        self._models = {model.id: model for model in models}
        return models

    async def window(self, client: openai.AsyncOpenAI, model: str) -> int:
        """The model's window in tokens, 0 when nobody says; never raises for the endpoint.

        A window in the listing settles it, unless it is only the trained one: then the server's
        own routes are asked for the one it serves.
        """
        async with self._lock:
            listed = await self._listed(client, model)
            if listed and listed.context_length and not listed.trained_only:
                return listed.context_length
            served = await self._served.window(client, model)
            return served or (listed.context_length if listed else 0)

    async def _listed(self, client: openai.AsyncOpenAI, model: str) -> ListedModel | None:
        if model in self._models or is_fresh(
            self._missed_at.get(model), anyio.current_time(), self._miss_seconds
        ):
            return self._models.get(model)
        try:
            await self.refresh(client)
        except WireError:
            return None
        if model not in self._models:
            self._missed_at[model] = anyio.current_time()
        return self._models.get(model)


@dataclass(slots=True)
class _ServedWindows:
    """Windows as llama.cpp and LM Studio serve them, on routes of their own."""

    miss_seconds: float
    windows: dict[str, int] = field(default_factory=dict)
    missed_at: dict[tuple[str, str], float] = field(default_factory=dict)
    missing_routes: set[str] = field(default_factory=set)

    async def window(self, client: openai.AsyncOpenAI, model: str) -> int:
        if model in self.windows:
            return self.windows[model]
        root = str(client.base_url).rstrip("/").removesuffix("/v1")
        for route, query in (("/props", f"?model={quote(model, safe='')}"), ("/api/v0/models", "")):
            if route in self.missing_routes or self._missed(route, model):
                continue
            try:
                body = await _get(client, f"{root}{route}{query}")
            except WireError as failure:
                if not _answered(failure):
                    return 0
                self._answered_no(route, model, getattr(failure, "status", None))
                continue
            if served := _served(body, model):
                self.windows[model] = served
                return served
            self.missed_at[route, model] = anyio.current_time()
        return 0

    def _missed(self, route: str, model: str) -> bool:
        return is_fresh(self.missed_at.get((route, model)), anyio.current_time(), self.miss_seconds)

    def _answered_no(self, route: str, model: str, status: int | None) -> None:
        if status in _ROUTE_IS_MISSING:
            self.missing_routes.add(route)
        else:
            self.missed_at[route, model] = anyio.current_time()


async def _get(client: openai.AsyncOpenAI, url: str) -> object:
    limit = client.timeout if isinstance(client.timeout, int | float) else LISTING_TIMEOUT_SECONDS
    return await exchange(client, url, limit_seconds=limit)


def _answered(failure: WireError) -> bool:
    """Whether it was an answer: LM Studio gives 200 and an error to routes it does not know."""
    if isinstance(failure, EndpointUnavailable):
        return failure.status is not None
    return isinstance(failure, EndpointRefused)


def _listed(entry: object) -> ListedModel | None:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("id"), str):
        return None
    windows = (positive_int(entry.get(name)) for name in _WINDOW_FIELDS)
    window = next((found for found in windows if found), 0)
    meta = entry.get("meta")
    trained = positive_int(meta.get("n_ctx_train")) if isinstance(meta, Mapping) else 0
    return ListedModel(
        id=entry["id"], context_length=window or trained, trained_only=not window and trained > 0
    )


def _served(body: object, model: str) -> int:
    match body:
        case {"default_generation_settings": {"n_ctx": window}}:
            return positive_int(window)
        case {"data": [*entries]}:
            found: list[Mapping[str, Any]] = [
                entry
                for entry in entries
                if isinstance(entry, Mapping) and entry.get("id") == model
            ]
            return positive_int(found[0].get("loaded_context_length")) if found else 0
        case _:
            return 0
