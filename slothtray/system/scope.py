"""A scope of systemd's user manager for each supervisor, so that what ends the app's own unit does not end the job (DESIGN 4).

Only where the app itself lives under that manager: elsewhere no unit's end takes the job along, and no bus is touched. The move
takes systemd 3.4 ms and makes a job start 9 ms later, 49 instead of 40 ms after its add (measured by
tests/desktop/user_manager.py).
"""

import logging
import os
import re
import select
import time
from collections.abc import Callable
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slothtray.system.bus import Bus

log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds that a job's start may wait for systemd; then it begins without a scope."""
AFTER_GRACE = 5.0
"""Seconds that a supervisor has for its last words when the job's grace is over."""
LONGEST = 2**64 - 2
"""Microseconds; one more means for ever."""
SYSTEMD1, PATH, MANAGER = "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"
UNKNOWN_PROPERTY = "org.freedesktop.DBus.Error.PropertyReadOnly"
"""What systemd answers for a property that it doesn't know."""

Property = tuple[str, tuple[str, Any]]


class NotMoved(Exception):
    """systemd has taken the job of making the scope, and failed. The text says how."""


def managed(cgroups: str, user: int) -> bool:
    """Whether the process whose ``/proc/PID/cgroup`` reads so lives under the systemd of that user."""
    for line in cgroups.splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers in ("", "name=systemd") and f"user@{user}.service" in path.split("/")[:-1]:
            return True
    return False


def unit_name(run: str) -> str:
    """The scope's name; what a unit's name may not have is escaped as systemd.unit(5) says. ``-`` means nothing in a scope's."""
    return f"slothtray-{re.sub(rb'[^0-9A-Za-z:_.-]', _escaped, run.encode(errors='surrogateescape')).decode('ascii')}.scope"


def _escaped(found: re.Match[bytes]) -> bytes:
    return b"\\x%02x" % found[0][0]


def properties(run: str, pid: int, grace: float) -> list[Property]:
    """What the scope is to be. ``grace``: the seconds that a supervisor gives its job between TERM and KILL.

    At the end of a login (and without lingering) the user manager stops all its units: it sends TERM to all that is in the scope,
    and KILL to what is left after TimeoutStopSec. So the supervisor hears of it and has the time to empty its tree and to write
    that the job was interrupted; the next login finds that, and runs the job again.

    - KillMode=mixed or =process would signal a main process alone: a scope has none, so its supervisor would hear nothing before
      the KILL, which lets it write nothing.
    - SendSIGHUP is for shells at a terminal, which ignore TERM; a job that has asked for no HUP (nohup) is not to get one.
    - TimeoutStopSec would be the manager's (10 to 90 s): less than the person's own grace, or the logout is kept waiting.
    - CollectMode lets a scope that ended by a KILL be forgotten too: nobody would ever type `reset-failed`.
    - The command is not in the description: that gets into the journal, which others may read, and commands have passwords in them.
    """
    return [
        ("Description", ("s", f"slothtray job {run.partition('-')[0]}")),
        ("PIDs", ("au", [pid])),
        ("CollectMode", ("s", "inactive-or-failed")),
        ("KillMode", ("s", "control-group")),
        ("SendSIGHUP", ("b", False)),
        ("TimeoutStopUSec", ("t", round(min((grace + AFTER_GRACE) * 1e6, LONGEST)))),
    ]


NEWER: list[Property] = [("OOMPolicy", ("s", "continue"))]
"""From systemd 253 on the default for scopes is "stop": after the kernel has killed one process of a job for want of memory, the
supervisor would get a TERM and call the job interrupted, to be run again and again. It has failed, by signal 9. Older ones refuse
the property, and leave the scope alone anyway."""


def own_cgroups() -> str:
    """This process's control groups as the kernel tells them; "" where it doesn't. Asked anew each time: desktops move apps."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class Scopes:
    """Asks for scopes, for one app. May be used from any thread."""

    def __init__(self, cgroups: Callable[[], str] = own_cgroups, patience: float = PATIENCE) -> None:
        self._cgroups, self._patience = cgroups, patience
        self._extras = NEWER

    def move(self, run: str, pid: int, grace: float) -> bool:
        """Move a supervisor into a scope of its own; whether it is in one now. Never raises: a job starts without one, too.

        ``pid`` is a child that nobody has waited for, so it can't be another's by now. A systemd that answers too late moves the
        supervisor without its job: then ending the app's unit ends the job, as if there were no scope.
        """
        if not managed(self._cgroups(), os.getuid()):
            return False
        try:
            self._ask(run, pid, grace)
        except Exception as error:  # whatever the session's bus may come up with
            log.info("run %s stays in the app's own unit: %s", run, " ".join(str(error).split()) or type(error).__name__)
            return False
        return True

    def _ask(self, run: str, pid: int, grace: float) -> None:
        from slothtray.system.bus import Bus, time_left

        deadline = time.monotonic() + self._patience
        bus = Bus("USER", self._patience)
        try:
            bus.subscribe(SYSTEMD1, PATH, MANAGER, "JobRemoved", time_left(deadline))
            job = self._start(bus, run, properties(run, pid, grace), deadline)
            _wait_for(bus, job, deadline)
        except TimeoutError:
            raise TimeoutError(f"systemd has not answered within {self._patience:g} s") from None
        finally:
            bus.close()

    def _start(self, bus: "Bus", run: str, wanted: list[Property], deadline: float) -> str:
        """Order the scope; systemd's name for the order."""
        from slothtray.system.bus import Call, CallFailed, time_left

        extras = self._extras
        body: tuple[Any, ...] = (unit_name(run), "fail", [*wanted, *extras], [])
        call = Call(SYSTEMD1, PATH, MANAGER, "StartTransientUnit", "ssa(sv)a(sa(sv))", body)
        try:
            return str(bus.call(call, time_left(deadline)).body[0])
        except CallFailed as error:
            if not extras or error.name != UNKNOWN_PROPERTY:
                raise
        self._extras = []
        return self._start(bus, run, wanted, deadline)


def _wait_for(bus: "Bus", job: str, deadline: float) -> None:
    """Wait until the order is carried out: what a supervisor forks before it was moved would stay behind."""
    from slothtray.system.bus import time_left

    while True:
        for signal in bus.drain():
            if signal.member == "JobRemoved" and signal.body[1] == job:
                if signal.body[3] != "done":
                    raise NotMoved(f"systemd has not made the scope: {signal.body[3]}")
                return
        if not select.select([bus.fileno()], [], [], time_left(deadline))[0]:
            raise TimeoutError
