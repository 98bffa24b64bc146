"""Judges the clocks, and whether a sleep will be heard of."""

import time

from slothtray.doctor.checks import OK, PROBLEM, WARNING, Check
from slothtray.system.facts.clocks import Clocks, Signals
from slothtray.text import duration_words

OLDEST = 1_735_689_600.0
"""2025-01-01: a wall clock before that was never set."""


def clocks(facts: Clocks) -> Check:
    """Wall clock and boot id."""
    if not facts.boot_id:
        return Check("clocks", PROBLEM, "the boot id can't be read: a job's end can't be told from a reboot", "mount /proc")
    now = time.strftime("%Y-%m-%d %H:%M", time.localtime(facts.wall))
    if facts.wall < OLDEST:
        return Check("clocks", WARNING, f"the wall clock says {now}", "sudo timedatectl set-ntp true")
    slept = f", {duration_words(facts.slept)} of this boot asleep" if facts.slept >= 1 else ""
    return Check("clocks", OK, f"{now}{slept}")


def sleep(facts: Signals) -> Check:
    """Only a bell: nothing depends on hearing it, so its lack is no problem."""
    if facts.logind and facts.systemd:
        return Check("sleep", WARNING, f"logind does not tell of sleep ({facts.logind})", "systemctl status systemd-logind")
    if facts.logind:
        return Check("sleep", OK, "no logind: a wake is noticed within a minute")
    steps = "" if not facts.steps else f", not of steps of the clock ({facts.steps})"
    return Check("sleep", OK, f"logind tells of it{steps}")
