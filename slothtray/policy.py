"""What to start now, or why to wait and until when; what a row found running means; how an attempt's end changes its job.

Pure: no clock, no file, no process is touched here. All times come in as arguments.
"""

import errno
import os
import time
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from slothtray.model import Face, Job, Load, Result, RunRecord, State
from slothtray.text import duration_words

UNSTARTED_LIMIT = 3
"""The third attempt in a row that never began is held: something is broken that waiting won't mend."""
INTERRUPTION_LIMIT = 10
PIDS_TOLD = 8
CANNOT_EXEC = frozenset({126, 127})
"""What a shell says when the command can't be run or found: repeating it can't help."""


# --- what a row found running means -------------------------------------------------------------------------------------


class Verdict(Enum):
    """What to do with a row that says running (DESIGN 3, in its order)."""

    HOLD_FOREIGN = "another machine's row"
    WAIT_LEASE = "claimed through the library, its lease lives"
    RECLAIM = "proven dead"
    ADOPT = "its supervisor lives"
    RECORD = "the result is there"
    SWEEP_COOKIE = "no run record: look for its processes"
    SWEEP = "started, no result: look for its processes"
    UNSTARTED = "never began"


class Evidence(NamedTuple):
    """What the machine says about one running row. ``record`` is None when there is no run record."""

    same_machine: bool
    same_boot: bool
    library_claim: bool
    lease_lives: bool
    lock_held: bool
    record: RunRecord | None


def verdict(evidence: Evidence) -> Verdict:
    """The one answer to "is this run alive, over, or lost?". The order of the questions is the proof."""
    if not evidence.same_machine:
        return Verdict.HOLD_FOREIGN
    if evidence.library_claim:
        return Verdict.WAIT_LEASE if evidence.lease_lives else Verdict.RECLAIM
    if evidence.lock_held:
        return Verdict.ADOPT
    record = evidence.record
    if record is not None and record.result is not None:
        return Verdict.RECORD
    if not evidence.same_boot:
        return Verdict.RECLAIM
    if record is None:
        return Verdict.SWEEP_COOKIE
    return Verdict.UNSTARTED if record.started is None else Verdict.SWEEP


# --- how an attempt's end changes its job -------------------------------------------------------------------------------


class Change(NamedTuple):
    """A transition out of ``running``: the new state, the event's kind and words, and the columns that go with it."""

    to: State
    kind: str
    detail: str
    columns: dict[str, object]


def backoff(count: int, cap: float) -> float:
    """Seconds to wait after the ``count``-th failure: 2, 4, 8 …, at most ``cap``."""
    return min(2.0 ** min(count, 60), cap)


def outcome_words(result: Result) -> str:
    """How an attempt ended, in a person's words."""
    after = f" after {duration_words(result.ran)}" if result.ran >= 1 else ""
    if result.why == "exec":
        return f"could not start: {result.error}"
    if result.why == "timeout":
        return f"timed out{after}"
    if result.why == "cancel":
        return f"cancelled{after}"
    if result.why == "interrupted":
        return f"interrupted{after}"
    if result.signal is not None:
        return f"signal {result.signal}{after}"
    if result.code == 0:
        return "ok" if not result.left else f"ok, left {result.left} running"
    return f"exit {result.code}{after}"


def pids_words(pids: Sequence[int]) -> str:
    """Say "7, 8"; of a great many the first few, and how many more."""
    more = len(pids) - PIDS_TOLD
    return ", ".join(str(pid) for pid in pids[:PIDS_TOLD]) + (f" and {more} more" if more > 0 else "")


def unkillable_words(pids: Sequence[int]) -> str:
    """Say "cannot kill pid 7": what a supervisor's ``K`` line means to a person; "" for none."""
    return f"cannot kill pid {pids_words(pids)}" if pids else ""


NO_ROOM = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))


def lacked_room_for_log(result: Result) -> bool:
    """Whether nothing of the job ran for want of space on the disk, as when the run record can't be made: no fault of the job's."""
    return result.why == "exec" and result.error.startswith("log ") and result.error.endswith(NO_ROOM)


def after_result(job: Job, result: Result, now: float, attempts: int, cap: float) -> Change:
    """The change that an ``X`` line asks for. ``attempts`` and ``cap`` (s) are the limits in force; ``now`` is wall time."""
    words = outcome_words(result)
    columns: dict[str, object] = {
        "exit_code": result.code,
        "signal": result.signal,
        "message": words,
        "finished_at": result.at,
        "runtime": result.ran,
        "unstarted": 0,
    }
    if result.why == "exit" and result.code == 0:
        return Change(State.DONE, "done", words, columns)
    if result.why == "cancel":
        return Change(State.CANCELLED, "cancelled", words, columns)
    if result.why == "interrupted":
        return after_interruption(job, words, now)
    if lacked_room_for_log(result):
        return after_no_start(job, words, now, cap)
    hopeless = result.why == "exec" or result.code in CANNOT_EXEC
    return after_failure(job, words, now, columns, 1 if hopeless else attempts, cap)


def on_full_disk(change: Change) -> Change:
    """What the end of an attempt becomes when the disk was full then: a failure has that as its likely reason, and is told so."""
    if change.kind not in ("failed", "retry"):
        return change
    words = {"message": f"the disk was full; {change.columns['message']}"}
    return change._replace(detail=f"the disk was full; {change.detail}", columns={**change.columns, **words})


def after_failure(job: Job, words: str, now: float, columns: dict[str, object], attempts: int, cap: float) -> Change:
    """An attempt ended by its own fault: again after the backoff while there are attempts left, else failed for good."""
    failures = job.failures + 1
    columns = {**columns, "failures": failures}
    if failures >= attempts:
        return Change(State.FAILED, "failed", words, {**columns, "seen": 0})
    if job.cancel_requested:
        return Change(State.CANCELLED, "cancelled", words, columns)
    wait = backoff(failures, cap)
    waiting = {**columns, "finished_at": None, "not_before": now + wait, "backoff": wait}
    return Change(State.PENDING, "retry", f"{words}; again in {duration_words(wait)}", waiting)


def after_interruption(job: Job, words: str, now: float) -> Change:
    """The run was cut short by no fault of its own and is proven dead: queued again, unless the person said otherwise."""
    count = job.interruptions + 1
    columns: dict[str, object] = {"interruptions": count, "unstarted": 0, "message": words}
    if job.cancel_requested:
        return Change(State.CANCELLED, "cancelled", words, {**columns, "finished_at": now})
    if job.once:
        return held(job, f"{words}, and it may run only once", now, columns)
    if count >= INTERRUPTION_LIMIT:
        return held(job, f"{words}, for the {count}th time", now, columns)
    return Change(State.PENDING, "reclaimed", words, {**columns, "reason": "reclaimed: " + words})


def after_no_start(job: Job, words: str, now: float, cap: float) -> Change:
    """Nothing of the job ever ran: the attempt does not count. ``words`` carry the supervisor's own error, if any."""
    count = job.unstarted + 1
    columns: dict[str, object] = {"attempts": job.attempts - 1, "unstarted": count, "message": words, "started_at": None}
    if job.cancel_requested:
        return Change(State.CANCELLED, "cancelled", "cancelled before it began", {**columns, "finished_at": now})
    if count >= UNSTARTED_LIMIT:
        return held(job, f"could not be started {count} times: {words}", now, columns)
    wait = backoff(count, cap)
    return Change(State.PENDING, "unstarted", words, {**columns, "not_before": now + wait, "backoff": wait})


def held(job: Job, words: str, now: float, columns: dict[str, object] | None = None) -> Change:
    """The job needs the person's word; one that they had already asked to cancel is cancelled instead."""
    fields = {**(columns or {}), "reason": words}
    if job.cancel_requested:
        return Change(State.CANCELLED, "cancelled", words, {**fields, "finished_at": now})
    return Change(State.HELD, "held", words, {**fields, "seen": 0})


def cancelled_meanwhile(change: Change, now: float) -> Change:
    """What ``change`` becomes when a cancel was asked for after its job was read: no row waits, or is held, with one."""
    if change.to not in (State.PENDING, State.HELD):
        return change
    kept = {name: value for name, value in change.columns.items() if name not in ("not_before", "backoff", "seen", "reason")}
    words = str(change.columns.get("message") or change.detail)
    return Change(State.CANCELLED, "cancelled", words, {**kept, "message": words, "finished_at": now})


# --- what to start now, or why to wait ------------------------------------------------------------------------------------


class Instant(NamedTuple):
    """One reading of the clocks, in seconds."""

    wall: float
    awake: float


class Gates(NamedTuple):
    """What the gates look at. ``*_until`` are in time awake, ``paused_until`` in wall time (None: until resumed)."""

    paused: bool
    paused_until: float | None
    settle_until: float
    cooldown_until: float
    storage: str
    """Why a run record can't be made, "" when it can."""
    load: Load | None
    """None: not measured (nothing is due, or the ceiling is off)."""
    load_since: float | None
    """Wall time since when the load has been too high."""


class Wait(NamedTuple):
    """A gate that is shut: its name, why (with the figure), since and until when (wall time; None: not known)."""

    gate: str
    reason: str
    since: float | None
    until: float | None


def waits(now: Instant, gates: Gates) -> list[Wait]:
    """Every gate that is shut now, the one that matters most first; empty: a due job may start."""
    shut = (_storage(gates), _pause(now, gates), _settle(now, gates), _cooldown(now, gates), _load(gates))
    return [wait for wait in shut if wait is not None]


def _storage(gates: Gates) -> Wait | None:
    return Wait("storage", gates.storage, None, None) if gates.storage else None


def _pause(now: Instant, gates: Gates) -> Wait | None:
    if not gates.paused or (gates.paused_until is not None and now.wall >= gates.paused_until):
        return None
    until = f" until {clock_words(gates.paused_until, now.wall)}" if gates.paused_until is not None else ""
    return Wait("pause", f"paused{until}", None, gates.paused_until)


def _settle(now: Instant, gates: Gates) -> Wait | None:
    left = gates.settle_until - now.awake
    return Wait("settle", f"just woke up: {duration_words(left)} to settle", None, now.wall + left) if left > 0 else None


def _cooldown(now: Instant, gates: Gates) -> Wait | None:
    left = gates.cooldown_until - now.awake
    return Wait("cooldown", f"cooldown: {duration_words(left)} left", None, now.wall + left) if left > 0 else None


def _load(gates: Gates) -> Wait | None:
    load = gates.load
    if load is None or load.ceiling is None or load.foreign < load.ceiling:
        return None
    return Wait("load", load_words(load, gates.load_since), gates.load_since, None)


def load_words(load: Load, since: float | None) -> str:
    """Say "load 2.91 > 1.50 since 14:02"; names our own part when there is one to name."""
    assert load.ceiling is not None
    foreign, ceiling = f"{load.foreign:.2f}", f"{load.ceiling:.2f}"
    sign = ">" if foreign != ceiling else "≥"
    own = f" (own {load.own:.2f} taken off)" if load.own >= 0.005 else ""
    return f"load {foreign} {sign} {ceiling}{own}" + (f" since {clock_words(since)}" if since is not None else "")


FAR = 23 * 3600.0


def clock_words(wall: float, now: float | None = None) -> str:
    """Local time as people say it: "14:02"; with the date where that is so far from ``now`` that it could be misread."""
    far = now is not None and abs(wall - now) >= FAR
    return time.strftime("%Y-%m-%d %H:%M" if far else "%H:%M", time.localtime(wall))


MORNING = 8
"""O'clock."""
NIGHT = 4 * 3600.0


def tomorrow(now: float) -> float:
    """When "until tomorrow" ends: the next morning that is at least four hours away, so that past midnight it is this one."""
    soonest = time.localtime(now + NIGHT)
    late = soonest.tm_hour >= MORNING
    # mktime carries a 32nd over into the next month, and knows about daylight saving.
    return time.mktime((soonest.tm_year, soonest.tm_mon, soonest.tm_mday + late, MORNING, 0, 0, 0, 0, -1))


def face(*, running: bool, paused: bool, waiting: bool) -> Face:
    """The icon's face: running > paused > waiting > idle."""
    if running:
        return Face.RUNNING
    if paused:
        return Face.PAUSED
    return Face.WAITING if waiting else Face.IDLE


# --- load -------------------------------------------------------------------------------------------------------------------

LOAD_PERIOD = 5.004
"""Seconds between the kernel's own samples (LOAD_FREQ, 5 s and one tick)."""
LOAD_DECAY = 1884 / 2048
"""The kernel's fixed-point factor for the 1-minute average, a sample (EXP_1 / FIXED_1)."""


def own_load(before: float, tasks: int, seconds: float) -> float:
    """The kernel's 1-minute average of our own tasks, ``seconds`` after it was ``before``, with ``tasks`` of them in R or D."""
    keep = LOAD_DECAY ** (seconds / LOAD_PERIOD)
    return float(before * keep + tasks * (1 - keep))


def measured(one: float, own: float, ceiling: float | None) -> Load:
    """The gate's figures. What our own job put there is not held against the next one."""
    return Load(one, own, max(0.0, one - own), ceiling)


# --- what is forgotten ------------------------------------------------------------------------------------------------------

FORGET_EVERY = 86400.0


def forget_before(wall: float, elapsed: float, last: float | None, after: float | None) -> float | None:
    """Jobs that ended before this wall time are forgotten now; None: not now.

    ``last``: the time elapsed when that was last done in this boot (None: not yet). ``after``: seconds, None is never.
    """
    if after is None or (last is not None and elapsed - last < FORGET_EVERY):
        return None
    return wall - after
