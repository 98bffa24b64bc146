"""The machine's clocks, and whether it tells of sleep and of steps of the wall clock."""

import os
import sys
from typing import NamedTuple

from slothtray.clock import Clock
from slothtray.system import sleep
from slothtray.system.bus import BusUnavailable

ANSWER = 0.6
"""Seconds for each of the three questions to the system bus."""


class Clocks(NamedTuple):
    """``slept``: seconds of this boot that the machine was asleep; ``boot_id``: "" when it can't be read."""

    wall: float
    slept: float
    boot_id: str


class Signals(NamedTuple):
    """``logind`` and ``steps``: "" when they will be heard, else why not; ``systemd``: whether there should be a logind."""

    logind: str
    steps: str
    systemd: bool


def clocks() -> Clocks:
    """Read them."""
    clock = Clock()
    try:
        boot_id = clock.boot_id()
    except OSError:
        boot_id = ""
    return Clocks(clock.wall(), max(0.0, clock.elapsed() - clock.awake()), boot_id)


def signals() -> Signals:
    """Subscribe, and hang up again."""
    systemd = os.path.isdir("/run/systemd/system")
    if sys.platform != "linux":
        return Signals("not on this system", "not on this system", systemd=False)
    logind = steps = ""
    try:
        sleep.Logind(ANSWER).close()
    except BusUnavailable as error:
        logind = str(error)
    try:
        sleep.ClockSteps().close()
    except OSError as error:
        steps = error.strerror or str(error)
    return Signals(logind, steps, systemd)
