"""Tool calls without any marker, which only their place and their names make calls."""

from __future__ import annotations

from typing import NamedTuple

from host.text.call_pythonic import is_cut_call_at, read_pythonic
from host.text.call_values import CallText, ParsedCall, calls_of, is_definition


class BareReading(NamedTuple):
    """Calls without a marker, where they end, and whether only one cut off stands behind them.

    What a cut call would have said is unknown: it is no call, but the whole ones before it are.
    """

    calls: tuple[ParsedCall, ...]
    end: int
    is_cut: bool = False


def read_bare(source: CallText, start: int, *, is_marked: bool = False) -> BareReading:
    """What stands at ``start``: JSON values or Python calls.

    Values that are not all calls are none of them, but they are read to their end: JSON is no
    place to look for markers. A tool described by its schema is no call.
    """
    at = source.after_space(start)
    is_bracketed = source.text.startswith("[", at)
    is_json = is_bracketed or source.text.startswith("{", at)
    values = list(source.values_from(at)) if is_json else []
    if values:
        end = values[-1][1]
        calls = _calls_of_all([value for value, _ in values], is_marked)
        return BareReading(calls, end, bool(calls) and source.is_cut_at(end))
    calls, end, *_ = read_pythonic(source, at)
    is_cut = bool(calls) and is_cut_call_at(source, end, in_list=is_bracketed)
    return BareReading(calls, end, is_cut)


def read_alone(source: CallText, *, may_be_cut: bool, is_marked: bool = False) -> BareReading:
    """The calls that the text is from end to end; none when anything else stands in it.

    Args:
        may_be_cut: the text's end is where the reply reached its ceiling.
        is_marked: as in ``calls_of``.
    """
    reading = read_bare(source, 0, is_marked=is_marked)
    is_alone = source.after_space(reading.end) == len(source.text)
    if is_alone or (may_be_cut and reading.is_cut):
        return reading
    return BareReading((), reading.end)


def _calls_of_all(values: list[object], is_marked: bool) -> tuple[ParsedCall, ...]:
    calls: list[ParsedCall] = []
    for value in values:
        read = calls_of(value, is_marked=is_marked)
        if not read or any(map(is_definition, value if isinstance(value, list) else [value])):
            return ()
        calls.extend(read)
    return tuple(calls)
