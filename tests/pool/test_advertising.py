from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CLIENT_CAPABILITIES_META_KEY

from host.pool.advertising import correct_capabilities

MODES = st.frozensets(st.sampled_from(["form", "url", "voice"]))
CAPABILITIES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "elicitation": st.dictionaries(st.sampled_from(["form", "url"]), st.just({}))
        | st.none()
        | st.just(5),
        "sampling": st.just({}),
        "roots": st.just({"listChanged": True}),
    },
)


@given(CAPABILITIES | st.none(), CAPABILITIES | st.none(), MODES)
def test_of_what_is_told_only_the_other_kinds_of_question_go(
    handshake: dict[str, Any] | None, each: dict[str, Any] | None, modes: frozenset[str]
) -> None:
    params: dict[str, Any] = {"name": "x"}
    if handshake is not None:
        params["capabilities"] = handshake
    if each is not None:
        params["_meta"] = {CLIENT_CAPABILITIES_META_KEY: each, "other": 1}
    before = copy.deepcopy(params)

    correct_capabilities(params, modes)

    for told, was in (
        (params.get("capabilities"), before.get("capabilities")),
        (_of_meta(params), _of_meta(before)),
    ):
        if isinstance(was, dict) and isinstance(was.get("elicitation"), dict):
            kept: dict[str, Any] = {mode: {} for mode in was["elicitation"] if mode in modes}
            assert told == {**was, "elicitation": kept}
        else:
            assert told == was
    assert params["name"] == "x"


def _of_meta(params: dict[str, Any]) -> Any:
    return params.get("_meta", {}).get(CLIENT_CAPABILITIES_META_KEY)
