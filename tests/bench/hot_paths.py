"""Does the work of one request stay small in a long run? ``python -m tests.bench.hot_paths``

Every figure is a ratio to something measured in the same run, in turns with it, so that it says
the same on a slow machine: cached schemas to plain look-ups, all else to the same work on half as
much. Times are the processor's, not the clock's. The exit status is 1 if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median

import anyio

from host.event_bus import EventBus, fold
from host.text.tokens import request_tokens
from host.wire.schema_compat import relax_tools, sanitize_tools
from tests.bench.workloads import catalogue_tools, deltas, transcript

LOOK_UPS_LIMIT = 2.0
"""How much more a cached list of tools may cost than one dict look-up for each of them."""

DOUBLING_LIMIT = 2.3
"""How much more twice the work may cost."""

_KEYS = {
    "sanitize": "sanitize_over_lookups",
    "relax": "relax_over_lookups",
    "size the transcript": "growth_sizing",
    "fold": "growth_fold",
    "emit": "growth_emit",
    "drain through watch": "growth_drain",
}

Sample = Callable[[], float]
"""Does the work once, or often, and gives the seconds of processor time of doing it once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured; the times of ``rounds`` samples are reduced to their median."""

    tools: int = 25
    turns: int = 40
    deltas: int = 20_000
    events: int = 10_000
    repeats: int = 2_000
    rounds: int = 15


QUICK = Sizes(tools=3, turns=2, deltas=20, events=20, repeats=2, rounds=1)
"""Only shows that everything runs; its figures mean nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One comparison.

    Attributes:
        floor_seconds: what the work is compared with: look-ups, or half the work.
        ratio: the median of the rounds' own ratios.
    """

    name: str
    against: str
    floor_seconds: float
    seconds: float
    ratio: float
    limit: float
    is_within: bool


def figure(
    name: str, against: str, limit: float, floors: Sequence[float], works: Sequence[float]
) -> Figure:
    """The figure of samples that were taken in turns."""
    ratio = median(work / floor for work, floor in zip(works, floors, strict=True))
    return Figure(
        name=name,
        against=against,
        floor_seconds=median(floors),
        seconds=median(works),
        ratio=ratio,
        limit=limit,
        is_within=ratio <= limit,
    )


def measured(sizes: Sizes) -> list[Figure]:
    """Every figure, one after the other."""
    return [*_against_look_ups(sizes), *_against_half(sizes)]


def _against_look_ups(sizes: Sizes) -> list[Figure]:
    tools = catalogue_tools(sizes.tools)
    sanitized = sanitize_tools(tools)
    known = {tool["function"]["name"]: tool for tool in sanitized}
    names = list(known)
    look_ups = _repeated(lambda: [known[name] for name in names], sizes.repeats)
    against = f"{sizes.tools} dict look-ups"
    works = {
        "sanitize, cached": _repeated(lambda: sanitize_tools(tools), sizes.repeats),
        "relax, cached": _repeated(lambda: relax_tools(sanitized), sizes.repeats),
    }
    return [
        _compared(name, against, LOOK_UPS_LIMIT, look_ups, work, sizes)
        for name, work in works.items()
    ]


def _against_half(sizes: Sizes) -> list[Figure]:
    works: list[tuple[str, Callable[[int], Sample], int]] = [
        ("size the transcript", _sizing(sizes.tools), sizes.turns),
        ("fold", _folding, sizes.deltas),
        ("emit", _emitting, sizes.events),
        ("drain through watch", _draining, sizes.events),
    ]
    return [
        _compared(f"{name}, {2 * n}", f"{n}", DOUBLING_LIMIT, of(n), of(2 * n), sizes)
        for name, of, n in works
    ]


def _compared(
    name: str, against: str, limit: float, floor: Sample, work: Sample, sizes: Sizes
) -> Figure:
    floor(), work()  # fills the caches
    floors: list[float] = []
    works: list[float] = []
    for _ in range(sizes.rounds):
        floors.append(_undisturbed(floor))
        works.append(_undisturbed(work))
    return figure(name, against, limit, floors, works)


def _undisturbed(sample: Sample) -> float:
    gc.collect()
    gc.disable()
    try:
        return sample()
    finally:
        gc.enable()


def _repeated(work: Callable[[], object], repeats: int) -> Sample:
    def sample() -> float:
        began = time.thread_time()
        for _ in range(repeats):
            work()
        return (time.thread_time() - began) / repeats

    return sample


def _sizing(tool_count: int) -> Callable[[int], Sample]:
    tools = sanitize_tools(catalogue_tools(tool_count))

    def of(turns: int) -> Sample:
        body = {"messages": transcript(turns), "tools": tools}
        return _repeated(lambda: request_tokens(body), 20)

    return of


def _folding(count: int) -> Sample:
    events = deltas(count)
    return _repeated(lambda: fold(events), 1)


def _emitting(count: int) -> Sample:
    return _repeated(lambda: _emit(EventBus(), count), 1)


def _emit(bus: EventBus, count: int) -> None:
    for _ in range(count):
        bus.emit("run", kind="thinking", text="a piece ", step="1")


def _draining(count: int) -> Sample:
    async def drained() -> float:
        bus = EventBus(max_events=math.inf)
        _emit(bus, count)
        bus.emit("run", kind="done", ok=True)
        seen = 0
        began = time.thread_time()
        async with bus.watch("run") as events:
            async for _ in events:
                seen += 1
        seconds = time.thread_time() - began
        assert seen == count + 1
        return seconds

    return lambda: anyio.run(drained)


def as_json(figures: Sequence[Figure]) -> str:
    """The figures for programs: one line, each ratio also under a short name."""
    report = {
        **{_KEYS[one.name.partition(",")[0]]: one.ratio for one in figures},
        "python": platform.python_version(),
        "is_within_limits": all(one.is_within for one in figures),
        "figures": [asdict(one) for one in figures],
    }
    return json.dumps(report) + "\n"


def as_table(figures: Sequence[Figure]) -> str:
    """The figures for people."""
    lines = [f"{'work':<28}{'against':<18}{'floor':>12}{'work':>12}{'ratio':>8}{'limit':>7}"]
    for one in figures:
        times = f"{one.floor_seconds * 1e6:>9.1f} µs{one.seconds * 1e6:>9.1f} µs"
        verdict = "" if one.is_within else "  exceeded"
        lines.append(
            f"{one.name:<28}{one.against:<18}{times}{one.ratio:>8.2f}{one.limit:>7.1f}{verdict}"
        )
    return "\n".join(lines) + "\n"


def exit_status(figures: Sequence[Figure]) -> int:
    """0 if every figure is within its limit, else 1."""
    return 0 if all(one.is_within for one in figures) else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints, and returns the exit status."""
    parser = argparse.ArgumentParser(prog="hot_paths", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    parser.add_argument("--quick", action="store_true", help="only see that it runs; status 0")
    options = parser.parse_args(arguments)
    figures = measured(QUICK if options.quick else Sizes())
    sys.stdout.write(as_json(figures) if options.json else as_table(figures))
    return 0 if options.quick else exit_status(figures)


if __name__ == "__main__":
    sys.exit(main())
