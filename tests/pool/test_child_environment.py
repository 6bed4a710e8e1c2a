"""Children inherit everything but secrets that their row does not name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.child_environment import (
    MINIMAL_CHILD_ENV,
    ChildEnv,
    child_environment,
    is_secret_name,
)

NAMES = st.sampled_from(
    ["PATH", "HOME", "OPENAI_API_KEY", "GITHUB_TOKEN", "db_password", "A_SECRET", "TOKENS", "LLM"]
)
ENV = st.dictionaries(NAMES, st.sampled_from(["1", "two"]))


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("OPENAI_API_KEY", True),
        ("github_token", True),
        ("X_SECRET", True),
        ("DB_PASSWORD", True),
        ("TOKEN_LIMIT", False),
        ("PATH", False),
        ("MY_LLM", True),
    ],
)
def test_secrets_are_known_by_the_ends_of_their_names(name: str, is_secret: bool) -> None:
    assert is_secret_name(name, {"MY_LLM"}) is is_secret


@given(ENV, ENV, st.sets(NAMES))
def test_a_child_sees_no_secret_that_its_row_does_not_give_it(
    inherited: dict[str, str], own: dict[str, str], secrets: set[str]
) -> None:
    seen = child_environment(inherited, own, secret_env=secrets)
    for name in inherited | own:
        if name in own:
            assert seen[name] == own[name]
        else:
            assert (name in seen) is not is_secret_name(name, secrets)
    assert set(seen) <= set(inherited | own)


@given(ENV, ENV, st.sampled_from(["all", ("PATH", "GITHUB_TOKEN"), (), MINIMAL_CHILD_ENV]))
def test_a_row_may_ask_for_everything_or_for_names(
    inherited: dict[str, str], own: dict[str, str], wanted: ChildEnv
) -> None:
    seen = child_environment(inherited, own, child_env=wanted)
    names = set(inherited) if wanted == "all" else set(wanted or ()) & set(inherited)
    assert set(seen) == names | set(own)
