"""What a person does to jobs: cancel, hold, release, retry, start. Each in the caller's transaction."""

from slothtray.errors import Refused, UnknownJob
from slothtray.model import FINISHED, Job, State
from slothtray.store.changes import FRESH, move, note
from slothtray.store.claim import get
from slothtray.store.connection import Database
from slothtray.store.editing import Edit


def find(database: Database, job: int) -> Job:
    """The job, or ``UnknownJob``."""
    found = get(database, job)
    if found is None:
        raise UnknownJob(f"there is no job {job}", "`slothtray list` shows the ids")
    return found


def cancel(database: Database, number: int, now: float) -> Job:
    """Cancel a waiting or held job at once, ask for it when it runs; the job as it was before. ``Refused`` when it is over."""
    job = find(database, number)
    if job.state in FINISHED:
        raise Refused(f"job {number} is over already ({job.state})")
    if job.state is State.RUNNING:
        if not job.cancel_requested:
            database.execute("UPDATE jobs SET cancel_requested = 1 WHERE id = ? AND state = 'running'", (number,))
            note(database, number, now, "cancel requested")
    else:
        columns: dict[str, object] = {"message": "cancelled before it ran", "finished_at": now, "seen": 1}
        move(database, job, State.CANCELLED, "cancelled", now, "by you", columns)
    return job


def hold(database: Database, number: int, now: float) -> None:
    """Keep a pending job from starting until it is released. ``Refused`` in any other state."""
    job = find(database, number)
    if job.state is not State.PENDING:
        raise Refused(f"job {number} can't be held: it is {job.state}", "only pending jobs can")
    move(database, job, State.HELD, "held", now, "by you", {"reason": "held by you"})


def release(database: Database, number: int, now: float) -> None:
    """Queue a held job again, as new. ``Refused`` in any other state."""
    job = find(database, number)
    if job.state is not State.HELD:
        raise Refused(f"job {number} can't be released: it is {job.state}", "only held jobs can")
    keep_wait = {"not_before": job.not_before} if job.attempts == 0 else {}
    move(database, job, State.PENDING, "released", now, "by you", {**FRESH, **keep_wait})


def retry(database: Database, number: int, now: float) -> None:
    """Queue a finished job again under its id; its history stays. ``Refused`` while it is not over."""
    job = find(database, number)
    if job.state not in FINISHED:
        raise Refused(f"job {number} can't be retried: it is {job.state}", "only finished jobs can")
    move(database, job, State.PENDING, "retried", now, "by you", {**FRESH, "expires_at": None})


def start(database: Database, number: int, now: float) -> None:
    """Let a pending job start next, whatever the gates say. ``Refused`` in any other state."""
    job = find(database, number)
    if job.state is not State.PENDING:
        raise Refused(f"job {number} can't be started: it is {job.state}", "only pending jobs can")
    database.execute("UPDATE jobs SET start_now = 1 WHERE id = ? AND state = 'pending'", (number,))
    note(database, number, now, "start", "by you")


def check_editable(job: Job) -> None:
    """Raise ``Refused`` for a job that has started or is over."""
    if job.state not in (State.PENDING, State.HELD):
        raise Refused(f"job {job.id} can't be changed: it is {job.state}", "only pending and held jobs can")


def edit(database: Database, number: int, change: Edit, now: float) -> None:
    """Change a job that has not started. ``Refused`` when it has, ``Usage`` when it could not have been added so."""
    job = find(database, number)
    check_editable(job)
    columns = change.columns(job)
    names = ", ".join(f"{name} = ?" for name in columns)
    values = (*columns.values(), number, job.run, str(job.state))
    database.execute(f"UPDATE jobs SET {names} WHERE id = ? AND run IS ? AND state = ?", values)  # noqa: S608 - the names are ours
    note(database, number, now, "edited", ", ".join(name for name in columns if name != "fingerprint"))


def mark_seen(database: Database, number: int) -> None:
    """The person has looked at a failure: it makes no badge any more."""
    database.execute("UPDATE jobs SET seen = 1 WHERE id = ? AND seen = 0", (number,))
