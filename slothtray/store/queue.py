"""Queue: the one face of the store, for the library's users, the commands and the runner alike (DESIGN 13)."""

import os

from slothtray.clock import Clock
from slothtray.errors import Refused, Usage
from slothtray.states import State
from slothtray.store import adding, schema
from slothtray.store.changes import move
from slothtray.store.claim import Claimant, get, take
from slothtray.store.connection import Database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from slothtray.model import Event, Job
    from slothtray.policy import Change

    Prober = Callable[[Job], Change | None]

LIBRARY_ATTEMPTS = 4
"""The library's default: waits of 2, 4 and 8 s, then failed."""
BACKOFF_CAP = 3600.0


class Queue:
    """A queue in one SQLite file. ``path`` is the database's; its folder is made (0700) when it isn't there.

    One instance belongs to one thread. All times are seconds. Raises ``StorageError`` when the file can't be used.
    """

    def __init__(
        self, path: str, clock: Clock | None = None, *, patience: float = 10.0, backoff_cap: float = BACKOFF_CAP
    ) -> None:
        self.clock = clock or Clock()
        self.backoff_cap = backoff_cap
        self.database = Database(os.path.abspath(path), patience)
        try:
            schema.prepare(self.database, self.clock.wall())
        except BaseException:
            self.database.close()
            raise

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self.database.close()

    def add(
        self,
        command: str,
        *,
        priority: int = 0,
        max_runtime: float | None = None,
        max_attempts: int = LIBRARY_ATTEMPTS,
        delay: float = 0.0,
    ) -> "Job":
        """Queue a shell command in the present folder; it is durable when this returns. Not before ``delay`` seconds from now."""
        job = adding.NewJob(
            command,
            ("/bin/sh", "-c", command),
            priority=priority,
            max_runtime=max_runtime,
            max_attempts=max_attempts,
            not_before=self.clock.wall() + delay if delay > 0 else 0.0,
        )
        added = self.get(self.enqueue([job])[0])
        assert added is not None
        return added

    def enqueue(self, jobs: "list[adding.NewJob]") -> list[int]:
        """Store new jobs, all or none; their ids. Raises ``Usage`` for one that can't be meant so."""
        for job in jobs:
            adding.check(job)
        now = self.clock.wall()
        with self.database.write():
            return [adding.insert(self.database, job, now) for job in jobs]

    def get(self, job: int) -> "Job | None":
        """The job as it is now, or None."""
        return get(self.database, job)

    def events(self, job: int) -> "list[Event]":
        """Its history, oldest first."""
        from slothtray.store import reading

        return reading.events(self.database, job)

    # --- leases: for workers that are not the app ---------------------------------------------------------------------------

    def claim(self, lease: float, prober: "Prober | None" = None) -> "Job | None":
        """Take the next due job for ``lease`` seconds awake: None while another lease lives or when nothing is due.

        A run whose lease is over is reclaimed first. ``prober`` says of a running job how to settle it (None: it lives); the
        default one calls an expired lease dead. Raises ``Refused`` where an app runs on the folder: jobs are its business then;
        ``Usage`` for a lease that is over at once.
        """
        _check_lease(lease)
        token = os.urandom(4).hex()
        lease_until = self.clock.awake() + lease
        claimant = Claimant(token, self.clock.boot_id(), lease_until, holder=f"library-{os.getpid()}")
        prober = prober or self._lease_prober()
        with self.database.write():
            now = self.clock.wall()
            self._settle_running(prober, now)
            return take(self.database, claimant, now)

    def heartbeat(self, job: "Job", lease: float) -> bool:
        """Make the lease end ``lease`` seconds from now; False when the job is no longer ours. Raises ``Usage`` like ``claim``."""
        _check_lease(lease)
        with self.database.write():
            changed = self.database.execute(
                "UPDATE jobs SET lease_until = ? WHERE id = ? AND run IS ? AND state = 'running'",
                (self.clock.awake() + lease, job.id, job.run),
            )
        return changed == 1

    def complete(self, job: "Job", message: str = "ok") -> bool:
        """The job is done; False when it was no longer ours to say so."""
        columns: dict[str, object] = {"message": message, "exit_code": 0, "finished_at": self.clock.wall(), "unstarted": 0}
        with self.database.write():
            return move(self.database, job, State.DONE, "done", self.clock.wall(), message, columns)

    def fail(self, job: "Job", message: str, exit_code: int | None = None) -> bool:
        """The job failed: again after 2 ** failures seconds (capped), or failed for good when its attempts are used up."""
        from slothtray.policy import after_failure

        now = self.clock.wall()
        with self.database.write():
            current = self.get(job.id)
            if current is None or not _same_run(current, job):
                return False
            columns: dict[str, object] = {"message": message, "exit_code": exit_code, "finished_at": now, "unstarted": 0}
            change = after_failure(current, message, now, columns, current.max_attempts or LIBRARY_ATTEMPTS, self.backoff_cap)
            return self.apply(current, change, now)

    def apply(self, job: "Job", change: "Change", now: float) -> bool:
        """Write how an attempt ended, in the caller's transaction; False when that run of the job was over already.

        A cancel that was asked for since ``job`` was read counts: the row never waits, or is held, with it.
        """
        current = self.get(job.id)
        if current is None or not _same_run(current, job):
            return False
        if current.cancel_requested:
            from slothtray.policy import cancelled_meanwhile

            change = cancelled_meanwhile(change, now)
        columns = {"reason": None, **change.columns}  # what a running job had to say is over with the run
        return move(self.database, current, change.to, change.kind, now, change.detail, columns)

    def _settle_running(self, prober: "Prober", now: float) -> None:
        from slothtray.store import reading

        for job in reading.running(self.database):
            change = prober(job)
            if change is not None:
                self.apply(job, change, now)

    def _lease_prober(self) -> "Prober":
        from slothtray import bell
        from slothtray.paths import Paths

        folder = os.path.dirname(self.database.path)
        if bell.answered(Paths(folder)):
            raise Refused(f"a slothtray app runs on {folder}", "it runs the jobs; use another folder for your own worker")
        return self._by_lease

    def _by_lease(self, job: "Job") -> "Change | None":
        from slothtray.policy import after_interruption

        if job.holder is None:
            raise Refused(f"job {job.id} was started by an app", "start slothtray to let it find out how that ended")
        boot = self.clock.boot_id()
        if job.boot == boot and job.lease_until is not None and self.clock.awake() < job.lease_until:
            return None
        return after_interruption(job, "its lease ran out", self.clock.wall())


def _check_lease(lease: float) -> None:
    """NaN, too, is no lease: SQLite stores it as none at all, and the job would be another worker's in the same moment."""
    if not lease > 0:
        raise Usage(f"a lease of {lease} s is over at once", "use a number of seconds above 0")


def _same_run(current: "Job", job: "Job") -> bool:
    """Whether the row still is the run that ``job`` was read as. Its run-id alone doesn't say so: that stays after the end."""
    return current.state is State.RUNNING and current.run == job.run
