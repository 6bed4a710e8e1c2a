"""Telling observers of the bounded loop what happens, without letting them touch it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup

from host.loop.decision_point import DecisionPoint
from host.loop.loop_events import LoopEvent
from host.loop.own_task import contained, in_own_task

MAX_OBSERVER_SECONDS = 3.0
"""How long the loop waits for one asynchronous observer when it has no task group for it."""

ObserverContext: TypeAlias = Mapping[str, Any]
"""What comes with an event: nothing yet. With an error: which hook, and of which event."""

Subject = TypeVar("Subject", LoopEvent, DecisionPoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopHooks:
    """An observer of the bounded loop; what its functions return is ignored.

    Each may be synchronous or asynchronous. What ``on_event`` or ``on_decision_point`` raises
    goes to ``on_hook_error``; what that raises is dropped. No observer can change the loop.
    """

    on_event: Callable[[LoopEvent, ObserverContext], object] | None = None
    on_decision_point: Callable[[DecisionPoint, ObserverContext], object] | None = None
    on_hook_error: Callable[[Exception, ObserverContext], object] | None = None


Observers: TypeAlias = LoopHooks | Iterable[LoopHooks] | None
"""One observer, several, or none."""


def compose_hooks(*hooks: Observers) -> tuple[LoopHooks, ...]:
    """All observers given, in order, without the Nones.

    Each is told on its own: in the original one that raised kept the event from those behind it
    (tool-loop spec §9, a hole); here it does not.
    """
    observers: list[LoopHooks] = []
    for one in hooks:
        if isinstance(one, LoopHooks):
            observers.append(one)
        elif one is not None:
            observers.extend(one)
    return tuple(observers)


def with_pursuit(hooks: Observers, pursuit_id: str) -> tuple[LoopHooks, ...]:
    """The observers, told of everything with ``pursuitId`` in its metadata.

    An event that carries another pursuit's id is refused: it reaches ``on_hook_error`` as a
    ValueError instead of the observer.

    Raises:
        ValueError: the id is blank.
    """
    if not pursuit_id.strip():
        raise ValueError("a pursuit id must not be blank")

    def stamped(
        told: Callable[[Subject, ObserverContext], object],
    ) -> Callable[[Subject, ObserverContext], object]:
        def tell(subject: Subject, context: ObserverContext) -> object:
            carried = subject.metadata.get("pursuitId", pursuit_id)
            if carried != pursuit_id:
                raise ValueError(f"the event belongs to pursuit {carried}, not {pursuit_id}")
            metadata = {**subject.metadata, "pursuitId": pursuit_id}
            return told(replace(subject, metadata=metadata), context)

        return tell

    return tuple(
        LoopHooks(
            on_event=one.on_event and stamped(one.on_event),
            on_decision_point=one.on_decision_point and stamped(one.on_decision_point),
            on_hook_error=one.on_hook_error,
        )
        for one in compose_hooks(hooks)
    )


class ObserverCircle:
    """Tells every observer of a run, each contained on its own.

    Asynchronous observers run in ``task_group``, those that hear of errors among them; without
    one they are awaited in order, three seconds each at most (design §6, which overrules "not
    awaited" of tool-loop spec §9). Of a group that is closed ``on_hook_error`` hears that way.
    """

    def __init__(self, hooks: Observers, task_group: TaskGroup | None) -> None:
        self._observers = compose_hooks(hooks)
        self._task_group = task_group

    def __bool__(self) -> bool:
        return bool(self._observers)

    async def event(self, event: LoopEvent) -> None:
        """Tells all of an event."""
        about = {
            "hook": "onEvent",
            "eventId": event.id,
            "target": event.target,
            "phase": event.phase,
        }
        for observer in self._observers:
            await self._tell(observer.on_event, event, about)

    async def decision_point(self, point: DecisionPoint) -> None:
        """Tells all of a decision point."""
        about = {"hook": "onDecisionPoint", "decisionId": point.id, "decisionKind": point.kind}
        for observer in self._observers:
            await self._tell(observer.on_decision_point, point, about)

    async def _tell(
        self,
        told: Callable[[Subject, ObserverContext], object] | None,
        subject: Subject,
        about: ObserverContext,
    ) -> None:
        if told is None:
            return
        try:
            answer = told(subject, {})
        except BaseException as error:  # noqa: BLE001  # an observer cannot end what it observes
            await self._report(contained(error, awaited=False), about)
            return
        if inspect.isawaitable(answer):
            await self._settle(answer, about)

    async def _settle(self, answer: Awaitable[object], about: ObserverContext | None) -> None:
        """Has an answer awaited; ``about`` None for that of an ``on_hook_error``."""
        group = self._task_group
        if group is not None:
            try:
                group.start_soon(self._finish, answer, about, None)
                return
            except RuntimeError as error:  # the group is closed
                if about is not None:
                    if inspect.iscoroutine(answer):
                        answer.close()
                    await self._report(error, about)
                    return
        await in_own_task(partial(self._finish, answer, about, MAX_OBSERVER_SECONDS))

    async def _finish(
        self, answer: Awaitable[object], about: ObserverContext | None, seconds: float | None
    ) -> None:
        try:
            with anyio.move_on_after(seconds) as scope:
                await answer
            if scope.cancelled_caught:
                raise TimeoutError(f"the observer took longer than {seconds:g} s")
        except BaseException as error:  # noqa: BLE001  # an observer cannot end what it observes
            await self._report(contained(error), about)

    async def _report(self, error: Exception, about: ObserverContext | None) -> None:
        """Tells of an error, unless it is one of telling: then there is nobody left to tell."""
        if about is None:
            return
        for observer in self._observers:
            if observer.on_hook_error is None:
                continue
            try:
                answer = observer.on_hook_error(error, about)
            except BaseException as fault:  # noqa: BLE001  # there is nobody left to tell
                contained(fault, awaited=False)
                continue
            if inspect.isawaitable(answer):
                await self._settle(answer, None)
