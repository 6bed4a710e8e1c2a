"""The room's names are loaded when they are used, and there are no others."""

from __future__ import annotations

import pytest

import host.config


def test_every_promised_name_is_there() -> None:
    assert set(host.config.__all__) <= set(dir(host.config))
    for name in host.config.__all__:
        assert getattr(host.config, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = host.config.no_such_name
