"""Who holds the lock of a run record, and what every side of the protocol shares."""

from rules import Exchange, Limits, Rules
from world import Run, World

WITH_OWN_COPY = ("locked", "recorded", "spawned")
"""Where the app has the locked descriptor of the record open."""


class RecordLock:
    """The lock is held as long as anybody has the descriptor that was locked. ``exchanges``: see ``Rules``."""

    exchanges: tuple[Exchange, ...] = ()

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.rules = Rules(limits, self.exchanges)

    def is_locked(self, world: World, run: Run | None) -> bool:
        """What `records.is_locked` says: somebody has the descriptor that was locked."""
        if run is None or run.freed:
            return False
        by_app = run is world.run and world.app is not None and world.app.at in WITH_OWN_COPY
        return by_app or self.supervisor_has_lock(run) or self.job_has_lock(run)

    def supervisor_has_lock(self, run: Run) -> bool:
        """It has inherited it at its birth."""
        return run.supervisor != ""

    def job_has_lock(self, run: Run) -> bool:
        """Close-on-exec: between fork and exec only."""
        return run.main == "forked"

    def open_for_look(self, run: Run | None) -> bool:
        """Whether the record is found by its name."""
        return run is not None and run.name in ("volatile", "durable")
