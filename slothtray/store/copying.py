"""A database copied while others write to it, and what is changed in the copy of a backup before it becomes the queue."""

import contextlib
import os
import sqlite3
import time

from slothtray.errors import DamagedDatabase, DatabaseBusy, StorageError
from slothtray.states import State
from slothtray.store.changes import note
from slothtray.store.connection import Database, explain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

STEP = 256
"""Pages that are copied under one read lock: a writer waits some milliseconds for it, at 100,000 jobs as at a hundred."""
PAUSE = 0.001
"""Seconds between two steps, in which a writer gets in."""
RESTARTS = 3
"""What was written meanwhile makes the copy begin anew. After so many times it is made in one go, for which writers wait."""
SMALL = 64_000_000
"""Bytes that are copied in one go without a second thought: that takes 0.2 s. For more it has to be insisted."""
PATIENCE = 10.0


class Interrupted(Exception):
    """The copy is not wanted any more."""


class _Restarted(Exception):
    pass


def copy(source: str, target: str, goes_on: "Callable[[], bool]" = lambda: True, *, insist: bool = True) -> None:
    """Copy a database into an empty file of one's own, and check the copy. It is not synced yet.

    In small steps by SQLite's backup interface: VACUUM INTO keeps its read lock, and every commit waiting, to its end (1.4 s for
    100,000 jobs, 417 MB, on a disk at rest, 6 s on a busy one; in steps a commit waited for 45 ms at most).

    Raises ``StorageError``: ``DatabaseBusy`` where a large one is written to all the time and one doesn't ``insist``;
    ``Interrupted`` when ``goes_on`` says no.
    """
    try:
        try:
            _copy(source, target, STEP, goes_on)
        except _Restarted:
            if not insist and os.stat(source).st_size > SMALL:
                raise DatabaseBusy(f"the database {source} is written to all the time", "try again later") from None
            with open(target, "wb"):
                pass  # empty again; nobody else has it open
            _copy(source, target, -1, goes_on)
        _check(source, target)
    except sqlite3.Error as error:
        raise explain(error, source) from error


def _copy(source: str, target: str, pages: int, goes_on: "Callable[[], bool]") -> None:
    progress = _Progress(source, goes_on)
    with contextlib.closing(sqlite3.connect(source)) as origin, contextlib.closing(sqlite3.connect(target)) as made:
        # Nothing to roll back to, and synced by the caller.
        made.execute("PRAGMA journal_mode=OFF")
        made.execute("PRAGMA synchronous=OFF")
        origin.backup(made, pages=pages, progress=progress.look, sleep=0.01)


class _Progress:
    """Asked after every step: it pauses, and ends a copy that gets nowhere."""

    def __init__(self, source: str, goes_on: "Callable[[], bool]") -> None:
        self._source, self._goes_on = source, goes_on
        self._restarts = 0
        self._remaining: int | None = None
        self._deadline = time.monotonic() + PATIENCE

    def look(self, status: int, remaining: int, _total: int) -> None:
        if not self._goes_on():
            raise Interrupted
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            if time.monotonic() > self._deadline:
                raise DatabaseBusy(f"the database {self._source} is locked by another program", "try again")
            return
        self._deadline = time.monotonic() + PATIENCE
        self._restarts += self._remaining is not None and remaining >= self._remaining
        if self._restarts > RESTARTS:
            raise _Restarted
        self._remaining = remaining
        if remaining:
            time.sleep(PAUSE)


def _check(source: str, target: str) -> None:
    """A page that nothing has touched for months may be damaged: a backup of that is none."""
    with contextlib.closing(sqlite3.connect(target)) as made:
        (found,) = made.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise DamagedDatabase(f"the database {source} is damaged ({found})", "`slothtray restore` lists the backups")


# --- in the copy of a backup, or in a queue that begins anew ----------------------------------------------------------------------


def hold_unfinished(database: Database, words: str, ended: "Mapping[int, str]", keep: "Collection[int]", now: float) -> list[int]:
    """Hold what is pending or running, in the caller's transaction; the ids of all that is held now. Nothing starts by itself.

    ``words`` are the reason; ``ended`` adds how a run ended that the backup doesn't know of; ``keep`` are left as they are.
    """
    waits = f"state IN ('pending', 'running') AND id NOT IN ({','.join(str(int(number)) for number in keep)})"
    message = "cancelled before the backup was made"
    # A job that was asked to be cancelled is never held (DESIGN 3).
    _note_all(database, f"{waits} AND cancel_requested = 1", now, "cancelled", message)
    change = f"UPDATE jobs SET state = 'cancelled', message = ?, finished_at = ? WHERE {waits} AND cancel_requested = 1"  # noqa: S608
    database.execute(change, (message, now))
    _note_all(database, waits, now, "held", words)
    database.execute(f"UPDATE jobs SET state = 'held', reason = ?, seen = 0, start_now = 0 WHERE {waits}", (words,))  # noqa: S608
    held = [row["id"] for row in database.rows("SELECT id FROM jobs WHERE state = 'held' ORDER BY id")]
    for number in ended.keys() & set(held):
        database.execute("UPDATE jobs SET reason = ? WHERE id = ?", (f"{words}; since then: {ended[number]}", number))
    return held


def _note_all(database: Database, condition: str, now: float, kind: str, detail: str) -> None:
    """One event for each job of a condition, at once: there may be a hundred thousand."""
    sql = f"INSERT INTO events (job, at, kind, detail) SELECT id, ?, ?, ? FROM jobs WHERE {condition} ORDER BY id"  # noqa: S608
    database.execute(sql, (now, kind, detail))


def resume_run(database: Database, number: int, run: str, boot: str, machine: str, now: float) -> bool:
    """Let a job's row say that this run of it goes on, which an app then adopts; False when the job is unknown or over."""
    changed = database.execute(
        "UPDATE jobs SET attempts = attempts + (run IS NOT ?), run = ?, state = 'running', boot = ?, machine = ?, holder = NULL,"
        " started_at = coalesce(started_at, ?), not_before = 0, backoff = NULL, reason = NULL"
        " WHERE id = ? AND state IN ('pending', 'running', 'held')",
        (run, run, boot, machine, now, number),
    )
    if changed:
        note(database, number, now, "running", "found at work when a backup was restored")
    return changed == 1


def highest_id(database: Database) -> int:
    """The highest job id that was ever given here; 0 on a fresh queue."""
    ids = "SELECT max(id) AS id FROM jobs UNION ALL SELECT seq FROM sqlite_sequence WHERE name = 'jobs'"
    row = database.row(f"SELECT max(id) AS id FROM ({ids})")  # noqa: S608 - a constant
    return int(row["id"] or 0) if row else 0


def raise_sequence(database: Database, at_least: int) -> None:
    """Let the next job's id be above ``at_least``, in the caller's transaction: an id is never used again (DESIGN 5)."""
    wanted = max(at_least, highest_id(database))
    database.execute("DELETE FROM sqlite_sequence WHERE name = 'jobs'")
    database.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', ?)", (wanted,))


def ids_above(database: Database, number: int) -> list[int]:
    """The jobs with a higher id."""
    return [row["id"] for row in database.rows("SELECT id FROM jobs WHERE id > ? ORDER BY id", (number,))]


def numbers(path: str) -> tuple[int, int] | None:
    """How many jobs a backup has, and how many of them are unfinished; None when that can't be read."""
    try:
        database = Database(path)
    except StorageError:
        return None
    try:
        found = {row["what"]: row["jobs"] for row in database.rows("SELECT what, jobs FROM tally WHERE what != 'unseen'")}
    except StorageError:
        return None
    finally:
        database.close()
    return sum(found.values()), sum(found.get(state, 0) for state in (State.PENDING, State.RUNNING, State.HELD))
