"""What is read for people: lists in their order, counts, the next and the last few, a job's history. No writes."""

import json
from typing import NamedTuple

from slothtray.model import FINISHED, NEVER, Event, Job, State
from slothtray.store.claim import NEXT
from slothtray.store.connection import Database
from slothtray.store.rows import JOB_COLUMNS, to_event, to_job

_SELECT = f"SELECT {JOB_COLUMNS} FROM jobs"  # noqa: S608 - a constant
_FINISHED = "state IN ('done', 'failed', 'cancelled')"


class Counts(NamedTuple):
    """How many jobs there are of the kinds that matter now."""

    pending: int
    running: int
    held: int
    unseen: int


class Outlook(NamedTuple):
    """What the runner needs to decide: is something due, told to start, too late; and when (wall time) will something be."""

    due: bool
    start_now: bool
    next_due: float | None
    expired: bool


def counts(database: Database) -> Counts:
    """The counts, each from an index of its own."""
    row = database.row(
        "SELECT (SELECT count(*) FROM jobs WHERE state = 'pending') AS pending,"
        " (SELECT count(*) FROM jobs WHERE state = 'running') AS running,"
        " (SELECT count(*) FROM jobs WHERE state = 'held') AS held,"
        " (SELECT count(*) FROM jobs WHERE seen = 0 AND state = 'failed') AS unseen"
    )
    assert row is not None
    return Counts(row["pending"], row["running"], row["held"], row["unseen"])


def outlook(database: Database, now: float) -> Outlook:
    """What is due at wall time ``now``, and when the next one will be."""
    row = database.row(
        "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'pending' AND not_before > 0 AND not_before <= ?)"  # noqa: S608
        f" OR ({NEXT}) IS NOT NULL AS due,"
        " EXISTS (SELECT 1 FROM jobs WHERE state = 'pending' AND start_now = 1) AS start_now,"
        " (SELECT min(not_before) FROM jobs WHERE state = 'pending' AND not_before > 0) AS next_due,"
        " (SELECT min(expires_at) FROM jobs WHERE state IN ('pending', 'held') AND expires_at IS NOT NULL) AS next_expiry",
        (now,),
    )
    assert row is not None
    moments = [row[name] for name in ("next_due", "next_expiry") if row[name] not in (None, NEVER)]
    expired = row["next_expiry"] is not None and row["next_expiry"] <= now
    return Outlook(bool(row["due"]), bool(row["start_now"]), min(moments, default=None), expired)


def running(database: Database) -> list[Job]:
    """The rows that say running: one at most, unless another machine shares the file."""
    return [to_job(row) for row in database.rows(f"{_SELECT} WHERE state = 'running' ORDER BY id")]


def next_up(database: Database, limit: int) -> list[Job]:
    """The pending jobs in the order in which they will be taken: by priority, the due ones first, then by id."""
    return [
        to_job(row)
        for row in database.rows(
            f"{_SELECT} WHERE state = 'pending' ORDER BY priority DESC, not_before, id LIMIT ?", (limit,)
        )
    ]


def recent(database: Database, limit: int) -> list[Job]:
    """The last finished jobs, the newest first."""
    sql = f"{_SELECT} WHERE {_FINISHED} ORDER BY finished_at DESC, id DESC LIMIT ?"
    return [to_job(row) for row in database.rows(sql, (limit,))]


def held(database: Database, limit: int) -> list[Job]:
    """The held jobs, in the order of their ids."""
    return [to_job(row) for row in database.rows(f"{_SELECT} WHERE state = 'held' ORDER BY id LIMIT ?", (limit,))]


def unfinished_exists(database: Database, now: float) -> bool:
    """Whether something is running or pending and not delayed by the person: what `run --until-empty` waits for.

    A job in backoff counts; one with --delay or --at, or one that is held, doesn't.
    """
    row = database.row(
        "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'running')"
        " OR EXISTS (SELECT 1 FROM jobs WHERE state = 'pending' AND backoff IS NOT NULL)"
        " OR EXISTS (SELECT 1 FROM jobs WHERE state = 'pending' AND start_now = 1) AS some",
    )
    assert row is not None
    return bool(row["some"]) or outlook(database, now).due


def late_backoff_exists(database: Database, now: float) -> bool:
    """Whether a backoff is longer than it was meant to be, because the wall clock was set back."""
    sql = "SELECT 1 FROM jobs WHERE state = 'pending' AND backoff IS NOT NULL AND not_before > ? + backoff LIMIT 1"
    return database.row(sql, (now,)) is not None


def environment(database: Database, job: int) -> dict[str, str] | None:
    """The environment captured with a job, or None when it is to have the app's. Only for starting it: never shown."""
    row = database.row("SELECT env FROM jobs WHERE id = ?", (job,))
    return None if row is None or row["env"] is None else json.loads(row["env"])


def events(database: Database, job: int) -> list[Event]:
    """A job's history, oldest first."""
    return [
        to_event(row)
        for row in database.rows("SELECT id, job, at, kind, detail FROM events WHERE job = ? ORDER BY id", (job,))
    ]


def last_id(database: Database) -> int:
    """The highest job id there has been; 0 on a fresh queue."""
    row = database.row("SELECT max(id) AS id FROM jobs")
    return int(row["id"] or 0) if row else 0


def in_state(database: Database, state: State, limit: int) -> list[Job]:
    """The jobs in one state; the newest first when it is a final one."""
    if state is State.PENDING:
        return next_up(database, limit)
    if state in FINISHED:
        sql = f"{_SELECT} WHERE {_FINISHED} AND state = ? ORDER BY finished_at DESC, id DESC LIMIT ?"
    else:
        sql = f"{_SELECT} WHERE state = ? ORDER BY id LIMIT ?"
    return [to_job(row) for row in database.rows(sql, (str(state), limit))]


def unfinished_ids(database: Database) -> list[int]:
    """The ids of what is pending or running."""
    return [row["id"] for row in database.rows("SELECT id FROM jobs WHERE state IN ('pending', 'running') ORDER BY id")]
