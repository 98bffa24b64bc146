"""The load gate's figures over time: our own job's part, sampled while it runs, and since when the rest has been too high."""

from slothtray.store import status
from slothtray.store.connection import Database
from slothtray.system import processes, records
from slothtray.system.launcher import Attempt
from slothtray.system.load import OwnLoad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slothtray.model import Load

SAMPLE = 5.0
"""Seconds between two samples of our own load while a job runs: as often as the kernel takes its own."""


class LoadWatch:
    """``own`` is our own load; ``load`` what was measured last (None: nothing is due), ``since`` when it became too high."""

    def __init__(self, own: OwnLoad) -> None:
        self.own = own
        self.load: Load | None = None
        self.since: float | None = None

    def forget(self) -> None:
        """Nothing is due, so nothing is measured."""
        self.load, self.since = None, None

    def measure(self, ceiling: float | None, now: float, awake: float) -> None:
        """Take the figures before a start. ``now`` is wall time."""
        self.own.sample(0, awake)
        self.load = self.own.measure(ceiling)
        high = self.load.ceiling is not None and self.load.foreign >= self.load.ceiling
        self.since = (self.since or now) if high else None

    def sample(self, attempt: Attempt, awake: float) -> float | None:
        """Take note of what the running job puts there; seconds until the next sample, None while there is nothing to sample."""
        record = records.read(attempt.look)
        if record.started is None:
            return None
        if self.own.at is None or awake - self.own.at >= SAMPLE:
            self.own.sample(processes.busy_tasks(record.started.pid), awake)
        return max(0.1, SAMPLE - (awake - (self.own.at or 0.0)))


def own_of_last_runner(database: Database, boot: str) -> OwnLoad:
    """What an earlier runner of this boot knew of its own load: a restart must not hold our own job against us."""
    known = status.own_load_of(database)
    if known is None or known[2] != boot:
        return OwnLoad()
    return OwnLoad(known[0], known[1])
