"""A program, not a library: ends process groups when the process that owns them has gone.

It is started as ``python -I -S group_guard.py`` in a session of its own and imports nothing of
this package. On its standard input it reads lines, ``add N`` or ``remove N``, where N is a process
group. When the input ends, because its owner closed it or died in whatever way, every group still
known gets SIGTERM, a short grace and SIGKILL; then the program ends. Anything else on the input is
ignored, and so are the signals that a terminal sends. POSIX only.
"""

import os
import signal
import sys
import time

GRACE_SECONDS = 1.0
KILL_SECONDS = 0.5
POLL_SECONDS = 0.02


def ignore_terminal() -> None:
    """Stay alive whatever a terminal or a polite killer sends: the input's end is the only end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)


def read_groups() -> set[int]:
    """The groups known when the input ends."""
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        words = line.split()
        if len(words) != 2 or not words[1].isdigit():
            continue
        group = int(words[1])
        if words[0] == b"add" and 1 < group < 1 << 31 and group != os.getpgrp():
            groups.add(group)
        elif words[0] == b"remove":
            groups.discard(group)
    return groups


def send(groups: set[int], number: int) -> set[int]:
    """The groups that still exist after the signal; 0 only asks."""
    alive = set()
    for group in groups:
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            continue
        except OSError:  # not ours to signal: it may still be there
            pass
        alive.add(group)
    return alive


def wait(groups: set[int], seconds: float) -> set[int]:
    """The groups that still exist when they are gone or the time is up."""
    deadline = time.monotonic() + seconds
    while groups and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        groups = send(groups, 0)
    return groups


def main() -> None:
    """Read until the input ends, then end what is left."""
    ignore_terminal()
    groups = read_groups()
    groups = wait(send(groups, signal.SIGTERM), GRACE_SECONDS)
    wait(send(groups, signal.SIGKILL), KILL_SECONDS)


if __name__ == "__main__":
    main()
