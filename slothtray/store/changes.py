"""The one way a job's state changes: checked against the table, guarded by id, run and state, with its event (DESIGN 3)."""

from slothtray.states import FINISHED, NEVER, State, check_transition
from slothtray.store.connection import Database
from slothtray.store.rows import JOB_COLUMNS, to_job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slothtray.model import Job

FRESH: dict[str, object] = {
    # A person's retry or release is a new beginning; the events keep the old story.
    "failures": 0,
    "interruptions": 0,
    "unstarted": 0,
    "cancel_requested": 0,
    "not_before": 0,
    "backoff": None,
    "start_now": 0,
    "reason": None,
    "started_at": None,
    "finished_at": None,
    "seen": 1,
}


def note(database: Database, job: int | None, now: float, kind: str, detail: str = "") -> None:
    """Write one event, in the caller's transaction. Without a job it belongs to the whole queue."""
    database.execute("INSERT INTO events (job, at, kind, detail) VALUES (?, ?, ?, ?)", (job, now, kind, _storable(detail)))


def note_sleep(database: Database, now: float, words: str) -> None:
    """The machine has slept so long: an event of the queue, and of the job that ran. In the caller's transaction."""
    for job in (None, *(row["id"] for row in database.rows("SELECT id FROM jobs WHERE state = 'running'"))):
        note(database, job, now, "slept", words)


def note_unkillable(database: Database, job: "Job", now: float, words: str) -> None:
    """Let a running job say what of it can't be killed ("": all can, by now), with an event. In the caller's transaction."""
    sql = "UPDATE jobs SET reason = ? WHERE id = ? AND run IS ? AND state = 'running'"
    if database.execute(sql, (words or None, job.id, job.run)) == 1 and words:
        note(database, job.id, now, "cannot kill", words.removeprefix("cannot kill "))


def move(
    database: Database, job: "Job", to: State, kind: str, now: float, detail: str = "", columns: dict[str, object] | None = None
) -> bool:
    """Change ``job``'s state in the caller's transaction; False when the row is no longer as ``job`` says (someone was first).

    What waits for the job with ``--after`` is set free or cancelled with it, and what waits for that.
    """
    if not _change(database, job, to, kind, now, detail, columns or {}):
        return False
    # Not by recursion: a chain of a thousand jobs, each after the one before, is an evening's shell loop.
    over = [(job.id, to)] if to in FINISHED else []
    while over:
        over += _settle_dependents(database, *over.pop(0), now)
    return True


def _change(
    database: Database, job: "Job", to: State, kind: str, now: float, detail: str, columns: dict[str, object]
) -> bool:
    check_transition(job.state, to, kind)
    fields: dict[str, object] = {"state": str(to), **columns}
    for name in ("message", "reason"):
        if isinstance(fields.get(name), str):
            fields[name] = _storable(str(fields[name]))
    names = ", ".join(f"{name} = ?" for name in fields)
    changed = database.execute(
        f"UPDATE jobs SET {names} WHERE id = ? AND run IS ? AND state = ?",  # noqa: S608 - the names are ours
        (*fields.values(), job.id, job.run, str(job.state)),
    )
    if changed != 1:
        return False
    note(database, job.id, now, kind, detail)
    return True


def _settle_dependents(database: Database, job: int, state: State, now: float) -> list[tuple[int, State]]:
    """Let go, or cancel, what waits for a job that is over; the jobs that are over with it."""
    cancelled: list[tuple[int, State]] = []
    # One that was set free once, or told to start, no longer waits: the other one's retry is no business of its own.
    waiting = "after = ? AND not_before = ? AND state IN ('pending', 'held')"
    if state is State.DONE:
        database.execute(f"UPDATE jobs SET not_before = earliest WHERE {waiting}", (job, NEVER))  # noqa: S608 - a constant
        return cancelled
    for row in database.rows(f"SELECT {JOB_COLUMNS} FROM jobs WHERE {waiting} ORDER BY id", (job, NEVER)):  # noqa: S608
        dependent = to_job(row)
        reason = f"job {job} {state}"
        columns: dict[str, object] = {"reason": reason, "message": reason, "finished_at": now}
        if _change(database, dependent, State.CANCELLED, "dependency failed", now, reason, columns):
            cancelled.append((dependent.id, State.CANCELLED))
    return cancelled


def _storable(text: str) -> str:
    """SQLite's text is UTF-8: what can't be said in it is shown as an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
