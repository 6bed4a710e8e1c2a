"""Bodies for the eyes of others: each secret in plain text becomes a variable that is to be set.

What is left can be read as a servers file all the same. What counts as a secret is told by
``host.text.secret_values`` for environment, headers and addresses, and by
``host.text.argument_forms`` for arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from host.config.import_variables import variable_for_input
from host.text.argument_forms import read_argument
from host.text.secret_forms import is_telling_name, keys_in
from host.text.secret_values import secret_values

_REFERENCE = re.compile(r"\$\{[^{}]*\}|\{env:[^{}]*\}")
_WITH_DEFAULT = re.compile(r"\$\{((?:env:)?\w+):-[^{}]+\}")
_ADDRESS = re.compile(
    r"(?P<start>[A-Za-z][\w+.-]*://)(?:(?P<user>[^/?#]*)@)?(?P<place>[^?#]*)"
    r"(?P<query>\?[^#]*)?(?P<rest>#.*)?",
    re.DOTALL,
)
_QUERY_PART = re.compile(r"[^?&;]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SecretsTaken:
    """Takes secrets out of bodies and keeps the names of the variables that stand for them.

    Attributes:
        variables: the variables to set -> where each value stands.
    """

    def __init__(self) -> None:
        self.variables: dict[str, str] = {}
        self._values: dict[str, str] = {}

    def body(self, server_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body without secrets; it may hold anything, and the rest stays as it is."""
        shown = dict(body)
        where = f"{server_id}: "
        for field in ("env", "headers"):
            pairs = shown.get(field)
            if isinstance(pairs, Mapping):
                take = self._variable if field == "env" else self._header
                shown[field] = {
                    name: take(server_id, name, value, f"{where}{field}.{name}")
                    if isinstance(value, str)
                    else value
                    for name, value in pairs.items()
                }
        if isinstance(url := shown.get("url"), str):
            shown["url"] = self._address(server_id, "url", url, f"{where}url")
        if isinstance(auth := shown.get("auth"), Mapping):
            shown["auth"] = self._authorization(server_id, auth, f"{where}auth")
        if isinstance(args := shown.get("args"), list):
            shown["args"] = [*self._arguments(server_id, args, where)]
        return shown

    def _variable(self, server_id: str, name: str, value: str, where: str) -> str:
        wanted = name if _VARIABLE.fullmatch(name) else variable_for_input(server_id, name)
        secrets = secret_values({name: value})
        holds_more = len(secrets) > 1  # a password in an address, say
        return self._hidden(value, secrets[0] if secrets else "", wanted, where, surely=holds_more)

    def _header(self, server_id: str, name: str, value: str, where: str) -> str:
        secrets = secret_values(headers={name: value})
        wanted = variable_for_input(server_id, name)
        return self._hidden(value, secrets[0] if secrets else "", wanted, where)

    def _authorization(self, server_id: str, auth: Mapping[str, Any], where: str) -> dict[str, Any]:
        shown = dict(auth)
        for key, value in auth.items():
            if isinstance(value, Mapping):
                shown[key] = self._authorization(server_id, value, f"{where}.{key}")
            elif key == "clientSecret" and isinstance(value, str):
                wanted = variable_for_input(server_id, "client-secret")
                shown[key] = self._hidden(value, value, wanted, f"{where}.{key}")
        return shown

    def _address(self, server_id: str, name: str, url: str, where: str) -> str:
        parts = _ADDRESS.fullmatch(url)
        shown = url if parts is None else self._parts_hidden(server_id, parts, where)
        if all(_has_reference(value) for value in secret_values(url=shown)):
            return shown
        return self._hidden(url, url, variable_for_input(server_id, name), where)

    def _parts_hidden(self, server_id: str, parts: re.Match[str], where: str) -> str:
        user, colon, password = (parts["user"] or "").partition(":")
        secret = password if colon else user
        wanted = variable_for_input(server_id, "password" if colon else "user")
        hidden = self._hidden(secret, secret, wanted, where)
        shown = f"{user}:{hidden}@" if colon else f"{hidden}@" if user else ""
        query = _QUERY_PART.sub(
            lambda part: self._query_part(server_id, part[0], where), parts["query"] or ""
        )
        return f"{parts['start']}{shown}{parts['place']}{query}{parts['rest'] or ''}"

    def _query_part(self, server_id: str, part: str, where: str) -> str:
        name, equals, value = part.partition("=") if "=" in part else ("", "", part)
        wanted = variable_for_input(server_id, name or "query")
        return f"{name}{equals}{self._hidden(value, value, wanted, where)}"

    def _arguments(self, server_id: str, args: list[Any], where: str) -> Iterator[Any]:
        before = ""
        for position, argument in enumerate(args):
            if not isinstance(argument, str):
                yield argument
                continue
            place = f"{where}args[{position}]"
            yield self._argument(server_id, before, argument, place)
            before = argument

    def _argument(self, server_id: str, before: str, argument: str, where: str) -> str:
        read = read_argument(argument, before)
        value, name = read.value, read.name or "argument"
        wanted = variable_for_input(server_id, name)
        match read.kind:
            case "secret" | "variable":
                shown = self._hidden(value, value, wanted, where)
            case "header":
                shown = self._header(server_id, name, value, where)
            case "address":
                shown = self._address(server_id, name, value, where)
            case _:
                shown = value
                for key in keys_in(value):
                    shown = shown.replace(key, self._hidden(key, key, wanted, where))
        return read.start + shown

    def _hidden(
        self, text: str, secret: str, wanted: str, where: str, *, surely: bool = False
    ) -> str:
        """The text with a variable in the place of the secret that it ends in; "" for none.

        A variable stays. Where the name tells of a secret, what it defaults to goes, and so does a
        text around it; elsewhere that may be a path, and stays unless it is ``surely`` a secret.
        """
        surely = surely or is_telling_name(wanted)
        if not secret or _REFERENCE.fullmatch(secret) or (_has_reference(secret) and not surely):
            return _WITH_DEFAULT.sub(r"${\1}", text) if surely else text
        name = self._name_for(secret, wanted)
        self.variables.setdefault(name, where)
        start = text.rindex(secret)
        return f"{text[:start]}${{{name}}}{text[start + len(secret) :]}"

    def _name_for(self, secret: str, wanted: str) -> str:
        name, number = wanted, 2
        while self._values.setdefault(name, secret) != secret:
            name, number = f"{wanted}_{number}", number + 1
        return name


def _has_reference(text: str) -> bool:
    return _REFERENCE.search(text) is not None
