"""Which calls may be made: patterns over tools' names, and what tools say of themselves.

Without a policy every call is made. Ours (issue 4, "Approval").
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

from host.loop.collaborators import Verdict
from host.records import CatalogueServer, ToolCallRequest

Ruling: TypeAlias = Literal["allow", "ask", "deny"]
"""What a policy says of a tool."""

RULINGS: tuple[Ruling, ...] = ("allow", "ask", "deny")
"""Every ruling, the strictest last."""

FORBIDDEN_TEXT = (
    "This call was not made: the user's settings forbid this tool. Go on without it, or say in "
    "your answer what is missing for that."
)
"""What the model reads of a call that the policy denies."""

NOBODY_ASKED_TEXT = (
    "This call was not made: by the user's settings a person has to agree to it first, and nobody "
    "was there to be asked. Go on without it, or say in your answer what is missing for that."
)
"""What the model reads of a call that needs a person where there is none."""

_MAY_DO_ANYTHING: Mapping[str, Any] = {"destructiveHint": True}


def declined_text(reason: str = "") -> str:
    """What the model reads of a call that a person said no to; their reason, or "" for none."""
    why = f"Their reason: {reason}" if reason else "Do not make it again unless they ask for it."
    return f"This call was not made: the user was asked and said no. {why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """Rules for calls. The lists decide first: ``deny``, then ``ask``, then ``allow``.

    A tool that no list names is judged by its MCP hints. These are claims of its server: one that
    makes the ruling stricter than ``otherwise`` is always believed, one that makes it milder only
    of a server whose row says ``trustAnnotations``. A tool that claims to be both read-only and
    destructive counts as destructive.

    MCP reads an absent ``destructiveHint`` as true. Here a tool that says nothing falls under
    ``otherwise``, which is the place to say the same.

    Attributes:
        allow, ask, deny: patterns over whole qualified names; ``*`` stands for any characters or
            none, ``?`` for one, everything else for itself, upper and lower case apart.
        read_only: for a tool that says ``readOnlyHint``.
        destructive: for a tool that says ``destructiveHint``.
        otherwise: for a tool that says neither.

    Raises:
        ValueError: a pattern is blank or has blanks around it, or a ruling is none of ``RULINGS``.
        TypeError: a text stands where a list of patterns belongs.
    """

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    read_only: Ruling = "allow"
    destructive: Ruling = "ask"
    otherwise: Ruling = "allow"

    def __post_init__(self) -> None:
        for name, patterns in (("allow", self.allow), ("ask", self.ask), ("deny", self.deny)):
            _check_patterns(name, patterns)
        for ruling in (self.read_only, self.destructive, self.otherwise):
            if ruling not in RULINGS:
                raise ValueError(f'a ruling is "allow", "ask" or "deny", not {ruling!r}')

    def verdict(
        self, name: str, annotations: Mapping[str, Any] | None, *, trusted: bool = False
    ) -> Ruling:
        """The ruling on a tool.

        Args:
            annotations: its MCP hints; None for none. Only a plain ``true`` says anything.
            trusted: whether its server's hints are believed when they ask for less caution.
        """
        listed: tuple[tuple[Ruling, tuple[str, ...]], ...] = (
            ("deny", self.deny),
            ("ask", self.ask),
            ("allow", self.allow),
        )
        for ruling, patterns in listed:
            if first_match(patterns, name) is not None:
                return ruling
        hints = annotations or {}
        if hints.get("destructiveHint") is True:
            claimed = self.destructive
        elif hints.get("readOnlyHint") is True:
            claimed = self.read_only
        else:
            return self.otherwise
        return claimed if trusted else max(claimed, self.otherwise, key=RULINGS.index)

    def idle_patterns(self, names: Collection[str]) -> list[str]:
        """The patterns that fit none of the names, in order: probably misspelt."""
        patterns = dict.fromkeys((*self.deny, *self.ask, *self.allow))
        return [one for one in patterns if not any(first_match((one,), name) for name in names)]


def first_match(patterns: Sequence[str], name: str) -> str | None:
    """The first pattern that the whole name fits; None for none."""
    fitting = (one for one in patterns if fnmatchcase(name, one.replace("[", "[[]")))
    return next(fitting, None)


def policy_approver(
    policy: ApprovalPolicy,
    catalogue: Sequence[CatalogueServer],
    *,
    trusted: Collection[str] = (),
) -> Callable[[ToolCallRequest], Verdict]:
    """An approver that judges each call by the policy and the catalogue's hints.

    A tool that is not in the catalogue may have come up since: nothing is known of it, and it is
    judged as if it said that it is destructive.

    Args:
        trusted: ids of the servers whose rows say ``trustAnnotations``.
    """
    known: dict[str, tuple[Mapping[str, Any] | None, bool]] = {}
    for server in catalogue:
        for tool in server.tools:
            known.setdefault(tool.name, (tool.annotations, server.id in trusted))

    def approve(call: ToolCallRequest) -> Verdict:
        annotations, believed = known.get(call.name, (_MAY_DO_ANYTHING, False))
        ruling = policy.verdict(call.name, annotations, trusted=believed)
        return ("deny", FORBIDDEN_TEXT) if ruling == "deny" else ruling

    return approve


def _check_patterns(name: str, patterns: Sequence[str]) -> None:
    if isinstance(patterns, str):
        raise TypeError(f'"{name}" takes a list of patterns, not one text')
    for pattern in patterns:
        if not pattern.strip():
            raise ValueError(f'"{name}" has a blank pattern; write a tool\'s name, or * for all')
        if pattern != pattern.strip():
            raise ValueError(f'"{name}" has a pattern with blanks around it: {pattern!r}')
