"""What is shown of a body holds no secret, and can still be read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.import_secrets import SecretsTaken
from host.pool.row_import import from_mcp_servers_json
from host.pool.variables import expand_row


def shown(body: dict[str, Any]) -> dict[str, Any]:
    return SecretsTaken().body("gh", body)


@pytest.mark.parametrize(
    ("body", "safe"),
    [
        ({"env": {"GH_TOKEN": "ghp_x"}}, {"env": {"GH_TOKEN": "${GH_TOKEN}"}}),
        ({"env": {"my-key": "k"}}, {"env": {"my-key": "${GH_MY_KEY}"}}),
        (
            {"env": {"DEBUG": "true", "E": "", "A": "${A}", "B": "{env:B}x"}},
            {"env": {"DEBUG": "true", "E": "", "A": "${A}", "B": "{env:B}x"}},
        ),
        ({"env": {"A_KEY": "${A:-sk-1}"}}, {"env": {"A_KEY": "${A}"}}),
        ({"env": {"A_KEY": "sk-${A:-1}"}}, {"env": {"A_KEY": "${A_KEY}"}}),
        ({"env": {"DIR": "${HOME}/x"}}, {"env": {"DIR": "${HOME}/x"}}),
        ({"env": {"DB": "pg://u:pw1234@${H}/d"}}, {"env": {"DB": "${DB}"}}),
        (
            {"headers": {"Authorization": "Bearer x${T:-abc}"}},
            {"headers": {"Authorization": "Bearer ${GH_AUTHORIZATION}"}},
        ),
        ({"env": {"REGION": "${R:-eu}"}}, {"env": {"REGION": "${R:-eu}"}}),
        (
            {"headers": {"Authorization": "Bearer abc", "Accept": "x/y"}},
            {"headers": {"Authorization": "Bearer ${GH_AUTHORIZATION}", "Accept": "x/y"}},
        ),
        (
            {"headers": {"Authorization": "Bearer ${T:-abc}"}},
            {"headers": {"Authorization": "Bearer ${T}"}},
        ),
        ({"url": "https://h/mcp"}, {"url": "https://h/mcp"}),
        (
            {"url": "https://u:p@h:1/mcp?key=1&v=${V}&1#a"},
            {"url": "https://u:${GH_PASSWORD}@h:1/mcp?key=${GH_KEY}&v=${V}&${GH_QUERY}#a"},
        ),
        ({"url": "https://tok@h"}, {"url": "https://${GH_USER}@h"}),
        ({"url": "https://h/#key=abc"}, {"url": "${GH_URL}"}),
        ({"url": "${WHOLE}"}, {"url": "${WHOLE}"}),
        ({"args": ["--api-key", "sk-1", "x"]}, {"args": ["--api-key", "${GH_API_KEY}", "x"]}),
        ({"args": ["--api-key=sk-1"]}, {"args": ["--api-key=${GH_API_KEY}"]}),
        ({"args": ["--token", "--flag"]}, {"args": ["--token", "--flag"]}),
        ({"args": ["-e", "PLAIN=abc"]}, {"args": ["-e", "PLAIN=${GH_PLAIN}"]}),
        ({"args": ["mode=fast", "a:b", 5]}, {"args": ["mode=fast", "a:b", 5]}),
        (
            {"args": ["https://h/sse", "--header", "Authorization: Bearer abc"]},
            {"args": ["https://h/sse", "--header", "Authorization: Bearer ${GH_AUTHORIZATION}"]},
        ),
        (
            {"args": ["postgres://u:pw@h/db", "--db=postgres://u:pw@h/db"]},
            {"args": ["postgres://u:${GH_PASSWORD}@h/db", "--db=postgres://u:${GH_PASSWORD}@h/db"]},
        ),
        (
            {"auth": {"clientId": "me", "clientSecret": "s", "scope": "a"}},
            {"auth": {"clientId": "me", "clientSecret": "${GH_CLIENT_SECRET}", "scope": "a"}},
        ),
        (
            {"env": 5, "headers": [], "url": 5, "args": "x"},
            {"env": 5, "headers": [], "url": 5, "args": "x"},
        ),
    ],
)
def test_a_secret_is_a_variable(body: dict[str, Any], safe: dict[str, Any]) -> None:
    assert shown(body) == safe


def test_variables_are_told_with_their_places_and_differ_where_values_do() -> None:
    taken = SecretsTaken()
    taken.body("a", {"env": {"TOKEN": "one"}})
    taken.body("b", {"env": {"TOKEN": "two"}})
    again = taken.body("c", {"env": {"TOKEN": "one"}})

    assert taken.variables == {"TOKEN": "a: env.TOKEN", "TOKEN_2": "b: env.TOKEN"}
    assert again == {"env": {"TOKEN": "${TOKEN}"}}


SECRET = "s3cr3t"
"""Nothing else in what is generated has these characters."""

SECRETS = st.from_regex(rf"{SECRET}[a-f]{{2,6}}", fullmatch=True)


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    secret = draw(SECRETS)
    if draw(st.booleans()):
        prefix = draw(st.sampled_from(["", "Bearer ", "Basic ", "token "]))
        user = draw(st.sampled_from(["", f"{secret}@", f"ada:{secret}@"]))
        query = draw(st.sampled_from(["", f"?key={secret}", f"?a=b&{secret}", f"?x={secret};y=1"]))
        headers = {draw(st.sampled_from(["Authorization", "X-Api-Key", "Cookie"])): prefix + secret}
        return {"url": f"https://{user}h.example/mcp{query}", "headers": headers}
    name = draw(st.sampled_from(["API_KEY", "LEVEL", "odd name"]))
    flag = draw(st.sampled_from(["--token", "--api-key", "--password", "--auth"]))
    args = draw(
        st.sampled_from(
            [
                [flag, secret],
                [f"{flag}={secret}"],
                ["--header", f"Authorization: Bearer {secret}"],
                ["-H", f"X-Custom: {secret}"],
                ["-e", f"{name.replace(' ', '_')}={secret}"],
                [f"https://ada:{secret}@h.example/"],
                [f"https://h.example/?k={secret}"],
            ]
        )
    )
    return {"command": "x", "args": ["-y", *args], "env": {name: secret}}


@given(st.dictionaries(st.sampled_from(["a", "b.c", "é"]), bodies(), min_size=1))
def test_no_secret_is_shown_and_its_variables_bring_it_back(
    servers: dict[str, dict[str, Any]],
) -> None:
    taken = SecretsTaken()
    safe = {key: taken.body(key, body) for key, body in servers.items()}

    assert SECRET not in json.dumps([safe, taken.variables])
    assert [row.id for row in from_mcp_servers_json({"mcpServers": safe}, env={})] == [*servers]
    values = dict(taken._values)
    assert {key: expand_row(body, values)[0] for key, body in safe.items()} == servers
