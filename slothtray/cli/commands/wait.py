"""`slothtray wait`: until jobs are over, with progress on a terminal."""

import sys
import time

from slothtray import bell
from slothtray.cli import render
from slothtray.cli.parser import Parsed
from slothtray.clock import Clock
from slothtray.durations import parse_ids
from slothtray.errors import Refused, WaitTimeout
from slothtray.model import FINISHED, Job, State
from slothtray.paths import Paths
from slothtray.store import Queue, person, reading, status
from slothtray.text import clean

LOOK_EVERY = 0.1


def run(parsed: Parsed, paths: Paths) -> int:
    """0 if all are done, 1 if one is not; raises ``WaitTimeout``."""
    timeout = parsed.number("timeout")
    deadline = None if timeout is None else time.monotonic() + timeout
    queue = Queue(paths.database)
    progress = Progress()
    try:
        ids = parse_ids(parsed.words) if parsed.words else reading.unfinished_ids(queue.database)
        while True:
            jobs = [person.find(queue.database, number) for number in ids]
            left = [job for job in jobs if job.state not in FINISHED]
            if not left:
                return 0 if all(job.state is State.DONE for job in jobs) else 1
            _refuse_held(left)
            progress.say(queue, paths, jobs, left)
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout("not over yet: " + ", ".join(str(job.id) for job in left))
            time.sleep(LOOK_EVERY)
    finally:
        progress.clear()
        queue.close()


def _refuse_held(jobs: list[Job]) -> None:
    for job in jobs:
        if job.state is State.HELD:
            raise Refused(f"job {job.id} is held: {job.reason}", f"`slothtray release {job.id}` queues it")


class Progress:
    """One line on a terminal that is written over; elsewhere only what keeps the queue from going on, once."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._told: str | None = None
        self._width = 0

    def say(self, queue: Queue, paths: Paths, jobs: list[Job], left: list[Job]) -> None:
        """Tell how far it is."""
        now = Clock().wall()
        stuck = self._stuck(queue, paths, now)
        if stuck and stuck != self._told:
            self.clear()
            print(f"slothtray: {stuck}", file=sys.stderr)
        self._told = stuck
        if self._terminal:
            self._line(queue, len(jobs) - len(left), len(jobs), left, now)

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
            self._width = 0

    def _stuck(self, queue: Queue, paths: Paths, now: float) -> str:
        if status.pause_of(queue.database, now):
            return "the queue is paused; `slothtray resume` goes on"
        return "" if bell.answered(paths) else "no app is running; it goes on when one is (`slothtray`, or `slothtray run`)"

    def _line(self, queue: Queue, over: int, total: int, left: list[Job], now: float) -> None:
        running = next((job for job in left if job.state is State.RUNNING), left[0])
        usual = reading.usual(queue.database, running)
        what = render.what_of(running, now, status.status_of(queue.database).reason, usual)
        text = clean(f"{over} of {total} over; job {running.id} {running.state} {what}", 100)
        self.clear()
        print("\r" + text, end="", file=sys.stderr, flush=True)
        self._width = len(text)
