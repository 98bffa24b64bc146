"""What is read for people: lists in their order, counts, the next and the last few, a job's history. No writes."""

import json
from typing import NamedTuple

from slothtray.model import FINISHED, NEVER, Event, Job, State
from slothtray.store.adding import fingerprint
from slothtray.store.claim import EXPIRING, NEXT
from slothtray.store.connection import Database
from slothtray.store.rows import JOB_COLUMNS, encode, to_event, to_job

_SELECT = f"SELECT {JOB_COLUMNS} FROM jobs"  # noqa: S608 - a constant
_FINISHED = "state IN ('done', 'failed', 'cancelled')"
"""What the index of finished jobs is of; a query must say it to be served by that."""


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
    """The counts that matter now."""
    tally = _tally(database)
    return Counts(tally["pending"], tally["running"], tally["held"], tally["unseen"])


def _tally(database: Database) -> dict[str, int]:
    """How many jobs there are in each state, and ``unseen``; the schema's triggers keep it."""
    return {row["what"]: row["jobs"] for row in database.rows("SELECT what, jobs FROM tally")}


def outlook(database: Database, now: float) -> Outlook:
    """What is due at wall time ``now``, and when the next one will be."""
    row = database.row(
        "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'pending' AND not_before > 0 AND not_before <= ?)"  # noqa: S608
        f" OR ({NEXT}) IS NOT NULL AS due,"
        " EXISTS (SELECT 1 FROM jobs WHERE state = 'pending' AND start_now = 1) AS start_now,"
        # Not what is due by now: behind a shut gate it would ask for the next look at once, and for ever. In this order, as the
        # first of the two bounds is the one that the index is entered by; the other makes it the index of the delayed ones.
        " (SELECT min(not_before) FROM jobs WHERE state = 'pending' AND not_before > ? AND not_before > 0) AS next_due,"
        f" (SELECT min(expires_at) FROM jobs WHERE {EXPIRING}) AS next_expiry",
        (now, now),
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
    return _last_finished(database, None, limit)


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
    sql = "SELECT 1 FROM jobs WHERE state = 'pending' AND backoff IS NOT NULL AND not_before - backoff > ? LIMIT 1"
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


SLEEPS_TOLD = 10


def sleeps(database: Database, job: Job) -> list[Event]:
    """When the machine slept while a job was in the queue, as the queue's history tells it, oldest first; of many the last ones."""
    own = [event.id for event in events(database, job.id)]
    sql = (
        "SELECT id, job, at, kind, detail FROM events AS slept WHERE job IS NULL AND kind = 'slept' AND id BETWEEN ? AND ?"
        " AND NOT EXISTS (SELECT 1 FROM events WHERE job = ? AND at = slept.at AND kind = 'slept') ORDER BY id DESC LIMIT ?"
    )
    # By their order, not by their times: a clock may have been set in between.
    since, until = min(own, default=0), max(own, default=0) if job.state in FINISHED else 1 << 62
    return [to_event(row) for row in reversed(database.rows(sql, (since, until, job.id, SLEEPS_TOLD)))]


class Wanted(NamedTuple):
    """Which jobs a list is of; None: of all."""

    state: State | None = None
    label: str | None = None


_IN_LIST_ORDER = (
    (State.RUNNING, "id"),
    (State.PENDING, "priority DESC, not_before, id"),
    (State.HELD, "id"),
)


def listed(database: Database, wanted: Wanted, unfinished: int, finished: int) -> list[Job]:
    """The jobs of a list: the unfinished in the order in which they will run, then the last finished, the newest first."""
    jobs: list[Job] = []
    for state, order in _IN_LIST_ORDER:
        if wanted.state in (None, state):
            jobs += _some(database, f"state = '{state}'", wanted.label, order, unfinished - len(jobs))
    if wanted.state is None:
        jobs += _last_finished(database, wanted.label, finished)
    elif wanted.state in FINISHED:
        jobs += _finished_as(database, wanted.state, wanted.label, unfinished)
    return jobs


def _last_finished(database: Database, label: str | None, limit: int) -> list[Job]:
    """The last ones of each final state, and of these the last: the index is by state first."""
    jobs = [job for state in FINISHED for job in _finished_as(database, state, label, limit)]
    return sorted(jobs, key=lambda job: (job.finished_at or 0.0, job.id), reverse=True)[:limit]


def _finished_as(database: Database, state: State, label: str | None, limit: int) -> list[Job]:
    # With a label it is the label's index that serves; the condition of the other one only tempts SQLite to walk that.
    condition = f"state = '{state}'" if label is not None else f"{_FINISHED} AND state = '{state}'"
    return _some(database, condition, label, "finished_at DESC, id DESC", limit)


def _some(database: Database, condition: str, label: str | None, order: str, limit: int) -> list[Job]:
    if label is not None:
        condition += " AND label = ?"
    values = (label, max(limit, 0)) if label is not None else (max(limit, 0),)
    return [to_job(row) for row in database.rows(f"{_SELECT} WHERE {condition} ORDER BY {order} LIMIT ?", values)]


def how_many(database: Database, wanted: Wanted) -> int:
    """How many jobs a list would have without its limits."""
    if wanted.label is None:
        tally = _tally(database)
        return sum(tally[state] for state in State if wanted.state in (None, state))
    state = "" if wanted.state is None else f" AND state = '{wanted.state}'"
    row = database.row(f"SELECT count(*) AS n FROM jobs WHERE label = ?{state}", (wanted.label,))  # noqa: S608 - a State
    return int(row["n"]) if row is not None else 0


USUAL_OF = 5


def usual(database: Database, job: Job) -> float | None:
    """How many seconds awake the last runs of the same command in the same folder took: their median; None below a second."""
    rows = database.rows(
        "SELECT runtime FROM jobs WHERE fingerprint = ? AND state = 'done' AND runtime IS NOT NULL AND command = ?"
        " ORDER BY finished_at DESC LIMIT ?",
        (fingerprint(job.command, job.cwd), encode(job.command), USUAL_OF),
    )
    times = sorted(row["runtime"] for row in rows)
    median = times[len(times) // 2] if times else 0.0
    return median if median >= 1 else None


def version(database: Database) -> int:
    """A number that is another one when somebody else has written since. For who goes on looking: see ``check_not_restored``."""
    database.check_not_restored()
    row = database.row("PRAGMA data_version")
    assert row is not None
    return int(row[0])


def next_due(database: Database) -> int | None:
    """The job that will be claimed next; None when nothing is due. One that has come due since the last claim is left out."""
    row = database.row(NEXT)
    return int(row["id"]) if row is not None else None


def first_delayed(database: Database) -> Job | None:
    """The pending job that is due first of those that are not due yet; one that waits for another job comes last."""
    rows = database.rows(f"{_SELECT} WHERE state = 'pending' AND not_before > 0 ORDER BY not_before LIMIT 1")
    return to_job(rows[0]) if rows else None


def unfinished_ids(database: Database) -> list[int]:
    """The ids of what is pending or running."""
    # One query a state, as the indexes are of one state each: IN would look at every row, a sorted UNION as well.
    queries = ("SELECT id FROM jobs WHERE state = 'running'", "SELECT id FROM jobs WHERE state = 'pending'")
    return sorted(row["id"] for query in queries for row in database.rows(query))


def ahead_of(database: Database, job: Job, now: float) -> int:
    """How many pending jobs that are due by ``now`` go before this one."""
    row = database.row(
        "SELECT count(*) AS n FROM jobs WHERE state = 'pending' AND id != ? AND not_before <= ?"
        " AND (priority > ? OR (priority = ? AND id < ?) OR start_now = 1)",
        (job.id, now, job.priority, job.priority, job.id),
    )
    return int(row["n"]) if row is not None else 0
