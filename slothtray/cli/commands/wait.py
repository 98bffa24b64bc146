"""`slothtray wait`: until jobs are over."""

import time

from slothtray.cli.parser import Parsed
from slothtray.durations import parse_ids
from slothtray.errors import Refused, WaitTimeout
from slothtray.model import FINISHED, State
from slothtray.paths import Paths
from slothtray.store import Queue, person, reading

LOOK_EVERY = 0.1


def run(parsed: Parsed, paths: Paths) -> int:
    """0 if all are done, 1 if one is not; raises ``WaitTimeout``."""
    timeout = parsed.number("timeout")
    deadline = None if timeout is None else time.monotonic() + timeout
    queue = Queue(paths.database)
    try:
        ids = parse_ids(parsed.words) if parsed.words else reading.unfinished_ids(queue.database)
        while True:
            jobs = [person.find(queue.database, number) for number in ids]
            if all(job.state in FINISHED for job in jobs):
                return 0 if all(job.state is State.DONE for job in jobs) else 1
            for job in jobs:
                if job.state is State.HELD:
                    raise Refused(f"job {job.id} is held: {job.reason}", f"`slothtray release {job.id}` queues it")
            if deadline is not None and time.monotonic() >= deadline:
                waiting = ", ".join(str(job.id) for job in jobs if job.state not in FINISHED)
                raise WaitTimeout(f"not over yet: {waiting}")
            time.sleep(LOOK_EVERY)
    finally:
        queue.close()
