"""The room's names are loaded when they are used, and there are no others."""

from __future__ import annotations

import pytest

import host.assembly


def test_every_promised_name_is_there() -> None:
    assert set(host.assembly.__all__) <= set(dir(host.assembly))
    for name in host.assembly.__all__:
        assert getattr(host.assembly, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = host.assembly.no_such_name
