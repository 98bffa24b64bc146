"""What keeps the folder from growing for years: the running job's log within its cap, and old jobs forgotten, once a day."""

import logging

from slothtray import policy
from slothtray.config import Config
from slothtray.errors import DatabaseBusy, StorageError
from slothtray.paths import Paths
from slothtray.store import pruning
from slothtray.store.connection import Database
from slothtray.system import leftovers, logcap
from slothtray.text import size_words

log = logging.getLogger(__name__)

LOOK, LOOK_SOON = 60.0, 5.0
"""Seconds awake between two looks at a log's size: while it is within its cap, once it has been above."""
BATCH = 200
"""Jobs that are forgotten in one transaction: some milliseconds, in which nobody else can write."""
PAUSE = 0.1
"""Seconds between two batches, for the others who want to write."""


class LogCap:
    """Keeps one job's log within its cap while it runs, and once more at its end.

    The app does this, not the supervisor: that one holds the lock which proves the job alive, and does nothing besides that could
    fail. While no app is there the log grows; the next one adopts the run, and looks at its log first of all.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._next = 0.0

    def look(self, job: int, cap: int, awake: float) -> None:
        """Cut the log if it is longer than ``cap`` bytes. A cheap question as long as it isn't. ``awake``: seconds."""
        try:
            gone = logcap.trim(self._paths.log(job), cap)
        except OSError as error:
            log.warning("job %d: its log can't be cut to log_cap: %s", job, error)
            gone = 0
        if gone:
            log.info("job %d: %s cut out of its log (log_cap)", job, size_words(gone))
        self._next = awake + (LOOK_SOON if gone else LOOK)

    def due_in(self, awake: float) -> float:
        """Seconds until the next look is due."""
        return max(0.0, self._next - awake)


class Forgetting:
    """Forgets done and cancelled jobs that ended long ago, their logs with them: once a day, some at a time."""

    def __init__(self, paths: Paths, database: Database) -> None:
        self._paths, self._database = paths, database
        self._last: float | None = None
        """When (time elapsed) the last round was over."""
        self._more = False

    def postpone(self, elapsed: float) -> None:
        """Nothing today: the wall clock was set, and what is old by it may be of this morning."""
        self._last, self._more = elapsed, False

    def look(self, config: Config, wall: float, elapsed: float) -> None:
        """Forget the next few if it is time. What goes wrong is logged, and tried again the next day."""
        before = policy.forget_before(wall, elapsed, self._last, config.prune_after)
        if before is None:
            return
        try:
            gone = self._forget(before)
        except DatabaseBusy:
            gone = [0]  # in a moment, then
        except StorageError as error:
            log.warning("old jobs are not forgotten: %s", error)
            gone = []
        self._more = bool(gone)
        if not gone:
            self._last = elapsed

    def due_in(self) -> float:
        """Seconds until the next few; infinity when there are none."""
        return PAUSE if self._more else float("inf")

    def _forget(self, before: float) -> list[int]:
        ids = pruning.some_old(self._database, before, BATCH)
        if ids:
            with self._database.write():
                ids = pruning.remove(self._database, ids)
            leftovers.remove(self._paths, set(ids))  # after their rows: see ``actions.prune``
            log.info("forgot %d jobs that ended long ago (prune_after)", len(ids))
        return ids
