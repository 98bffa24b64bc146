"""What a person does to jobs: cancel, hold, release, retry, start. Each in the caller's transaction."""

from slothtray.errors import Refused, UnknownJob
from slothtray.model import FINISHED, NEVER, Job, State
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
        columns: dict[str, object] = {"message": "cancelled before it ran", "reason": None, "finished_at": now, "seen": 1}
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
    # Its own time and the job it waits for still count; a backoff is over with what held it, a job that was started was in time.
    never_ran = job.started_at is None and not job.unstarted
    columns: dict[str, object] = {
        "not_before": job.not_before if never_ran else 0,
        "expires_at": job.expires_at if job.started_at is None else None,
    }
    move(database, job, State.PENDING, "released", now, "by you", {**FRESH, **columns})


def retry(database: Database, number: int, now: float) -> None:
    """Queue a finished job again under its id; its history stays. ``Refused`` while it is not over."""
    job = find(database, number)
    if job.state not in FINISHED:
        raise Refused(f"job {number} can't be retried: it is {job.state}", "only finished jobs can")
    first = None if job.after is None else get(database, job.after)
    # Both may be retried together: then it waits again. When the other is over, whatever came of it, the person wants this one.
    waits = first is not None and first.state not in FINISHED
    columns: dict[str, object] = {"not_before": NEVER if waits else 0, "earliest": 0, "expires_at": None}
    move(database, job, State.PENDING, "retried", now, "by you", {**FRESH, **columns})


def start(database: Database, number: int, now: float) -> None:
    """Let a pending job start next, whatever the gates say. ``Refused`` in any other state."""
    job = find(database, number)
    if job.state is not State.PENDING:
        raise Refused(f"job {number} can't be started: it is {job.state}", _way_to_pending(job))
    database.execute("UPDATE jobs SET start_now = 1 WHERE id = ? AND state = 'pending'", (number,))
    note(database, number, now, "start", "by you")


def _way_to_pending(job: Job) -> str:
    if job.state is State.HELD:
        return f"`slothtray release {job.id}` first"
    return f"`slothtray retry {job.id}` queues it again" if job.state in FINISHED else ""


def check_editable(job: Job) -> None:
    """Raise ``Refused`` for a job that has started or is over."""
    if job.state not in (State.PENDING, State.HELD):
        raise Refused(f"job {job.id} can't be changed: it is {job.state}", "only pending and held jobs can")


def edit(database: Database, number: int, change: Edit, now: float) -> None:
    """Change a job that has not started. ``Refused`` when it has, ``Usage`` when it could not have been added so."""
    job = find(database, number)
    check_editable(job)
    columns = change.columns(job)
    if set(columns) == {"fingerprint"}:
        return
    names = ", ".join(f"{name} = ?" for name in columns)
    values = (*columns.values(), number, job.run, str(job.state))
    database.execute(f"UPDATE jobs SET {names} WHERE id = ? AND run IS ? AND state = ?", values)  # noqa: S608 - the names are ours
    note(database, number, now, "edited", ", ".join(name for name in columns if name not in ("fingerprint", "backoff")))


def mark_seen(database: Database, number: int) -> None:
    """The person has looked at a failure: it makes no badge any more."""
    database.execute("UPDATE jobs SET seen = 1 WHERE id = ? AND seen = 0", (number,))
