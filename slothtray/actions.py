"""What a person can do, for the command line and the tray alike: done, durable and rung before it returns; nothing is printed."""

import os
import time

from slothtray import bell, environment
from slothtray.clock import Clock
from slothtray.errors import Refused, SlothtrayError, StorageError
from slothtray.paths import Paths
from slothtray.store import Queue
from slothtray.store.adding import NewJob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from slothtray.model import Job
    from slothtray.store.connection import Database

    T = TypeVar("T")

CANCEL_PATIENCE = 2.0
"""Seconds a cancel looks for the job of a supervisor that is just starting."""


class Added:
    """What ``add`` did: the ids, whether an app is there to run them, what was left out of their environment.

    ``namesakes`` are those of the ids that were there before (``unique``).
    """

    def __init__(self, ids: list[int], *, app_runs: bool, dropped: "Sequence[str]", namesakes: "Sequence[int]" = ()) -> None:
        self.ids, self.app_runs, self.dropped, self.namesakes = ids, app_runs, dropped, namesakes


def add(paths: Paths, jobs: list[NewJob], clock: Clock | None = None) -> Added:
    """Store jobs, all or none. Raises ``Usage`` for one that can't be meant so, ``StorageError`` when nothing could be stored."""
    queue = Queue(paths.database, clock)
    try:
        ids = queue.enqueue(jobs)
    finally:
        queue.close()
    namesakes = [number for number, job in zip(ids, jobs, strict=True) if job.met_namesake]
    dropped = jobs[0].dropped if jobs and not namesakes else ()
    return Added(ids, app_runs=bell.ring(paths), dropped=dropped, namesakes=namesakes)


def from_words(words: "Sequence[str]", environ: "Mapping[str, str]", *, verbatim: bool) -> "tuple[str, tuple[str, ...]]":
    """A command line's words as (what people see, argv): one word is for the shell, several or ``verbatim`` ones are argv."""
    if len(words) == 1 and not verbatim:
        return words[0], (environ.get("SHELL") or "/bin/sh", "-c", words[0])
    import shlex

    return shlex.join(words), tuple(words)


def kept_by_config(paths: Paths) -> "tuple[Sequence[str], str]":
    """The variables that the config keeps for jobs though their names look secret, and what is wrong with it ("": nothing).

    On `add`'s path: a file that says nothing of them, as the one we write ourselves, is not parsed.
    """
    if not _speaks_of(paths.config, "keep_env"):
        return (), ""
    from slothtray import config

    reading = config.load(paths.config, config.defaults())
    return reading.config.keep_env, reading.problem


def _speaks_of(path: str, key: str) -> bool:
    """Whether a line that is no comment has the word; a file that can't be read may have it."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return any(key in line and not line.lstrip().startswith("#") for line in file)
    except OSError:
        return True


def clipboard_job(text: str, environ: "Mapping[str, str]", keep: "Sequence[str]" = ()) -> NewJob:
    """A job out of copied text: run by the login shell in the home folder, with the login's environment."""
    shell = environ.get("SHELL") or "/bin/sh"
    kept, dropped = environment.capture(environ, keep)
    return NewJob(text, (shell, "-lc", text), cwd=os.path.expanduser("~"), env=kept, dropped=dropped)


def ring(paths: Paths) -> bool:
    """Let an app look at the queue now; False when none runs."""
    return bell.ring(paths)


def look_at(paths: Paths, queue: Queue, job: "Job") -> None:
    """The person looks at a job: its failure makes no badge any more."""
    from slothtray.store import person

    if job.seen:
        return
    try:
        with queue.database.write():
            person.mark_seen(queue.database, job.id)
    except StorageError:
        return  # on a full disk a look is a look all the same; only the mark stays
    bell.ring(paths)


def pause(paths: Paths, seconds: float | None = None, clock: Clock | None = None) -> float | None:
    """Start nothing new, for so many seconds (None: until resumed); the wall time at which it ends."""
    from slothtray.store import status

    clock = clock or Clock()
    until = None if seconds is None else clock.wall() + seconds
    _write(paths, clock, lambda database, now: status.set_pause(database, now, until))
    return until


def resume(paths: Paths, clock: Clock | None = None) -> bool:
    """Go on after a pause; False when there was none."""
    from slothtray.store import status

    return _write(paths, clock or Clock(), status.clear_pause)


class Pruned:
    """What went, or would go: the jobs' ids and the bytes of their logs."""

    def __init__(self, ids: list[int], size: int) -> None:
        self.ids, self.size = ids, size


def prune(
    paths: Paths, older: float | None, size: int | None, *, failed: bool, dry_run: bool, clock: Clock | None = None
) -> Pruned:
    """Forget done and cancelled (and ``failed``) jobs that ended more than ``older`` seconds ago, then the oldest ones until
    all logs together have at most ``size`` bytes. Their logs and run records go too.
    """
    from slothtray.store import pruning
    from slothtray.system import leftovers

    clock = clock or Clock()
    queue = Queue(paths.database, clock)
    try:
        now = clock.wall()
        ids = pruning.old(queue.database, now - older, failed=failed) if older is not None else []
        if size is not None:
            ids = leftovers.until_fits(paths, ids, pruning.old(queue.database, now, failed=failed), size)
        bytes_freed = sum(leftovers.log_size(paths, number) for number in ids)
        if not dry_run and ids:
            with queue.database.write():
                ids = pruning.remove(queue.database, ids)
            # Rows first: a crash here leaves files that nobody misses, not jobs without their files.
            leftovers.remove(paths, set(ids))
    finally:
        queue.close()
    bell.ring(paths)
    return Pruned(ids, bytes_freed)


def each(
    paths: Paths, ids: "Sequence[int]", change: "Callable[[Database, int, float], object]", clock: Clock | None = None
) -> list[SlothtrayError]:
    """Do one of ``store.person``'s changes to each of these jobs, in one transaction; what was refused.

    By their ids: what a job waits for has the lower one, and must be queued again first to be waited for again.
    """
    errors: list[SlothtrayError] = []

    def all_of_them(database: "Database", now: float) -> None:
        for number in sorted(ids):
            try:
                change(database, number, now)
            except Refused as error:
                errors.append(error)
            except SlothtrayError as error:
                if error.code != "unknown-job":
                    raise
                errors.append(error)

    _write(paths, clock or Clock(), all_of_them)
    return errors


def cancel(paths: Paths, number: int, clock: Clock | None = None) -> None:
    """Cancel one job. Raises ``Refused`` or ``UnknownJob``."""
    for error in cancel_each(paths, [number], clock)[0]:
        raise error


def cancel_each(paths: Paths, ids: "Sequence[int]", clock: Clock | None = None) -> tuple[list[SlothtrayError], list[int]]:
    """Cancel jobs: what was refused, and which runs an app will have to find out about.

    In one transaction: one by one, the end of the first would let the next one start before its turn to be cancelled comes.
    A running one is told so directly, which needs no app.
    """
    from slothtray.model import State
    from slothtray.store import person

    found: list[Job] = []
    errors = each(paths, ids, lambda database, number, now: found.append(person.cancel(database, number, now)), clock)
    running = [job for job in found if job.state is State.RUNNING]
    return errors, [job.id for job in running if not (_signal(paths, str(job.run)) or bell.answered(paths))]


def _signal(paths: Paths, run: str) -> bool:
    """Tell the supervisor of a run; False when there is none to tell."""
    from slothtray.system import processes, records

    descriptor = records.open_for_look(paths.run_record(run))
    if descriptor is None:
        return False
    try:
        deadline = time.monotonic() + CANCEL_PATIENCE
        while records.is_locked(descriptor):
            record = records.read(descriptor)
            if record.process is not None:
                return processes.cancel(descriptor, record)
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        return False
    finally:
        os.close(descriptor)


def _write(paths: Paths, clock: Clock, change: "Callable[[Database, float], T]") -> "T":
    queue = Queue(paths.database, clock)
    try:
        with queue.database.write():
            done = change(queue.database, clock.wall())
    finally:
        queue.close()
    bell.ring(paths)
    return done
