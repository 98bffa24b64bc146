"""What became of a row that says running: the evidence is gathered here, `policy.verdict` judges it, the change is made."""

import logging
from collections.abc import Callable

from slothtray import policy
from slothtray.clock import Clock
from slothtray.config import Config
from slothtray.model import Job, RunRecord
from slothtray.paths import Paths
from slothtray.policy import Change, Evidence, Verdict
from slothtray.store import changes
from slothtray.store.connection import Database
from slothtray.system import launcher, processes, records
from slothtray.text import clean

log = logging.getLogger(__name__)


def gather(
    job: Job, paths: Paths, clock: Clock, machine: str, record: RunRecord | None = None
) -> tuple[Evidence, RunRecord | None]:
    """Ask the machine about a run. ``record``: what our own waiter read after the lock was free, when we had one."""
    held = False
    if record is None and job.run is not None:
        held, record = _look(paths.run_record(job.run))
    boot = clock.boot_id()
    same_boot = job.boot == boot and (record is None or record.started is None or record.started.boot == boot)
    lease_lives = same_boot and job.lease_until is not None and clock.awake() < job.lease_until
    evidence = Evidence(
        same_machine=job.machine is None or job.machine == machine,
        same_boot=same_boot,
        library_claim=job.holder is not None,
        lease_lives=lease_lives,
        lock_held=held,
        record=record,
    )
    return evidence, record


def _look(path: str) -> tuple[bool, RunRecord | None]:
    try:
        descriptor = records.open_for_look(path)
    except OSError:
        log.exception("the run record %s can't be opened", path)
        return False, None
    return records.look(descriptor)


def change_for(verdict: Verdict, job: Job, record: RunRecord | None, paths: Paths, config: Config, now: float) -> Change:
    """The change that a verdict asks for; sweeps where it must. For every verdict but ADOPT and WAIT_LEASE."""
    match verdict:
        case Verdict.RECORD:
            assert record is not None
            assert record.result is not None
            return policy.after_result(job, record.result, now, job.max_attempts or config.attempts, config.backoff_cap)
        case Verdict.HOLD_FOREIGN:
            return policy.held(job, f"it was running on another machine ({job.machine}), and may still be", now)
        case Verdict.UNSTARTED:
            words = clean(launcher.stderr_of(paths, str(job.run)), 200) or "its supervisor ended before it began"
            return policy.after_no_start(job, words, now, config.backoff_cap)
        case Verdict.SWEEP_COOKIE:
            return _by_cookie(job, now)
        case Verdict.SWEEP:
            return _by_sweep(job, record, now)
        case Verdict.RECLAIM:
            words = "its lease ran out" if job.holder is not None else "the machine was restarted"
            return policy.after_interruption(job, words, now)
    raise AssertionError(verdict)


def say_unkillable(database: Database, job: Job, pids: list[int], now: float, tell: Callable[[str], None] | None) -> None:
    """Let a running job's row say what of it can't be killed, when that has changed; ``tell`` as well."""
    words = policy.unkillable_words(pids)
    if words == (job.reason or ""):
        return
    with database.write():
        changes.note_unkillable(database, job, now, words)
    if words:
        log.warning("job %d: %s", job.id, words)
        if tell is not None:
            tell(f"job {job.id}: {words}; nothing else starts until it is gone")


def _by_cookie(job: Job, now: float) -> Change:
    """No record, so nothing is known but the run-id: what carries it may be the supervisor itself, and is left alone."""
    found = processes.remains(str(job.run))
    if found:
        pids = policy.pids_words([process.pid for process in found])
        return policy.held(job, f"its run record is gone, but processes of it still run: {pids}", now)
    return policy.after_interruption(job, "interrupted at its start, before it had a run record", now)


def _by_sweep(job: Job, record: RunRecord | None, now: float) -> Change:
    swept = processes.sweep(str(job.run), record)
    if swept.unproven:
        pids = policy.pids_words(swept.unproven)
        return policy.held(job, f"its supervisor was killed, and these may still be of it: {pids}", now)
    left = f", {len(swept.killed)} left processes ended" if swept.killed else ""
    return policy.after_interruption(job, f"its supervisor was killed{left}", now)
