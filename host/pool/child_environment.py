"""What a child process inherits: everything but other programs' secrets, unless a row says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, TypeAlias

ChildEnv: TypeAlias = Literal["all"] | Iterable[str] | None
"""``"all"``, the names to inherit, or None for everything but secrets."""

MINIMAL_CHILD_ENV: tuple[str, ...] = (
    "PATH",
    "HOME",
    "NODE_ENV",
    "LANG",
    "TERM",
    "UV_CACHE_DIR",
    "UV_PYTHON_INSTALL_DIR",
)
"""Enough for most servers; pass it as ``childEnv`` to inherit nothing else (pool spec §18)."""

SECRET_SUFFIXES: tuple[str, ...] = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
"""Endings, in any case, of the names of variables that hold secrets."""


def is_secret_name(name: str, secret_env: Collection[str] = ()) -> bool:
    """Whether a variable of this name is taken to hold a secret."""
    return name in secret_env or name.upper().endswith(SECRET_SUFFIXES)


def child_environment(
    inherited: Mapping[str, str],
    row_env: Mapping[str, str] | None,
    *,
    child_env: ChildEnv = None,
    secret_env: Collection[str] = (),
) -> dict[str, str]:
    """The environment of a row's child (design §8, overruling pool spec §18's "all" by default).

    Args:
        inherited: our own environment.
        row_env: the row's variables, laid on top whatever their names.
        child_env: ``"all"``, a list of names to inherit where they exist, or None for everything
            except secrets.
        secret_env: further names of secrets, such as the one the endpoint's key was read from.
    """
    if child_env is None:
        kept = {
            name: value for name, value in inherited.items() if not is_secret_name(name, secret_env)
        }
    elif isinstance(child_env, str):
        kept = dict(inherited)
    else:
        kept = {name: inherited[name] for name in child_env if name in inherited}
    return kept | dict(row_env or {})
