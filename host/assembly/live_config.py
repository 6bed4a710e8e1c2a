"""A configuration that follows its file while the host runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
import anyio.to_thread

from host.config import (
    HostConfig,
    ServersFileWatch,
    restart_fields,
    row_changes,
    unset_remedy,
    with_overrides,
)
from host.errors import ConfigError

LOOK_SECONDS = 1.0

Notice: TypeAlias = Callable[[Literal["notice", "warning", "error"], str], None]
"""Hears level and text of something a person may want to know."""


class LiveConfig:
    """What the servers file says now. An edit with mistakes is told and changes nothing.

    Attributes:
        current: as the file last was without mistakes.
        problem: what is wrong with the file at the moment; "" for nothing.

    Args:
        config: what the file said when it was first read.
        apply: called with each configuration that replaces the current one.
        notice: hears each thing once.
    """

    def __init__(
        self,
        config: HostConfig,
        *,
        apply: Callable[[HostConfig], None],
        notice: Notice = lambda _level, _text: None,
    ) -> None:
        self.current = config
        self.problem = ""
        self._opened = config
        self._apply = apply
        self._notice = notice
        self._told_fields: tuple[str, ...] = ()

    async def follow(
        self, *, env: Mapping[str, str] = os.environ, look_seconds: float = LOOK_SECONDS
    ) -> None:
        """Looks at the file again and again until it is cancelled; a hanging disk hangs nobody."""
        watch = ServersFileWatch(Path(self.current.source), env=env)
        while True:
            found = await anyio.to_thread.run_sync(watch.look, abandon_on_cancel=True)
            if found is not None:
                self.take(found)
            await anyio.sleep(look_seconds)

    def take(self, found: HostConfig | ConfigError) -> None:
        """Takes over what the file says now, or tells why not."""
        if isinstance(found, ConfigError):
            self.problem = f"{found.source} is not taken over: {'; '.join(found.problems)}"
            self._notice("error", self.problem)
            return
        before, was_bad = self.current, bool(self.problem)
        found, self.problem = with_overrides(found, before.overrides), ""
        if found == before:
            if was_bad:
                self._notice("notice", f"{found.source} is as it was before")
            return
        self.current = found
        self._apply(found)
        changes = row_changes(before.rows, found.rows).text
        self._notice("notice", f"{found.source} was read again; {changes or 'the same servers'}")
        self._tell_what_else(before, found)

    def _tell_what_else(self, before: HostConfig, found: HostConfig) -> None:
        for row_id, names in found.unset.items():
            if before.unset.get(row_id) != names:
                self._notice("warning", f'server "{row_id}" is not started: {unset_remedy(names)}')
        for line in found.notices:
            if line not in before.notices:
                self._notice("notice", line)
        fields = restart_fields(self._opened.agent, found.agent)
        if fields and fields != self._told_fields:
            self._notice("warning", f"{', '.join(fields)} will count after a restart")
        self._told_fields = fields
