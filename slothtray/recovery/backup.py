"""A backup of the queue: when one is due, and how it is made beside a queue that is used."""

import os
import shutil
import time
from collections.abc import Callable

from slothtray.clock import Clock
from slothtray.errors import StorageError
from slothtray.paths import Paths
from slothtray.private import make_folder
from slothtray.recovery import files
from slothtray.store.connection import create_private
from slothtray.store.copying import Interrupted, copy
from slothtray.text import size_words

DAY = 24 * 3600.0
RETRY = 3600.0
"""Seconds until a backup that failed is tried again; also what a wall clock that jumps about can't make us exceed."""


def is_due(age: float | None, since_try: float | None) -> bool:
    """Whether to make a backup now. Pure.

    ``age``: seconds of wall time since the newest one was made, None without one, negative when the clock has been set back
    since. ``since_try``: seconds, sleep included, since this program last tried; None when it has not yet.
    """
    if since_try is not None and since_try < RETRY:
        return False
    return age is None or not 0 <= age < DAY or (since_try is not None and since_try >= DAY)


def age(paths: Paths, now: float) -> float | None:
    """Seconds of wall time since the newest backup was made; None without one."""
    kept = files.backups(paths)
    return now - kept[0].made_at if kept else None


def make(
    paths: Paths, clock: Clock, goes_on: Callable[[], bool] = lambda: True, schema: int | None = None, *, insist: bool = True
) -> str:
    """Back the queue up and thin the older ones out; the new one's path. Takes as long as it takes, and nobody waits for it.

    ``schema``: it is made before a migration from that one. ``insist``, ``goes_on`` and what is raised: see ``store.copying.copy``.
    """
    files.discard_unfinished(paths)
    made = os.path.join(paths.backups, f"{files.UNFINISHED}{os.getpid()}-{time.monotonic_ns()}")  # nobody else's, ever
    try:
        make_folder(paths.backups)
        _check_space(paths)
        create_private(made)
        copy(paths.database, made, goes_on, insist=insist)
        now = clock.wall()
        os.utime(made, (now, now))
        files.sync(made)
        if not goes_on():
            raise Interrupted
        target = files.backup_path(paths, now, schema)
        files.move(made, target)
        files.thin(paths)
    except OSError as error:
        why = error.strerror or error
        raise StorageError(f"no backup can be made in {paths.backups}: {why}", "check the folder's owner") from error
    finally:
        files.discard(made)
    return target


def _check_space(paths: Paths) -> None:
    """A backup never takes the room that the queue itself needs."""
    free, needed = shutil.disk_usage(paths.backups).free, 2 * os.stat(paths.database).st_size
    if free < needed:
        words = f"{size_words(free)} are free, {size_words(needed)} needed"
        raise StorageError(f"no backup can be made in {paths.backups}: {words}", "free some space")
