"""Rows as somebody wrote them: everything wrong with them, in words that help.

The row models find what does not fit; the words are ours, and no value is repeated in them, since
it may be a secret. Sources: pool spec §20, design §8 "Foreign keys".
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from host.errors import ConfigError
from host.pool.auth.row_rules import auth_conflicts, auth_header_conflict
from host.pool.foreign_keys import split_foreign_keys
from host.pool.hook_templates import hook_label, validate_hooks
from host.pool.naming import is_namespace, namespace_owners
from host.pool.rows import (
    HttpServerRow,
    RowFault,
    ServerRow,
    StdioServerRow,
    auth_field_names,
    field_names,
    hook_field_names,
    read_row,
    sampling_field_names,
)

_TEXT = "text"
_SWITCH = "true or false"
_TEXTS = "a list of texts"
_PAIRS = "an object of names and texts"
_COUNT = "a whole number, 0 or more"
_POSITIVE = "a whole number of at least 1"
_ADDRESS = "an address that starts with http:// or https://"

_EXPECTED: Mapping[str, str] = {
    "id": "text that is not empty",
    "slug": _TEXT,
    "label": _TEXT,
    "enabled": _SWITCH,
    "transport": '"stdio" (with command) or "http" (with url)',
    "command": "text that is not empty: the program to start",
    "args": _TEXTS,
    "env": "an object of variable names and texts",
    "cwd": "text: the path of a folder",
    "url": _ADDRESS,
    "headers": _PAIRS,
    "idleTimeoutMs": _COUNT,
    "connectTimeoutMs": _POSITIVE,
    "callTimeoutMs": _POSITIVE,
    "maxCallTimeoutMs": _POSITIVE,
    "maxResultChars": _COUNT,
    "coerceArguments": _SWITCH,
    "trustAnnotations": _SWITCH,
    "progressExtendsTimeout": _SWITCH,
    "hiddenTools": _TEXTS,
    "alwaysLoad": _TEXTS,
    "hooks": "a list of objects like {id, on, tool}",
    "era": '"auto", "legacy" or "2026-07-28"',
    "roots": "a list of texts: folders or file:// addresses",
    "sampling": "an object like {allow, maxTokens}",
    "sampling.allow": _SWITCH,
    "sampling.maxTokens": _POSITIVE,
    "logLevel": "one of debug, info, notice, warning, error, critical, alert, emergency",
    "childEnv": '"all" or a list of variable names',
    "transportFallback": '"sse" or absent',
    "auth": "an object like {clientId, scope}",
    "auth.grant": '"authorization_code", "client_credentials" or "jwt_bearer"',
    "auth.clientMetadataUrl": "the https address of a document",
    "auth.scope": "text: scopes with single spaces between them",
    "auth.redirectPort": "a whole number from 1 to 65535",
    "auth.issuer": _ADDRESS,
    "auth.dpop": _SWITCH,
    "auth.identityProvider": "an object like {tokenUrl, clientId, idTokenFile}",
    "auth.identityProvider.tokenUrl": _ADDRESS,
}
_NEVER_ZERO = ("connectTimeoutMs", "callTimeoutMs")


def validate_server_row(row: object) -> list[str]:
    """Every problem of one row, each naming the field and the remedy; [] for a good row.

    Takes anything. A row that the models accept may still have problems here: a namespace that is
    not legal in tool names, a timeout of 0, a hook that could never run.
    """
    written = _as_written(row)
    if written is None:
        return ["a server must be an object with an id, and a command or a url"]
    known, _ = split_foreign_keys(written)
    problems = _shape_problems(known)
    problems += _namespace_problems(known)
    problems += auth_header_conflict(known)
    problems += (f"{name} must be {_POSITIVE}" for name in _NEVER_ZERO if _is_zero(known.get(name)))
    return list(dict.fromkeys((*problems, *validate_hooks(known.get("hooks")))))


def validate_servers(rows: object) -> list[str]:
    """Every problem of a list of rows: of each row, then of rows that stand in each other's way."""
    if not isinstance(rows, list | tuple):
        return ["servers must be a list of server objects"]
    problems: list[str] = []
    for number, row in enumerate(rows, start=1):
        name = _row_id(_as_written(row) or {})
        shown = f'server "{name}"' if name else f"server {number}"
        problems += (f"{shown}: {problem}" for problem in validate_server_row(row))
    written = [each for row in rows if (each := _as_written(row)) is not None]
    problems += _shared_namespaces(written)
    counts = Counter(name for each in written if (name := _row_id(each)))
    problems += (
        f'id "{name}" is used by {count} servers; only the first counts, give the others their own'
        for name, count in counts.items()
        if count > 1
    )
    return problems


def parse_server_row(row: Mapping[str, Any], source: str = "server") -> ServerRow:
    """The row. Foreign keys are left out; what only ``validate_server_row`` minds is let pass.

    Raises:
        ConfigError: it does not have a row's shape; ``problems`` has everything.
    """
    known, _ = split_foreign_keys(row)
    read = read_row(known)
    if isinstance(read, tuple):
        raise ConfigError(source, _shape_problems(known))
    return read


def _as_written(row: object) -> Mapping[str, Any] | None:
    if isinstance(row, StdioServerRow | HttpServerRow):
        return row.model_dump(by_alias=True, exclude_unset=True) | {"transport": row.transport}
    return row if isinstance(row, Mapping) else None


def _shape_problems(written: Mapping[str, Any]) -> list[str]:
    read = read_row(written)
    faults = read if isinstance(read, tuple) else ()
    hook_faults = [fault for fault in faults if fault.path[0] == "hooks"]
    problems = [_fault_text(fault, written) for fault in faults if fault not in hook_faults]
    hooks = written.get("hooks")
    problems += (_hook_text(fault, hooks) for fault in hook_faults if fault.kind == "unknown")
    if any(fault.kind != "unknown" for fault in hook_faults):
        problems += validate_hooks(hooks)
    return problems


def _fault_text(fault: RowFault, written: Mapping[str, Any]) -> str:
    if fault.kind == "unknown":
        return _unknown_text(fault.path, str(written.get("transport")))
    shown = _shown_path(fault.path)
    if fault.kind == "missing":
        return f"{shown} is missing; it must be {_expected(fault.path)}"
    if fault.path == ("env",) and isinstance(written.get("env"), Mapping):
        return "env holds a name or text that no variable can have: empty, or with = or NUL in it"
    if fault.path == ("auth",) and isinstance(written.get("auth"), Mapping):
        return "; ".join(auth_conflicts(written["auth"]))
    return f"{shown} must be {_expected(fault.path)}"


def _hook_text(fault: RowFault, hooks: Any) -> str:
    """What is said of a field that hooks do not have."""
    _, at, *rest = fault.path
    shown = hook_label(hooks[at], int(at) + 1)
    return f"{shown}: {_unknown_field(tuple(rest), hook_field_names())}"


def _expected(path: tuple[str | int, ...]) -> str:
    if (shown := _shown_path(path)) in _EXPECTED:
        return _EXPECTED[shown]
    return _TEXT if len(path) == 1 else f"{_TEXT} (in quotes)"


def _unknown_text(path: tuple[str | int, ...], transport: str) -> str:
    other = {"stdio": "http", "http": "stdio"}.get(transport, "")
    if len(path) == 1 and path[0] in field_names(other):
        return f'{path[0]} belongs to transport "{other}"; remove it or change transport'
    if path[0] == "sampling" and len(path) > 1:
        return _unknown_field(path, sampling_field_names())
    if path[0] == "auth" and len(path) > 1:
        return _unknown_field(path, auth_field_names(path))
    return _unknown_field(path, field_names(transport))


def _unknown_field(path: tuple[str | int, ...], known: Sequence[str]) -> str:
    nearest = nearest_name(str(path[-1]), known)
    remedy = f'did you mean "{nearest}"?' if nearest else "remove it"
    return f"{_shown_path(path)} is not a known field; {remedy}"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, whatever its case and separators; None for none."""
    by_plain = {each.lower(): each for each in known}
    plain = name.replace("_", "").replace("-", "").lower()
    found = difflib.get_close_matches(plain, by_plain, n=1, cutoff=0.7)
    return by_plain[found[0]] if found else None


def _shown_path(path: tuple[str | int, ...]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _namespace_problems(written: Mapping[str, Any]) -> Iterator[str]:
    slug, name = written.get("slug"), _row_id(written)
    if isinstance(slug, str) and slug:
        if not is_namespace(slug):
            yield "slug may hold only letters A-Z and a-z, digits, _ and -"
    elif name and not is_namespace(name):
        yield (
            "id cannot stand in tool names as it is; give the server a slug "
            "of letters A-Z and a-z, digits, _ and -"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What a written row, good or bad, says about its namespace."""

    id: str
    effective_slug: str
    enabled: bool


def _shared_namespaces(written: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    claims = []
    for row in written:
        slug, name = row.get("slug"), _row_id(row)
        own = slug if isinstance(slug, str) and slug else name
        claims.append(_Claim(id=name, effective_slug=own, enabled=row.get("enabled") is not False))
    claims = [claim for claim in claims if claim.id and claim.enabled]
    for slug, owner in namespace_owners(claims).items():
        ids = {claim.id for claim in claims if claim.effective_slug == slug} - {owner}
        if ids:
            others = ", ".join(f'"{name}"' for name in sorted(ids))
            yield (
                f'namespace "{slug}" is claimed by more than one server; it goes to "{owner}", '
                f"so give {others} another slug"
            )


def _row_id(written: Mapping[str, Any]) -> str:
    name = written.get("id")
    return name if isinstance(name, str) and name.strip() else ""


def _is_zero(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == 0
