"""Names the model sees: ``<slug>__<tool>``, legal for every endpoint, at most 64 characters.

A name is never taken apart to find its server: it is looked up whole. Source: pool spec §7.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Protocol

SEPARATOR = "__"
MAX_NAME_CHARS = 64
_HASH_CHARS = 6
_HEAD_CHARS = MAX_NAME_CHARS - 1 - _HASH_CHARS

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_HASH_TAIL = re.compile(rf"_[0-9a-f]{{{_HASH_CHARS}}}")
_NAMESPACE = re.compile(r"[A-Za-z0-9_-]+")


class NamespaceClaim(Protocol):
    """What a row says about the namespace it wants."""

    @property
    def id(self) -> str: ...
    @property
    def enabled(self) -> bool: ...
    @property
    def effective_slug(self) -> str: ...


def qualified_name(slug: str, tool: str) -> str:
    """The name a model calls ``tool`` of server ``slug`` by; same input, same name, for ever.

    Characters that endpoints refuse become ``_``, one for one (one beyond the BMP is one too). A
    longer name keeps 57 characters and ends in a hash of the name as it was before that.
    """
    full = slug + SEPARATOR + tool
    legal = legal_name(full)
    if len(legal) <= MAX_NAME_CHARS:
        return legal
    # A lone surrogate is legal in a Python string and has no UTF-8: it still gets a hash.
    digest = hashlib.sha256(full.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{legal[:_HEAD_CHARS]}_{digest[:_HASH_CHARS]}"


def could_own(slug: str, name: str) -> bool:
    """True if server ``slug`` might have a tool of this qualified name; False is certain."""
    prefix = legal_name(slug + SEPARATOR)
    if name.startswith(prefix):
        return True
    if len(name) != MAX_NAME_CHARS or not _HASH_TAIL.fullmatch(name, _HEAD_CHARS):
        return False
    return prefix.startswith(name[:_HEAD_CHARS])


def legal_name(text: str) -> str:
    """The text with every character outside ``A-Z a-z 0-9 _ -`` as ``_``; same length."""
    return _ILLEGAL.sub("_", text)


def is_namespace(slug: str) -> bool:
    """True if the slug can stand in front of tool names as it is."""
    return _NAMESPACE.fullmatch(slug) is not None


def namespace_owners(rows: Iterable[NamespaceClaim]) -> dict[str, str]:
    """Effective slug -> id of the row that owns it: the lowest id, whatever its status.

    A disabled row owns none (overrules pool spec §7 [H], design §8).
    """
    owners: dict[str, str] = {}
    for row in rows:
        if row.enabled:
            slug = row.effective_slug
            owners[slug] = min(owners.get(slug, row.id), row.id)
    return owners
