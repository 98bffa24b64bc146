"""Which finished jobs are forgotten, and how: their rows and events go in one transaction; files are the caller's."""

from slothtray.store.connection import Database

FINAL = "state IN ('done', 'failed', 'cancelled')"
AT_ONCE = 500
"""Rows in one DELETE: SQLite takes only so many values."""


def old(database: Database, before: float, *, failed: bool) -> list[int]:
    """The done and cancelled (and failed) jobs that ended before this wall time, the oldest first."""
    states = "'done', 'cancelled'" + (", 'failed'" if failed else "")
    # The list of all final states is what lets the index on finished_at serve.
    sql = f"SELECT id FROM jobs WHERE {FINAL} AND state IN ({states}) AND finished_at < ? ORDER BY finished_at, id"  # noqa: S608
    return [row["id"] for row in database.rows(sql, (before,))]


def some_old(database: Database, before: float, limit: int) -> list[int]:
    """Some of the done and cancelled jobs that ended before this wall time, at most ``limit`` of each."""
    sql = f"SELECT id FROM jobs WHERE {FINAL} AND state = ? AND finished_at < ? ORDER BY finished_at, id LIMIT ?"  # noqa: S608
    return [row["id"] for state in ("done", "cancelled") for row in database.rows(sql, (state, before, limit))]


def remove(database: Database, ids: list[int]) -> list[int]:
    """Forget these jobs and their events, in the caller's transaction; those that went. One that was retried meanwhile stays."""
    gone: list[int] = []
    for start in range(0, len(ids), AT_ONCE):
        some = ids[start : start + AT_ONCE]
        marks = ",".join("?" * len(some))
        # With the + by id: the index that the condition asks for is walked from end to end.
        some = [row["id"] for row in database.rows(f"SELECT id FROM jobs WHERE +{FINAL} AND id IN ({marks})", some)]  # noqa: S608
        marks = ",".join("?" * len(some))
        gone += some
        database.execute(f"DELETE FROM events WHERE job IN ({marks})", some)  # noqa: S608 - question marks
        database.execute(f"DELETE FROM jobs WHERE id IN ({marks})", some)  # noqa: S608
    return gone
