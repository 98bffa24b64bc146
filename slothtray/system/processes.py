"""Processes by identity (pid and start time), the cancel signal, and the sweep that proves a lost run dead (DESIGN 3).

Strangers are never signalled: a pid alone proves nothing, so whatever is signalled is pinned by a pidfd first and then
checked against what was recorded.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from slothtray.model import RunRecord
from slothtray.system import records

COOKIE = "SLOTHTRAY_RUN"
"""The environment variable by which a run's processes are known; its value is the run-id."""
SWEEP_PASSES = 2
"""Passes in a row that must find nothing: a process that was forking during the first one is there in the second."""
SUSPECT_PASSES = 10
"""Passes in a row before an orphan is believed to be without the cookie: at its exec a process has no environment for a moment."""
SWEEP_LIMIT = 200
"""Passes at most: what still breeds, or dies, by then can't be proven dead."""
SWEEP_PAUSE = 0.05
"""Seconds between two passes at most: all in all 10 s for a process to die that has gigabytes to give back."""
IDLE_LIMIT = 20
"""Passes in a row that find something and can kill none of it: somebody else's, it will be there in the next ones too."""
GLIMPSES = 50
"""Looks a pass at the process that was made last. One that forks and exits for ever is never there any more when its turn in a
table of 400 comes (a sweep took that for a proof, with the forker alive); the newest pid is it in every second look, or so."""
PF_EXITING = 0x4


class Process(NamedTuple):
    """One row of the process table. ``start`` is in clock ticks since boot; with the pid it is one of a kind."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    exiting: bool
    """It runs no program any more, but the kernel has not buried it yet: it has no environment either."""
    start: int


def look_up(pid: int) -> Process | None:
    """The process with that pid now; None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            words = file.read().rpartition(")")[2].split()
        exiting = bool(int(words[6]) & PF_EXITING)
        return Process(pid, words[0], int(words[1]), int(words[2]), int(words[3]), exiting, int(words[19]))
    except (OSError, IndexError, ValueError):
        return None


def table() -> list[Process]:
    """All processes that are not zombies."""
    return list(_listed())


def _listed() -> Iterator[Process]:
    for name in os.listdir("/proc"):
        if name.isdigit() and (process := look_up(int(name))) is not None and process.state not in "ZX":
            yield process


def _passing() -> Iterator[Process]:
    """All processes that are not zombies, then again and again the newest: to be judged one by one, as they may be gone next."""
    yield from _listed()
    for _ in range(GLIMPSES):
        newest = _last_pid()
        for pid in (newest, newest - 1):  # the very last one may not be born yet
            if _is_process(pid) and (process := look_up(pid)) is not None and process.state not in "ZX":
                yield process


def _is_process(pid: int) -> bool:
    """Whether that is a process: the newest pid may be one of the threads of an old one, which has a start of its own."""
    try:
        os.close(os.pidfd_open(pid))
    except OSError:
        return False
    return True


def _last_pid() -> int:
    """The pid that was given out last; 0 where the kernel doesn't tell."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            return int(file.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0


def lives(pid: int) -> bool:
    """Whether there is such a process, and no mere zombie."""
    process = look_up(pid)
    return process is not None and process.state not in "ZX"


def has_cookie(pid: int, run: str) -> bool:
    """Whether a process carries the run's cookie in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{COOKIE}={run}".encode() in file.read().split(b"\0")
    except OSError:
        return False


def cancel(descriptor: int, record: RunRecord) -> bool:
    """Tell the supervisor of this record to end its job as cancelled; False when it isn't there (yet, or any more).

    If the lock is still held when the pid is pinned, the pinned process is the holder: a pid is not used again while its
    process lives.
    """
    if record.started is None:
        return False
    numbers = (signal.SIGUSR1, signal.SIGCONT)  # a job may have stopped it, which would make it deaf to its limit too
    return _send(numbers, record.started.pid, record.started.start, lambda: records.is_locked(descriptor))


def _send(numbers: Sequence[int], pid: int, start: int, still: Callable[[], bool] = lambda: True) -> bool:
    """Send signals to the process that began at ``start``; False when the pid is not that one, or not ours to signal.

    The pid is pinned before it is looked at, and ``still`` is asked in between.
    """
    try:
        pinned = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        now = look_up(pid) if still() else None
        if now is None or now.start != start:
            return False
        for number in numbers:
            signal.pidfd_send_signal(pinned, number)
    except OSError:
        return False
    finally:
        os.close(pinned)
    return True


class Swept(NamedTuple):
    """What a sweep did: the pids it killed, and those that keep it from being a proof ((): proven dead)."""

    killed: tuple[int, ...]
    unproven: tuple[int, ...]


def sweep(run: str, record: RunRecord | None) -> Swept:
    """Kill what is left of a run of this boot whose supervisor is gone, until ``SWEEP_PASSES`` passes find nothing.

    Proven when nothing is found any more and no orphan of this user in the supervisor's control group is younger than ``S``
    (such a one may have dropped cookie, session and group: it is named, never touched).
    """
    killed: set[int] = set()
    quiet = idle = 0
    for number in range(SWEEP_LIMIT):
        found = belonging(run, record)
        hit = {process.pid for process in found if _send((signal.SIGKILL,), process.pid, process.start)}
        killed |= hit
        quiet, idle = (0 if found else quiet + 1), (idle + 1 if found and not hit else 0)
        if idle >= IDLE_LIMIT:
            break
        if quiet >= SWEEP_PASSES:
            found = suspects(record)
            certain = quiet >= SUSPECT_PASSES and not any(process.exiting for process in found)
            if certain or not found:
                break
        time.sleep(min(0.002 * (number + 1), SWEEP_PAUSE))  # the killed need a moment to leave the table
    return Swept(tuple(sorted(killed)), tuple(process.pid for process in found))


def belonging(run: str, record: RunRecord | None) -> list[Process]:
    """The living processes that are known to be of this run, by cookie, session or group."""
    job = record.process if record is not None else None
    if job is not None and (leader := look_up(job.pid)) is not None and leader.start != job.start:
        job = None  # a stranger has that pid now, so the job's session and group were empty by then: theirs are a stranger's too
    me = os.getpid()
    found = {}
    for process in _passing():
        grouped = job is not None and job.pid in (process.session, process.group) and process.start >= job.start
        if process.pid != me and (grouped or has_cookie(process.pid, run)):
            found[process.pid] = process
    return list(found.values())


def remains(run: str) -> list[Process]:
    """What carries the cookie of a run that has no record. One pass may miss what was forking: SWEEP_PASSES must find nothing."""
    for _ in range(SWEEP_PASSES):
        if found := belonging(run, None):
            return found
    return []


def suspects(record: RunRecord | None) -> list[Process]:
    """Orphans of this user in the supervisor's control group, younger than its ``S``: they may be the run's, or anybody's.

    In a group that is not the whole machine's, those of other users too: who else should have brought them there?
    """
    if record is None or record.started is None:
        return []
    started, user, me = record.started, os.getuid(), os.getpid()
    found = {
        process.pid: process
        for process in _passing()
        if process.start >= started.start
        and process.pid != me  # an app that was started anew by init, or by whatever is outside of the group
        and process.parent not in (0, 2)  # the kernel's own threads
        and _is_member(process.pid, started.cgroup)
        # Orphans go to init or, under a user's session manager, to a reaper that has a group of its own.
        and (process.parent == 1 or not _is_member(process.parent, started.cgroup))
        and (_owner(process.pid) == user or started.cgroup not in ("", "/"))
    }
    return list(found.values())


def _is_member(pid: int, cgroup: str) -> bool:
    """Whether a living process is in that control group; "" is any."""
    return lives(pid) and (not cgroup or _cgroup(pid) == cgroup)


def _cgroup(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="replace") as file:
            return next((line.rstrip("\n")[3:] for line in file if line.startswith("0::")), "")
    except OSError:
        return ""


def _owner(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return -1


def descendants(pid: int) -> list[int]:
    """A process and everything below it, by one look at the table."""
    children: dict[int, list[int]] = {}
    for process in table():
        children.setdefault(process.parent, []).append(process.pid)
    found, todo = [], [pid]
    while todo:
        current = todo.pop()
        found.append(current)
        todo += children.get(current, [])
    return found


def busy_tasks(pid: int) -> int:
    """How many tasks (threads) of the tree below ``pid``, without itself, count for the load: those in R or D."""
    return sum(_busy_threads(member) for member in descendants(pid) if member != pid)


def _busy_threads(pid: int) -> int:
    count = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8", errors="replace") as file:
                count += file.read().rpartition(")")[2].split()[0] in "RD"
    except (OSError, IndexError):
        return count  # gone meanwhile
    return count
