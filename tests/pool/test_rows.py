from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from host.pool.rows import (
    HookRow,
    HttpServerRow,
    RowFault,
    ServerRow,
    StdioServerRow,
    copied_row,
    field_names,
    hook_field_names,
    read_row,
    same_connection,
)


def stdio(**fields: Any) -> StdioServerRow:
    return StdioServerRow(**({"id": "a", "command": "x"} | fields))


def http(**fields: Any) -> HttpServerRow:
    return HttpServerRow(**({"id": "a", "url": "http://h"} | fields))


def test_json_is_camel_case_and_python_is_snake_case() -> None:
    row = read_row(
        {
            "id": "a",
            "transport": "stdio",
            "command": "x",
            "idleTimeoutMs": 5,
            "hiddenTools": ["t"],
            "hooks": [{"id": "h", "on": "afterTurn", "tool": "t", "timeoutMs": 1}],
            "childEnv": ["PATH"],
        }
    )

    assert row == stdio(
        idle_timeout_ms=5,
        hidden_tools=["t"],
        hooks=[HookRow(id="h", on="afterTurn", tool="t", timeout_ms=1)],
        child_env=("PATH",),
    )
    assert isinstance(row, StdioServerRow)
    assert row.model_dump(by_alias=True, exclude_unset=True)["hooks"][0]["timeoutMs"] == 1


@pytest.mark.parametrize(
    ("slug", "label", "effective"),
    [
        (None, None, ("a", "a")),
        ("", "", ("a", "a")),
        ("s", None, ("s", "s")),
        ("s", "L", ("s", "L")),
        (None, "L", ("a", "L")),
    ],
)
def test_slug_and_label_fall_back_when_empty(
    slug: str | None, label: str | None, effective: tuple[str, str]
) -> None:
    row = stdio(slug=slug, label=label)

    assert (row.effective_slug, row.effective_label) == effective


def test_null_is_absent_for_every_optional_field() -> None:
    written: dict[str, Any] = dict.fromkeys(field_names("stdio"))
    row = read_row(written | {"id": "a", "transport": "stdio", "command": "x"})

    assert row == stdio()
    assert isinstance(row, StdioServerRow)
    assert row.model_dump(by_alias=True, exclude_unset=True) == {
        "id": "a",
        "transport": "stdio",
        "command": "x",
    }


@pytest.mark.parametrize("value", [True, False, "5", 1.5, float("nan"), -1])
def test_a_boolean_is_not_a_whole_number(value: object) -> None:
    with pytest.raises(ValidationError):
        stdio(idle_timeout_ms=value)


@pytest.mark.parametrize("value", [1, 0, "true", "yes", "on"])
def test_a_switch_is_true_or_false(value: object) -> None:
    with pytest.raises(ValidationError):
        stdio(enabled=value)


def test_a_whole_float_is_a_whole_number() -> None:
    assert type(stdio(idle_timeout_ms=5.0).idle_timeout_ms) is int


def test_rows_are_frozen_and_closed() -> None:
    row: Any = stdio()
    with pytest.raises(ValidationError):
        row.command = "y"
    with pytest.raises(ValidationError):
        stdio(url="http://h")


def test_secrets_show_neither_in_a_row_nor_in_its_errors() -> None:
    row = stdio(env={"A": "s3cr3t"})

    assert "s3cr3t" not in repr(row)
    assert "s3cr3t" not in repr(http(headers={"A": "s3cr3t"}))
    with pytest.raises(ValidationError) as caught:
        stdio(env={"A": ["s3cr3t"]})
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("sequence", [{"a"}, "ab", {"a": 1}, (each for each in "ab")])
def test_arguments_have_an_order(sequence: object) -> None:
    with pytest.raises(ValidationError):
        stdio(args=sequence)


ROWS = st.builds(
    lambda fields: stdio(**fields),
    st.fixed_dictionaries(
        {},
        optional={
            "args": st.lists(st.sampled_from("ab"), max_size=2),
            "env": st.dictionaries(st.sampled_from("AB"), st.just("1")),
            "hidden_tools": st.lists(st.sampled_from("ab"), max_size=2),
            "always_load": st.lists(st.sampled_from("ab"), max_size=2),
            "hooks": st.just([{"id": "h", "on": "afterTurn", "tool": "t", "args": {"a": [1]}}]),
        },
    ),
)


@given(ROWS)
def test_a_copy_is_equal_and_shares_nothing(row: ServerRow) -> None:
    copy = copied_row(row)
    absent = set(type(row).model_fields) - row.model_fields_set

    assert copy == row
    assert copy.model_fields_set == row.model_fields_set
    assert all(getattr(copy, name) is getattr(row, name) for name in absent - {"hooks"})
    if isinstance(copy, StdioServerRow) and copy.env is not None:
        copy.env["C"] = "3"
    if copy.hooks and copy.hooks[0].args:
        copy.hooks[0].args["a"].append(2)
    assert (copy == row) is not bool(row.hooks or ("env" in row.model_fields_set))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (stdio(), stdio(slug="s", label="L", idle_timeout_ms=1, call_timeout_ms=2)),
        (stdio(), stdio(hidden_tools=["t"], always_load=["t"], trust_annotations=True)),
        (stdio(), stdio(hooks=[{"id": "h", "on": "afterTurn", "tool": "t"}])),
        (stdio(), stdio(cwd="", args=[], env={}, connect_timeout_ms=5, max_result_chars=9)),
        (stdio(env={"A": "1", "B": "2"}), stdio(env={"B": "2", "A": "1"})),
        (stdio(), stdio(id="b")),
        (stdio(), stdio(sampling={"allow": False})),
        (http(), http(headers={}, coerce_arguments=False)),
    ],
)
def test_an_edit_that_a_connection_survives(a: ServerRow, b: ServerRow) -> None:
    assert same_connection(a, b)
    assert same_connection(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (stdio(), stdio(enabled=False)),
        (stdio(), stdio(command="y")),
        (stdio(), stdio(cwd="/")),
        (stdio(args=["a", "b"]), stdio(args=["b", "a"])),
        (stdio(), stdio(env={"A": ""})),
        (stdio(), http()),
        (http(), http(url="http://h/")),
        (http(), http(headers={"A": "1"})),
        (stdio(), stdio(child_env="all")),
        (stdio(), stdio(era="legacy")),
        (http(), http(transport_fallback="sse")),
        (stdio(), stdio(roots=["."])),
        (stdio(), stdio(log_level="info")),
        (stdio(), stdio(sampling={"allow": True})),
        (stdio(sampling={"allow": True}), stdio(sampling={"allow": True, "maxTokens": 5})),
    ],
)
def test_an_edit_that_needs_a_new_connection(a: ServerRow, b: ServerRow) -> None:
    assert not same_connection(a, b)
    assert not same_connection(b, a)


def test_what_is_wrong_is_told_by_path_without_the_unions_tag() -> None:
    faults = read_row({"transport": "stdio", "args": ["a", 5], "childEnv": 5, "more": 1})

    assert isinstance(faults, tuple)
    assert set(faults) == {
        RowFault(path=("id",), kind="missing"),
        RowFault(path=("command",), kind="missing"),
        RowFault(path=("args", 1), kind="wrong"),
        RowFault(path=("childEnv",), kind="wrong"),
        RowFault(path=("more",), kind="unknown"),
    }


@pytest.mark.parametrize("transport", [None, "sse", 5, []])
def test_without_a_usable_transport_the_other_faults_still_show(transport: object) -> None:
    faults = read_row({"id": "a", "transport": transport, "url": "ftp://x"})

    assert isinstance(faults, tuple)
    assert [fault.path for fault in faults] == [("transport",), ("url",)]


def test_the_fields_of_each_arm_are_known_by_their_json_names() -> None:
    assert "childEnv" in field_names("stdio")
    assert "childEnv" not in field_names("http")
    assert {"url", "command"} <= set(field_names(""))
    assert hook_field_names() == (
        "id",
        "on",
        "tool",
        "args",
        "inject",
        "veto",
        "maxTokens",
        "timeoutMs",
        "enabled",
    )
