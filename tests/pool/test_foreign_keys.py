from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.pool.foreign_keys import (
    FOREIGN_KEYS,
    OUR_EQUIVALENTS,
    foreign_key_notice,
    split_foreign_keys,
)
from host.pool.rows import field_names, hook_field_names

OURS = (*field_names("stdio"), *field_names("http"))
BODIES = st.dictionaries(st.sampled_from([*OURS, *sorted(FOREIGN_KEYS), "typo"]), st.integers())


@given(BODIES)
def test_a_body_splits_into_what_is_ours_and_what_is_not(body: dict[str, int]) -> None:
    known, dropped = split_foreign_keys(body)

    assert list(dropped) == [key for key in body if key in FOREIGN_KEYS]
    assert known == {key: value for key, value in body.items() if key not in dropped}
    assert all(f'"{key}"' in foreign_key_notice(key) for key in dropped)


def test_none_of_our_own_keys_is_foreign() -> None:
    assert FOREIGN_KEYS.isdisjoint({*OURS, *hook_field_names()})


def test_the_keys_that_the_ruling_names_are_known() -> None:
    named = "autoApprove alwaysAllow timeout disabledTools icon description inputs"

    assert FOREIGN_KEYS.issuperset(named.split())


def test_a_notice_names_our_own_key_where_there_is_one() -> None:
    assert "callTimeoutMs" in foreign_key_notice("timeout")
    assert "ours" not in foreign_key_notice("icon")


def test_what_has_an_equivalent_is_foreign_and_the_equivalent_is_ours() -> None:
    assert FOREIGN_KEYS.issuperset(OUR_EQUIVALENTS)
    assert {*OURS, "agent.approve"}.issuperset(OUR_EQUIVALENTS.values())
