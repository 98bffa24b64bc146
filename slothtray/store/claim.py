"""The claim: which job is next, taken in one transaction that is durable before any process is made (DESIGN 4, step 1)."""

from slothtray.states import State
from slothtray.store.changes import move
from slothtray.store.connection import Database
from slothtray.store.rows import JOB_COLUMNS, to_job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slothtray.model import Job

# Down the priorities, one index look-up in each: the naive ORDER BY walks every deferred row, this one none (0.01 ms at 1M).
NEXT = """
WITH RECURSIVE level (priority) AS (
  SELECT max(priority) FROM jobs WHERE state = 'pending'
  UNION ALL
  SELECT (SELECT max(priority) FROM jobs WHERE state = 'pending' AND priority < level.priority)
  FROM level WHERE level.priority IS NOT NULL
)
SELECT (
  SELECT id FROM jobs WHERE state = 'pending' AND priority = level.priority AND not_before = 0 ORDER BY id LIMIT 1
) AS id
FROM level WHERE level.priority IS NOT NULL AND id IS NOT NULL LIMIT 1
"""
EXPIRING = "state IN ('pending', 'held') AND expires_at IS NOT NULL AND started_at IS NULL"
"""A job that has been started was in time: when it is interrupted or fails, it is not too late for its next attempt."""
START_NOW = "SELECT id FROM jobs WHERE state = 'pending' AND start_now = 1 ORDER BY id LIMIT 1"


class Claimant:
    """Who claims: the run's new id is ``<job>-<token>``; ``lease_until`` is in time awake of the boot ``boot``.

    ``holder`` names a library's worker (None: the app), ``machine`` the app's machine.
    """

    def __init__(self, token: str, boot: str, lease_until: float, holder: str | None = None, machine: str | None = None) -> None:
        self.token, self.boot, self.lease_until, self.holder, self.machine = token, boot, lease_until, holder, machine


def take(database: Database, claimant: Claimant, now: float, *, only_start_now: bool = False) -> "Job | None":
    """Claim the next due job, in the caller's transaction; None when one is running or nothing is due.

    ``only_start_now``: the gates are shut, so only a job that the person told to start may go.
    """
    if database.row("SELECT 1 FROM jobs WHERE state = 'running' LIMIT 1"):
        return None
    make_due(database, now)
    found = database.row(START_NOW) or (None if only_start_now else database.row(NEXT))
    if found is None:
        return None
    job = get(database, found["id"])
    assert job is not None
    columns: dict[str, object] = {
        "run": f"{job.id}-{claimant.token}",
        "holder": claimant.holder,
        "machine": claimant.machine,
        "boot": claimant.boot,
        "lease_until": claimant.lease_until,
        "attempts": job.attempts + 1,
        "started_at": now,
        # Told to start now, it no longer waits for its time or for another job: not after an interruption either.
        "not_before": 0,
        "backoff": None,
        "start_now": 0,
        "reason": None,
        "exit_code": None,
        "signal": None,
        "message": None,
    }
    move(database, job, State.RUNNING, "claimed", now, f"attempt {job.attempts + 1}", columns)
    return get(database, job.id)


def make_due(database: Database, now: float) -> None:
    """Let what is due be due, and expire what is too late, in the caller's transaction.

    A due job's ``not_before`` becomes 0, so that within a priority the order is by id, not by when it came due.
    """
    for job in expired(database, now):
        columns: dict[str, object] = {"reason": "expired", "message": "expired before it could start", "finished_at": now}
        move(database, job, State.CANCELLED, "expired", now, "not started in time", columns)
    database.execute("UPDATE jobs SET not_before = 0 WHERE state = 'pending' AND not_before > 0 AND not_before <= ?", (now,))


def clamp_backoff(database: Database, now: float) -> None:
    """After the wall clock was set back: no backoff lasts longer than it was meant to. In the caller's transaction."""
    sql = "UPDATE jobs SET not_before = ? + backoff WHERE state = 'pending' AND backoff IS NOT NULL AND not_before - backoff > ?"
    database.execute(sql, (now, now))


def expired(database: Database, now: float) -> "list[Job]":
    """The jobs whose time to start by has passed before they were started, in the order in which it passed."""
    sql = f"SELECT {JOB_COLUMNS} FROM jobs WHERE {EXPIRING} AND expires_at <= ? ORDER BY expires_at, id"  # noqa: S608 - constants
    return [to_job(row) for row in database.rows(sql, (now,))]


def get(database: Database, job: int) -> "Job | None":
    """One job, or None."""
    row = database.row(f"SELECT {JOB_COLUMNS} FROM jobs WHERE id = ?", (job,))  # noqa: S608
    return to_job(row) if row else None
