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
    "reason": None,
    "finished_at": None,
    "seen": 1,
}


def note(database: Database, job: int | None, now: float, kind: str, detail: str = "") -> None:
    """Write one event, in the caller's transaction. Without a job it belongs to the whole queue."""
    database.execute("INSERT INTO events (job, at, kind, detail) VALUES (?, ?, ?, ?)", (job, now, kind, _storable(detail)))


def move(
    database: Database, job: "Job", to: State, kind: str, now: float, detail: str = "", columns: dict[str, object] | None = None
) -> bool:
    """Change ``job``'s state in the caller's transaction; False when the row is no longer as ``job`` says (someone was first).

    What waits for the job with ``--after`` is set free or cancelled with it.
    """
    check_transition(job.state, to, kind)
    fields: dict[str, object] = {"state": str(to), **(columns or {})}
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
    if to in FINISHED:
        _settle_dependents(database, job.id, to, now)
    return True


def _settle_dependents(database: Database, job: int, state: State, now: float) -> None:
    rows = database.rows(f"SELECT {JOB_COLUMNS} FROM jobs WHERE after = ? AND state IN ('pending', 'held')", (job,))  # noqa: S608
    for waiting in map(to_job, rows):
        if state is State.DONE:
            database.execute("UPDATE jobs SET not_before = 0 WHERE id = ? AND not_before = ?", (waiting.id, NEVER))
        else:
            reason = f"job {job} {state}"
            columns: dict[str, object] = {"reason": reason, "message": reason, "finished_at": now}
            move(database, waiting, State.CANCELLED, "dependency failed", now, reason, columns)


def _storable(text: str) -> str:
    """SQLite's text is UTF-8: what can't be said in it is shown as an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
