"""JSON values that cannot be changed: for definitions that everybody shares.

They are real dicts and lists, so every encoder, validator and type check takes them; whatever
would change one raises TypeError. ``copy.deepcopy``, ``dict(...)``, ``list(...)`` and pickling
give plain ones.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar, cast

_Json = TypeVar("_Json")


def freeze(value: _Json) -> _Json:
    """An equal JSON value that nobody can change, at any depth."""
    if isinstance(value, dict):
        return cast("_Json", _FrozenDict({key: freeze(item) for key, item in value.items()}))
    if isinstance(value, list):
        return cast("_Json", _FrozenList(freeze(item) for item in value))
    return value


def _refuse(self: object, *args: object, **named: object) -> NoReturn:
    raise TypeError("this definition is shared and cannot be changed; change a copy.deepcopy of it")


def _thaw(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _thaw(item) for key, item in value.items()}
    return [_thaw(item) for item in value] if isinstance(value, list) else value


class _FrozenDict(dict[str, Any]):
    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return cast("dict[str, Any]", _thaw(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (_thaw(self),)


class _FrozenList(list[Any]):
    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return cast("list[Any]", _thaw(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (_thaw(self),)
