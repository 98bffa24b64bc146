"""A backup becomes the queue. After a crash between any two steps the queue is the old one or the restored one, whole.

The steps: a copy of the backup is made ready under another name (its unfinished jobs held, ids above all that were given); the
present database gets a second name; its journal, where that could not be rolled back, goes with it; the copy takes the place.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import NamedTuple

from slothtray.clock import Clock
from slothtray.crashpoint import crash_point
from slothtray.errors import DamagedDatabase, DatabaseBusy, StorageError
from slothtray.paths import Paths
from slothtray.private import sync_folder
from slothtray.recovery import files, traces
from slothtray.recovery.files import Kept
from slothtray.store import copying, schema
from slothtray.store.changes import note
from slothtray.store.connection import Database, create_private
from slothtray.system.folder import machine_id

NOTHING_CHANGED = "nothing was changed"


class Restored(NamedTuple):
    """What was done. ``held`` and ``running`` are unfinished jobs; ``kept`` is the replaced database's new name, None without one.

    ``missing`` are the jobs that are in the replaced database and not in the backup. ``strangers`` are those of which a run goes on
    though the backup doesn't know them (or knows them as over).
    """

    source: Kept | None
    held: list[int]
    running: list[int]
    kept: str | None
    missing: list[int]
    strangers: list[int]


def bring_back(paths: Paths, source: Kept | None, clock: Clock) -> Restored:
    """Let a backup (None: a new, empty queue) take the present database's place. The folder's lock must be held.

    Raises ``StorageError`` and then has changed nothing: ``NewerDatabase``, ``DamagedDatabase`` for what the backup is.
    """
    new = os.path.join(paths.home, "queue.db.new")
    files.discard(new)
    try:
        with ExitStack() as stack:
            database = stack.enter_context(_copy_of(source, new, clock))
            present = _present(paths)
            if present is not None:
                stack.callback(present.close)
                stack.enter_context(present.write())  # nobody adds a job to what is about to be set aside
            restored = _make_ready(paths, database, source, present, clock)
            database.close()
            files.discard(f"{new}-journal")
            files.sync(new)
            crash_point("restore: ready")
            kept = _swap(paths, new, "damaged" if present is None else "replaced", clock.wall())
    except OSError as error:
        raise StorageError(f"{error.filename or paths.home} can't be used: {error.strerror or error}", NOTHING_CHANGED) from error
    finally:
        files.discard(new)
    return restored._replace(kept=kept)


def forget_cut_off(paths: Paths) -> None:
    """Take back what a restore left that died before its last step. The folder's lock must be held."""
    files.discard(os.path.join(paths.home, "queue.db.new"))
    for aside in files.asides(paths):
        try:
            if not os.path.samefile(aside.path, paths.database):
                continue
            if os.path.exists(f"{aside.path}-journal"):
                files.move(f"{aside.path}-journal", f"{paths.database}-journal")
            os.unlink(aside.path)
        except OSError:
            continue


@contextmanager
def _copy_of(source: Kept | None, new: str, clock: Clock) -> Iterator[Database]:
    """The backup's copy as an open database of the present schema."""
    create_private(new)
    if source is not None:
        copying.copy(source.path, new)
    with closing(Database(new)) as database:
        for setting in ("journal_mode = MEMORY", "synchronous = OFF", "cache_size = -64000"):
            database.rows(f"PRAGMA {setting}")  # a copy that is cut off is thrown away, a whole one is synced
        if source is not None and schema.checked_version(database, source.path) == 0:
            raise StorageError(f"{source.path} is no backup of slothtray", NOTHING_CHANGED)
        schema.create(database, clock.wall())
        schema.migrate(database, clock.wall())
        yield database


def _present(paths: Paths) -> Database | None:
    """The database that is to be replaced; None when it can't be read, and so needs no lock: nobody can write to it either."""
    if not os.path.exists(paths.database) or os.stat(paths.database).st_size == 0:
        return None  # not even opened: SQLite would remove the journal of an empty file
    try:
        database = Database(paths.database)
        schema.version_of(database)
    except DamagedDatabase:
        return None
    return database


def _ids(present: Database | None, known: int) -> tuple[int, list[int]]:
    """The highest id given in the present database, and its jobs above ``known``; 0 and none where it can't be read."""
    if present is None:
        return 0, []
    try:
        return copying.highest_id(present), copying.ids_above(present, known)
    except DatabaseBusy:
        raise
    except StorageError:
        return 0, []


def _make_ready(paths: Paths, database: Database, source: Kept | None, present: Database | None, clock: Clock) -> Restored:
    found = traces.find(paths)
    now = clock.wall()
    known = copying.highest_id(database)
    given, missing = _ids(present, known)
    words = "a new queue" if source is None else f"restored from the backup of {source.when}"
    ended = {job: outcome for job, (at, outcome) in found.ended.items() if source is None or at > source.made_at}
    with database.write():
        machine, boot = machine_id(), clock.boot_id()
        running = [job for job, run in found.live.items() if copying.resume_run(database, job, run, boot, machine, now)]
        held = copying.hold_unfinished(database, words, ended, running, now)
        copying.raise_sequence(database, max(given, found.highest))
        note(database, None, now, "restored", words)
    return Restored(source, held, running, None, missing, sorted(found.live.keys() - set(running)))


def _swap(paths: Paths, new: str, kind: str, now: float) -> str | None:
    """Give the present database a second name, then its own to the new one: there is no moment without a whole one."""
    aside = files.aside_path(paths, kind, now)
    journal = f"{paths.database}-journal"
    exists = os.path.exists(paths.database)
    if exists:
        _keep(paths.database, aside)
        crash_point("restore: kept")
    if os.path.exists(journal) and os.stat(journal).st_size:
        # It would be rolled back into the new database: 2,964 of 3,000 restored rows were undone by that.
        files.move(journal, f"{aside}-journal")
        crash_point("restore: journal kept")
    sync_folder(paths.home)
    files.move(new, paths.database)
    crash_point("restore: swapped")
    return os.path.basename(aside) if exists else None


def _keep(path: str, aside: str) -> None:
    try:
        os.link(path, aside)
    except PermissionError:
        # No second names on this file system: the database is gone for a moment, in which commands refuse (schema.refuse_lost).
        os.rename(path, aside)
