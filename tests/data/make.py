"""Makes a database with jobs in every state by the slothtray at hand: `python tests/data/make.py tests/data/0.1.0.db`.

Done once for each release, and the file is kept: tests/test_upgrade.py brings each of them up to date and works on with it.
"""

import os
import sys

from slothtray import ManualClock, Queue
from slothtray.store import person, status
from slothtray.store.adding import NewJob
from slothtray.store.claim import Claimant, take

ENVIRONMENT = {"HOME": "/", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "ODD": "\udcff"}


def job(command, **limits):
    """A shell command with limits as ``NewJob`` takes them."""
    return NewJob(command, ("/bin/sh", "-c", command), cwd="/", env=ENVIRONMENT, umask=0o022, **limits)


def fill(queue, clock):
    """Jobs 1 to 9: done, failed, cancelled, in backoff, held, delayed, waiting for another, running, pending."""
    now = clock.wall()
    queue.enqueue([job("true"), job("exit 3", max_attempts=1), job("echo no", dropped=("API_TOKEN",)), job("echo four", max_attempts=4)])
    queue.complete(queue.claim(lease=60))
    queue.fail(queue.claim(lease=60), "exit 3", exit_code=3)
    with queue.database.write():
        person.cancel(queue.database, 3, now)
    queue.fail(queue.claim(lease=60), "exit 1", exit_code=1)
    queue.enqueue(
        [
            job("echo five", hold=True),
            job("echo six", not_before=now + 1e9, label="later"),
            job("echo seven", after=5, expires_at=now + 1e10),
            job("echo eight; printf 'ü\\n'", max_runtime=3600.0, priority=19),
            job("echo nine", label="ü", once=True, priority=-20),
        ]
    )
    with queue.database.write():
        running = take(queue.database, Claimant("0123abcd", clock.boot_id(), clock.awake() + 60), now)
        assert running.id == 8
        status.set_pause(queue.database, now, None)
        status.clear_pause(queue.database, now)


if __name__ == "__main__":
    os.umask(0o077)
    clock = ManualClock()
    with Queue(sys.argv[1], clock=clock) as queue:
        fill(queue, clock)
        queue.database.execute("VACUUM")
    if os.path.exists(f"{sys.argv[1]}-journal"):
        os.unlink(f"{sys.argv[1]}-journal")
