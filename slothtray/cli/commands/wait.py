"""`slothtray wait`: until jobs are over, with progress on a terminal."""

import sys
import time

from slothtray import bell
from slothtray.cli import render
from slothtray.cli.liveline import LiveLine
from slothtray.cli.parser import Parsed
from slothtray.cli.said import said_by_app
from slothtray.cli.streams import tell
from slothtray.clock import Clock
from slothtray.durations import parse_ids
from slothtray.errors import Refused, WaitTimeout
from slothtray.model import FINISHED, Job, State
from slothtray.paths import Paths
from slothtray.store import Queue, person, reading, status
from slothtray.system import folder
from slothtray.text import clean

LOOK_EVERY = 0.1
NAMED = 10
"""Ids that are named when there are many."""


def run(parsed: Parsed, paths: Paths) -> int:
    """0 if all are done, 1 if one is not; raises ``WaitTimeout``."""
    timeout = parsed.number("timeout")
    deadline = None if timeout is None else time.monotonic() + timeout
    queue = Queue(paths.database)
    progress = Progress(queue, paths)
    try:
        watch = Watch(queue, parse_ids(parsed.words) if parsed.words else reading.unfinished_ids(queue.database))
        while True:
            for job in watch.look():
                progress.ended(job)
            if not watch.left:
                return 0 if watch.all_done else 1
            _refuse_held(watch.left)
            progress.say(watch)
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout("not over yet: " + _ids(watch.left))
            time.sleep(LOOK_EVERY)
    finally:
        progress.clear()
        queue.close()


def _ids(jobs: list[Job]) -> str:
    more = f" and {len(jobs) - NAMED} more" if len(jobs) > NAMED else ""
    return ", ".join(str(job.id) for job in jobs[:NAMED]) + more


def _refuse_held(jobs: list[Job]) -> None:
    for job in jobs:
        if job.state is State.HELD:
            reason = job.reason or "held"
            how = reason if reason.startswith("held") else f"held: {reason}"
            raise Refused(f"job {job.id} is {how}", f"`slothtray release {job.id}` queues it")


class Watch:
    """The jobs that are waited for: ``left`` are not over yet. Reads them anew only when somebody has written."""

    def __init__(self, queue: Queue, ids: list[int]) -> None:
        self._database = queue.database
        self._ids, self.total = ids, len(ids)
        self._version: int | None = None
        self.left: list[Job] = []
        self.all_done = True

    def look(self) -> list[Job]:
        """Read what has changed; the jobs that are over since the last look. Raises ``UnknownJob``."""
        version = reading.version(self._database)
        if version == self._version:
            return []
        self._version = version
        jobs = [person.find(self._database, number) for number in self._ids]
        over = [job for job in jobs if job.state in FINISHED]
        self.left = [job for job in jobs if job.state not in FINISHED]
        self._ids = [job.id for job in self.left]
        self.all_done = self.all_done and all(job.state is State.DONE for job in over)
        return over


class Progress:
    """On a terminal one line that is written over; anywhere what failed, and once what keeps the queue from going on."""

    def __init__(self, queue: Queue, paths: Paths) -> None:
        self._queue, self._paths = queue, paths
        self._live = LiveLine(sys.stderr) if sys.stderr.isatty() else None
        self._told = ""

    def ended(self, job: Job) -> None:
        """Tell of a job that is over, unless all is well."""
        if job.state is not State.DONE:
            self._tell(f"job {job.id} {job.state}" + (f": {job.message}" if job.message else ""))

    def say(self, watch: Watch) -> None:
        """Tell how far it is."""
        now = Clock().wall()
        app = bell.answered(self._paths)
        stuck = self._stuck(now, app=app)
        if stuck and stuck != self._told:
            self._tell(stuck)
        self._told = stuck
        if self._live:
            self._live.write(self._how_far(watch, now, app=app))

    def clear(self) -> None:
        """Take the line away."""
        if self._live:
            self._live.clear()

    def _tell(self, words: str) -> None:
        self.clear()
        tell(words)

    def _stuck(self, now: float, *, app: bool) -> str:
        if status.pause_of(self._queue.database, now):
            return "the queue is paused; `slothtray resume` goes on"
        if not app:
            return "no app is running; it goes on when one is (`slothtray`, or `slothtray run`)"
        trouble = folder.trouble_of(self._paths)
        if trouble:
            return f"nothing goes on: {trouble}"
        told = (f"job {job.id}: {job.reason}" for job in reading.running(self._queue.database) if job.reason)
        return next(told, "")

    def _how_far(self, watch: Watch, now: float, *, app: bool) -> str:
        database = self._queue.database
        job = next((job for job in watch.left if job.state is State.RUNNING), watch.left[0])
        said = said_by_app(database, self._paths) if app else None
        reason = said.reason if said is not None else "no app is running"
        what = render.what_of(job, now, reason, reading.usual(database, job))
        return clean(f"{watch.total - len(watch.left)} of {watch.total} over; job {job.id} {job.state} {what}")
