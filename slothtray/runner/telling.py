"""What the runner tells: notices for a person, and the snapshot that the tray draws. Reads the database, writes nothing."""

from slothtray import policy
from slothtray.model import Job, Load, Notice, Snapshot, State
from slothtray.paths import Paths
from slothtray.policy import Change
from slothtray.store import reading
from slothtray.store.connection import Database
from slothtray.store.status import pause_of
from slothtray.system.tail import last_line
from slothtray.text import clean

NEXT_UP, RECENT = 5, 5
NOTICE_NAME = 60
"""Characters of a command that a notification's title carries."""


def name_of(job: Job) -> str:
    """How a job is called in a title: its label, else its command, on one clean line."""
    return clean(job.label or job.command, NOTICE_NAME)


def notice(job: Job, change: Change, paths: Paths) -> Notice | None:
    """What the person is told of a change: final failures and held jobs; None for all that is as it should be."""
    if change.to is State.FAILED:
        last = last_line(paths.log(job.id))
        return Notice(job.id, f"Failed: {name_of(job)}", change.detail + (f"\n{last}" if last else ""), urgent=True)
    if change.to is State.HELD:
        return Notice(job.id, f"Held: {name_of(job)}", f"{change.detail}\n`slothtray release {job.id}` queues it", urgent=True)
    return None


def reclaimed_notice(jobs: list[Job]) -> Notice | None:
    """One notice for all that was interrupted, since they were interrupted by the same thing."""
    if not jobs:
        return None
    if len(jobs) == 1:
        return Notice(jobs[0].id, f"Interrupted: {name_of(jobs[0])}", "it is queued again", urgent=False)
    return Notice(None, f"{len(jobs)} jobs were interrupted", "they are queued again", urgent=False)


def snapshot(database: Database, wait: policy.Wait | None, load: Load | None, now: float, trouble: str = "") -> Snapshot:
    """The queue as the tray shows it. ``wait``: the gate that keeps a due job back."""
    counts = reading.counts(database)
    running = reading.running(database)
    pause = pause_of(database, now)
    waiting = wait is not None or counts.pending > 0
    return Snapshot(
        face=policy.face(running=bool(running), paused=pause is not None, waiting=waiting),
        reason=wait.reason if wait is not None else "",
        running=running[0] if running else None,
        next_up=tuple(reading.next_up(database, NEXT_UP)),
        recent=tuple(reading.recent(database, RECENT)),
        pending=counts.pending,
        held=counts.held,
        failed_unseen=counts.unseen,
        paused=pause is not None,
        paused_until=pause.until if pause else None,
        load=load,
        trouble=trouble,
    )
