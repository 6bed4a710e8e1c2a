"""The registry: what it keeps of each endpoint, and for how long."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from host.errors import EndpointUnavailable
from host.wire.clients import Endpoints
from host.wire.settings import NO_KEY, EndpointSettings
from host.wire.side_tasks import ask
from tests.fakes.endpoint import FakeEndpoint, as_json, lost, whole

HERE = EndpointSettings(base_url="http://here.test/v1", api_key="sk-secret-here")
THERE = EndpointSettings(base_url="http://there.test/v1")
LISTING = as_json({"data": [{"id": "b", "n_ctx": 4096}, {"id": "A"}]})


def _endpoints(endpoint: FakeEndpoint | None = None) -> Endpoints:
    return Endpoints(
        open_http=(endpoint or FakeEndpoint()).http,
        now=lambda: datetime(2026, 5, 4, tzinfo=UTC),
    )


async def test_models_are_listed_by_id_and_serve_as_listing_afterwards() -> None:
    endpoint = FakeEndpoint(routes={"/v1/models": [LISTING]})
    async with _endpoints(endpoint) as endpoints:
        models = await endpoints.list_models(HERE)
        assert [(model.id, model.context_length) for model in models] == [("A", 0), ("b", 4096)]
        assert await endpoints.context_limit(HERE, "b") == 4096
    assert endpoint.asked("/v1/models") == 1


async def test_a_query_of_the_base_url_is_part_of_every_request_and_of_no_path() -> None:
    props = as_json({"default_generation_settings": {"n_ctx": 2048}})
    endpoint = FakeEndpoint(
        whole("x"), routes={"/openai/v1/models": [LISTING], "/openai/props": [props]}
    )
    settings = EndpointSettings(base_url="http://here.test/openai/v1?api-version=2024-10-21")
    async with _endpoints(endpoint) as endpoints:
        assert await endpoints.context_limit(settings, "A") == 2048
        assert await ask(endpoints, settings, "A", "be brief", "why?") == "x"
    assert endpoint.paths == [
        "/openai/v1/models?api-version=2024-10-21",
        "/openai/props?model=A&api-version=2024-10-21",
        "/openai/v1/chat/completions?api-version=2024-10-21",
    ]


async def test_a_listing_that_fails_is_reported_to_who_asked_for_it() -> None:
    endpoint = FakeEndpoint(routes={"/v1/models": [lost()]})
    async with _endpoints(endpoint) as endpoints:
        with pytest.raises(EndpointUnavailable):
            await endpoints.list_models(HERE)
        assert await endpoints.context_limit(HERE, "b") == 0


async def test_a_declared_window_is_taken_without_asking() -> None:
    endpoint = FakeEndpoint()
    async with _endpoints(endpoint) as endpoints:
        assert await endpoints.context_limit(HERE, "b", 5000) == 5000
    assert endpoint.requests == []


async def test_what_is_learned_is_kept_per_url_and_key() -> None:
    async with _endpoints() as endpoints:
        assert endpoints.capabilities(HERE) is endpoints.capabilities(HERE)
        assert endpoints.calibration(HERE) is endpoints.calibration(HERE)
        other_key = EndpointSettings(base_url=HERE.base_url, api_key="sk-other")
        assert endpoints.capabilities(other_key) is not endpoints.capabilities(HERE)
        keyless = [
            EndpointSettings(base_url=THERE.base_url, api_key=key) for key in (None, "", NO_KEY)
        ]
        assert len({id(endpoints.capabilities(settings)) for settings in keyless}) == 1


async def test_an_export_is_read_by_another_registry_into_live_objects() -> None:
    async with _endpoints() as first, _endpoints() as second:
        first.capabilities(HERE).strict_schemas = False
        first.capabilities(HERE).for_model("m").thinking_hints = False
        first.capabilities(THERE)
        blob = first.export_capabilities()
        assert len(blob["endpoints"]) == 1
        text = json.dumps(blob)
        assert "sk-secret" not in text
        assert "here.test" not in text
        live = second.capabilities(HERE)
        assert second.import_capabilities(json.loads(text))
        assert not live.strict_schemas
        assert not live.for_model("m").thinking_hints
        assert live.usage_in_stream


@pytest.mark.parametrize("blob", [None, "x", {"version": 0, "endpoints": {}}])
async def test_what_is_no_export_is_not_imported(blob: object) -> None:
    async with _endpoints() as endpoints:
        assert not endpoints.import_capabilities(blob)
        assert endpoints.export_capabilities()["endpoints"] == {}


async def test_an_import_turns_nothing_on() -> None:
    async with _endpoints() as endpoints:
        endpoints.capabilities(HERE).strict_schemas = False
        blob = endpoints.export_capabilities()
        for entry in blob["endpoints"].values():
            entry["strictSchemas"] = True
        assert endpoints.import_capabilities(blob)
        assert not endpoints.capabilities(HERE).strict_schemas


async def test_one_endpoint_is_forgotten_and_the_others_are_not() -> None:
    async with _endpoints() as endpoints:
        known, readings = endpoints.capabilities(HERE), endpoints.calibration(HERE)
        known.strict_schemas = endpoints.capabilities(THERE).strict_schemas = False
        assert endpoints.reset_capabilities(HERE)
        assert not endpoints.reset_capabilities(HERE)
        assert endpoints.capabilities(HERE).strict_schemas
        assert endpoints.calibration(HERE) is not readings
        assert not endpoints.capabilities(THERE).strict_schemas


@pytest.mark.parametrize(
    ("max_age_seconds", "forgotten"), [(3601, []), (3600, ["here"]), (0, ["here", "there"])]
)
async def test_what_was_learned_long_ago_expires(
    max_age_seconds: float, forgotten: list[str]
) -> None:
    clock = [datetime(2026, 5, 4, 12, tzinfo=UTC)]
    async with Endpoints(open_http=FakeEndpoint().http, now=lambda: clock[0]) as endpoints:
        known = {"here": endpoints.capabilities(HERE)}
        clock[0] += timedelta(hours=1)
        known["there"] = endpoints.capabilities(THERE)
        readings = endpoints.calibration(HERE)
        assert endpoints.expire_capabilities(max_age_seconds) == len(forgotten)
        for name, settings in (("here", HERE), ("there", THERE)):
            assert (endpoints.capabilities(settings) is known[name]) == (name not in forgotten)
        assert (endpoints.calibration(HERE) is readings) == ("here" not in forgotten)


async def test_the_age_of_an_imported_refusal_is_that_of_its_first_word() -> None:
    async with _endpoints() as old, Endpoints(open_http=FakeEndpoint().http) as new:
        old.capabilities(HERE).strict_schemas = False
        assert new.import_capabilities(old.export_capabilities())
        assert new.expire_capabilities(3600) == 1
        assert new.capabilities(HERE).strict_schemas


async def test_a_reset_forgets_all_of_it() -> None:
    endpoint = FakeEndpoint(routes={"/v1/models": [LISTING]})
    async with _endpoints(endpoint) as endpoints:
        client, known = endpoints.client(HERE), endpoints.capabilities(HERE)
        readings = endpoints.calibration(HERE)
        await endpoints.list_models(HERE)
        endpoints.reset()
        assert endpoints.client(HERE) is not client
        assert endpoints.capabilities(HERE) is not known
        assert endpoints.calibration(HERE) is not readings
        await endpoints.context_limit(HERE, "b")
    assert endpoint.asked("/v1/models") == 2
    assert client.is_closed()
