"""Models and windows, as endpoints list and serve them."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import EndpointRefused, EndpointSilent
from host.wire.listings import (
    EndpointListing,
    ListedModel,
    is_fresh,
    listed_models,
    positive_int,
)
from tests.fakes.endpoint import FakeEndpoint, Reply, as_json, lost, refused

MODELS = "/v1/models"
PROPS = "/props"
LM_STUDIO = "/api/v0/models"


def _listing(*entries: dict[str, Any]) -> Reply:
    return as_json({"object": "list", "data": list(entries)})


def _props(window: int) -> Reply:
    return as_json({"default_generation_settings": {"n_ctx": window}, "total_slots": 1})


class _Listing:
    """A listing over a fake endpoint."""

    def __init__(self, **routes: Reply | list[Reply]) -> None:
        paths = {"models": MODELS, "props": PROPS, "lm_studio": LM_STUDIO}
        self.endpoint = FakeEndpoint(
            routes={
                paths[name]: replies if isinstance(replies, list) else [replies]
                for name, replies in routes.items()
            }
        )
        self._client = self.endpoint.client()
        self._listing = EndpointListing()

    async def window(self, model: str = "m") -> int:
        return await self._listing.window(self._client, model)

    async def refresh(self) -> tuple[ListedModel, ...]:
        return await self._listing.refresh(self._client)


_windows = st.one_of(st.integers(-1, 10**6), st.sampled_from([None, "8192", True, 0.0, 4096.0]))


@given(
    st.lists(
        st.fixed_dictionaries(
            {"id": st.sampled_from(["Zeta", "alpha", "m", 7, None])},
            optional={
                "context_length": _windows,
                "max_model_len": _windows,
                "n_ctx": _windows,
                "meta": st.one_of(st.none(), st.fixed_dictionaries({"n_ctx_train": _windows})),
            },
        ),
        max_size=5,
    ),
    st.sampled_from(["data", "models", None]),
)
def test_a_listing_reads_the_same_under_every_wrapping_and_in_order(
    entries: list[dict[str, Any]], key: str | None
) -> None:
    models = listed_models(entries if key is None else {key: entries})
    assert models is not None
    names = [model.id for model in models]
    assert names == sorted({entry["id"] for entry in entries if isinstance(entry["id"], str)})
    for model in models:
        entry = [entry for entry in entries if entry["id"] == model.id][-1]
        stated = [entry.get(name) for name in ("context_length", "max_model_len", "n_ctx")]
        served = next((int(one or 0) for one in stated if positive_int(one)), 0)
        trained = positive_int((entry.get("meta") or {}).get("n_ctx_train"))
        assert model.context_length == (served or trained)
        assert model.trained_only == (not served and trained > 0)


@pytest.mark.parametrize("body", [None, "x", {}, {"data": None}, {"data": {"id": "m"}}, 3])
def test_what_is_no_list_is_no_listing(body: object) -> None:
    assert listed_models(body) is None


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), (3.0, 3), (0, 0), (-1, 0), (True, 0), ("3", 0), (float("nan"), 0), (1e400, 0)],
)
def test_only_a_positive_number_counts(value: object, number: int) -> None:
    assert positive_int(value) == number


async def test_a_listed_window_settles_it_with_one_listing_and_nothing_else() -> None:
    listing = _Listing(models=_listing({"id": "m", "max_model_len": 32768}))
    assert [await listing.window(), await listing.window()] == [32768, 32768]
    assert listing.endpoint.paths == [MODELS]


async def test_two_who_ask_at_once_send_one_request() -> None:
    reply = _listing({"id": "m", "n_ctx": 4096})
    reply.before_seconds = 3
    listing, found = _Listing(models=reply), list[int]()

    async def ask() -> None:
        found.append(await listing.window())

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        group.start_soon(ask)
    assert found == [4096, 4096]
    assert listing.endpoint.asked(MODELS) == 1


async def test_an_absent_model_is_asked_for_again_only_after_thirty_seconds() -> None:
    listing = _Listing(models=_listing({"id": "other"}))
    began = anyio.current_time()
    assert [await listing.window(), await listing.window()] == [0, 0]
    assert listing.endpoint.asked(MODELS) == 1
    await anyio.sleep_until(began + 29)
    await listing.window()
    assert listing.endpoint.asked(MODELS) == 1  # and the stamp was not refreshed by asking
    await anyio.sleep_until(began + 31)
    await listing.window()
    assert listing.endpoint.asked(MODELS) == 2


@pytest.mark.parametrize(
    ("stamp", "now", "fresh"), [(None, 0, False), (5, 5, True), (5, 34.9, True), (5, 35, False)]
)
def test_a_miss_expires_exactly_at_its_age(stamp: float | None, now: float, fresh: bool) -> None:
    assert is_fresh(stamp, now, 30) is fresh


async def test_a_second_absent_model_is_a_miss_of_its_own() -> None:
    listing = _Listing(models=_listing({"id": "other"}))
    assert [await listing.window("m"), await listing.window("n")] == [0, 0]
    assert listing.endpoint.asked(MODELS) == 2


async def test_a_failed_listing_is_asked_for_again_at_once() -> None:
    listing = _Listing(models=lost())
    assert [await listing.window(), await listing.window()] == [0, 0]
    assert listing.endpoint.asked(MODELS) == 2


async def test_an_earlier_good_listing_survives_a_failure() -> None:
    good = _listing({"id": "m", "n_ctx": 4096})
    listing = _Listing(models=[good, refused(500, "oops")])
    await listing.refresh()
    assert await listing.window("absent") == 0
    assert await listing.window("m") == 4096


async def test_llama_cpp_serves_less_than_was_trained() -> None:
    listing = _Listing(
        models=_listing({"id": "m", "meta": {"n_ctx_train": 262144}}), props=_props(16384)
    )
    assert [await listing.window(), await listing.window()] == [16384, 16384]
    assert listing.endpoint.asked(PROPS) == 1
    assert listing.endpoint.asked(LM_STUDIO) == 0
    props = next(r for r in listing.endpoint.requests if r.url.path == PROPS)
    assert props.url.params["model"] == "m"
    assert "authorization" in props.headers


async def test_unreachable_native_routes_leave_the_trained_window_and_are_asked_again() -> None:
    listing = _Listing(models=_listing({"id": "m", "meta": {"n_ctx_train": 262144}}), props=lost())
    assert [await listing.window(), await listing.window()] == [262144, 262144]
    assert listing.endpoint.asked(PROPS) == 2


async def test_lm_studio_says_what_it_has_loaded() -> None:
    entries = [{"id": "other", "loaded_context_length": 1}, {"id": "m", "loaded_context_length": 9}]
    listing = _Listing(models=_listing({"id": "m"}), lm_studio=as_json({"data": entries}))
    assert [await listing.window(), await listing.window()] == [9, 9]
    assert (listing.endpoint.asked(PROPS), listing.endpoint.asked(LM_STUDIO)) == (1, 1)


async def test_lm_studio_is_asked_although_it_answers_200_to_what_it_does_not_know() -> None:
    unknown = as_json({"error": "Unexpected endpoint or method. (GET /props)"})
    loaded = as_json({"data": [{"id": "m", "loaded_context_length": 4096}]})
    listing = _Listing(models=_listing({"id": "m"}), props=unknown, lm_studio=loaded)
    assert [await listing.window(), await listing.window()] == [4096, 4096]
    assert (listing.endpoint.asked(PROPS), listing.endpoint.asked(LM_STUDIO)) == (1, 1)


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_route_that_is_not_there_is_never_asked_for_again(status: int) -> None:
    missing = refused(status, "no")
    listing = _Listing(models=_listing({"id": "m"}), props=missing, lm_studio=missing)
    assert await listing.window() == 0
    await anyio.sleep(10_000)
    assert await listing.window() == 0
    assert (listing.endpoint.asked(PROPS), listing.endpoint.asked(LM_STUDIO)) == (1, 1)


@pytest.mark.parametrize(
    "reply", [refused(401, "no"), refused(500, "no"), as_json({}), as_json([]), _props(0)]
)
async def test_a_route_that_answers_without_a_window_is_asked_again_later(reply: Reply) -> None:
    listing = _Listing(models=_listing({"id": "m"}), props=reply, lm_studio=refused(404, "no"))
    assert [await listing.window(), await listing.window()] == [0, 0]
    assert listing.endpoint.asked(PROPS) == 1
    await anyio.sleep(31)
    await listing.window()
    assert listing.endpoint.asked(PROPS) == 2


async def test_a_mute_endpoint_costs_ten_seconds_a_route_and_no_more() -> None:
    mute = Reply(before_seconds=10**6)
    listing, began = _Listing(models=mute, props=mute), anyio.current_time()
    assert await listing.window() == 0
    assert anyio.current_time() - began == pytest.approx(20, abs=1)
    with pytest.raises(EndpointSilent):
        await listing.refresh()


@pytest.mark.parametrize(
    "reply", [as_json({"models": None}), Reply(pieces=("<html>",)), as_json({"error": "no"})]
)
async def test_an_answer_that_is_no_listing_is_a_refusal(reply: Reply) -> None:
    with pytest.raises(EndpointRefused):
        await _Listing(models=reply).refresh()
