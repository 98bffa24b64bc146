"""What an app does before it opens the queue: a damaged database is replaced by a backup, an older one migrated."""

import logging
import os
import time

from slothtray.clock import Clock
from slothtray.errors import DamagedDatabase, NewerDatabase
from slothtray.paths import Paths
from slothtray.recovery import backup, files, restore, traces
from slothtray.recovery.restore import Restored
from slothtray.store import copying, schema
from slothtray.store.connection import Database
from slothtray.system import locks
from slothtray.text import id_ranges

log = logging.getLogger(__name__)

MAKING, A_MOMENT = 10.0, 0.5
"""Seconds that whoever holds a lock on the new database may take to make it, and that are left to one who is about to."""
LONGEST = 60
"""Characters of ids that are worth showing in a sentence."""


def make_usable(paths: Paths, clock: Clock) -> str:
    """Leave a database that a queue can be made of; what a person must be told of it, "" when nothing.

    The folder's lock must be held. Raises ``StorageError``: ``NewerDatabase`` for one that a newer program wrote.
    """
    restore.forget_cut_off(paths)
    try:
        _refuse_an_empty_one_with_a_journal(paths)
        database = Database(paths.database)
        try:
            version = schema.checked_version(database, paths.database)
            if version == 0:
                schema.refuse_lost(database)
            else:
                _read_a_little(database)
                _raise_ids(paths, database)
            if 0 < version < schema.LATEST:
                _migrate(paths, database, version, clock)
        finally:
            database.close()
    except DamagedDatabase as error:
        return _mend(paths, error, clock)
    return ""


def _refuse_an_empty_one_with_a_journal(paths: Paths) -> None:
    """Not even opened: SQLite would remove the journal, which may be all that is left of the queue.

    The first command of all makes the database so, too, for some milliseconds, under a lock: nobody sets that aside.
    """
    begun = time.monotonic()
    while _is_empty_with_a_journal(paths):
        waited = time.monotonic() - begun
        if waited > (MAKING if locks.anyone_holds(paths.database) else A_MOMENT):
            raise DamagedDatabase(f"the database {paths.database} is empty or gone, though its journal is there")
        time.sleep(0.02)


def _is_empty_with_a_journal(paths: Paths) -> bool:
    return _size(paths.database) == 0 and _size(f"{paths.database}-journal") > 0


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _read_a_little(database: Database) -> None:
    """What every look reads. Raises ``DamagedDatabase``; damage deep inside is found by the daily backup, or when it is met."""
    for table in ("jobs", "events", "tally", "queue", "migrations"):
        if not database.row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)):
            raise DamagedDatabase(f"the database {database.path} has lost its table {table}")
        database.row(f"SELECT * FROM {table} LIMIT 1")  # noqa: S608 - our names
    if not database.row("SELECT 1 FROM queue WHERE one = 1"):
        raise DamagedDatabase(f"the database {database.path} has lost the queue's row")


def _raise_ids(paths: Paths, database: Database) -> None:
    """Somebody may have put an older copy in the database's place by hand: the ids of jobs that have logs are not given again."""
    highest = traces.highest_id(paths)
    if highest > copying.highest_id(database):
        with database.write():
            copying.raise_sequence(database, highest)


def _migrate(paths: Paths, database: Database, version: int, clock: Clock) -> None:
    made = backup.make(paths, clock, schema=version)
    log.info("bringing the queue from schema %d to %d; as it was it is in %s", version, schema.LATEST, made)
    schema.migrate(database, clock.wall())


def _mend(paths: Paths, damage: DamagedDatabase, clock: Clock) -> str:
    """A backup takes the database's place, or a new queue does where there is none; what to tell of it."""
    words = told(damage.title, _newest_whole(paths, clock) or restore.bring_back(paths, None, clock))
    log.error("%s", words)
    return words


def _newest_whole(paths: Paths, clock: Clock) -> Restored | None:
    """Bring the newest backup back that can be; None when none can."""
    for kept in files.backups(paths):
        try:
            return restore.bring_back(paths, kept, clock)
        except (DamagedDatabase, NewerDatabase) as error:
            log.warning("the backup %s is of no use: %s", kept.name, error)
    return None


def told(title: str, restored: Restored) -> str:
    """What happened to a database that was damaged, in one line."""
    aside = f"; it is kept as {restored.kept}" if restored.kept else ""
    if restored.source is None:
        return f"{title}{aside}; there was no backup: a new, empty queue has begun"
    missing = f", which alone has job {id_ranges(restored.missing)}" if restored.missing else ""
    return f"{title}{aside}{missing}; the backup of {restored.source.when} was restored, {held_words(restored)}"


def held_words(restored: Restored) -> str:
    """What became of the unfinished jobs, and what to do with them."""
    running = f"job {id_ranges(restored.running)} goes on running, " if restored.running else ""
    if restored.strangers:
        running += f"job {id_ranges(restored.strangers)} still runs though it is over or unknown there, "
    if not restored.held:
        return f"{running}no job waits in it"
    ids = id_ranges(restored.held)
    if len(ids) > LONGEST:
        return f"{running}{len(restored.held)} jobs are held: see `slothtray list --state held`"
    jobs = "job" if len(restored.held) == 1 else "jobs"
    return f"{running}{jobs} {ids} held: `slothtray release {ids.replace(',', '')}` queues what is still wanted"
