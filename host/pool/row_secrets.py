"""What of a row must not be shown, and what takes it out of texts."""

from __future__ import annotations

from collections.abc import Iterable

from host.pool.rows import ServerRow
from host.pool.written_secrets import written_secrets
from host.text.redaction import Redactor

MAX_LEARNT = 50


def row_secrets(row: ServerRow) -> tuple[str, ...]:
    """What of the row nobody else is to read, wherever it stands in it."""
    return written_secrets(vars(row))


class LearntSecrets:
    """Secrets of one server that come up while it is used: tokens, codes, registrations.

    Only the newest ``MAX_LEARNT`` count: a token that old is worth nothing.

    Attributes:
        version: grows with each change.
    """

    __slots__ = ("_values", "version")

    def __init__(self) -> None:
        self.version = 0
        self._values: dict[str, None] = {}

    def __repr__(self) -> str:
        return f"LearntSecrets(<{len(self._values)}>)"

    @property
    def values(self) -> tuple[str, ...]:
        """The secrets, oldest first."""
        return tuple(self._values)

    def learn(self, *secrets: str | None) -> None:
        """Count these as secrets from now on; None and blanks are none."""
        for secret in secrets:
            if secret and secret.strip():
                self._values.pop(secret, None)
                self._values[secret] = None
        while len(self._values) > MAX_LEARNT:
            del self._values[next(iter(self._values))]
        self.version += 1


class LiveRedactor(Redactor):
    """Takes out fixed secrets and those that have been learnt by then."""

    __slots__ = ("_fixed", "_learnt", "_version")

    def __init__(self, secrets: Iterable[str], learnt: LearntSecrets) -> None:
        self._fixed = tuple(secrets)
        self._learnt = learnt
        self._version = learnt.version
        super().__init__((*self._fixed, *learnt.values))

    def __bool__(self) -> bool:
        return bool(self._fixed or self._learnt.values)

    def redact(self, text: str) -> str:
        """See ``Redactor.redact``."""
        if self._version != self._learnt.version:
            self._version = self._learnt.version
            super().__init__((*self._fixed, *self._learnt.values))
        return super().redact(text)


class RowRedactor(LiveRedactor):
    """Takes a row's secrets out of texts, and those that have been learnt by then.

    Attributes:
        for_models: takes out only what surely is a secret, for texts that a model works with.
    """

    __slots__ = ("for_models",)

    def __init__(self, row: ServerRow, learnt: LearntSecrets | None = None) -> None:
        learnt = learnt or LearntSecrets()
        super().__init__(row_secrets(row), learnt)
        self.for_models = LiveRedactor(written_secrets(vars(row), only_sure=True), learnt)


def row_redactor(row: ServerRow) -> RowRedactor:
    """What takes the row's secrets out of texts."""
    return RowRedactor(row)
