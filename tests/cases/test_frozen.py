"""App, supervisor and job are frozen for longer than the lease and the limit, and go on as if nothing had been (case 5)."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from control_group import ControlGroup
from escapes import everything
from harness import Home, eventually, let_go
from private import in_namespace

from slothtray import Queue
from slothtray.errors import Refused

LIMIT = 6.0
"""Seconds. The job itself takes none, but for what a slow machine takes from its start to the freeze."""
LEASE = 1.0
FREEZE = LIMIT + 1.5
"""Longer than the limit, by more than a wake-up may be late without counting as one."""
SLOW = 120.0
JOB = 'echo "$SLOTHTRAY_ATTEMPT" >> starts; touch began; read -r _ < go; exit 7'


class Frozen:
    """A queue whose app, supervisor and job can be stopped together."""

    def __init__(self, path):
        path.mkdir(mode=0o700)
        self.home = Home(path)
        (path / "config.toml").write_text(f'lease = "{LEASE}s"\n')
        os.mkfifo(self.home.work / "go")
        self.number = self.home.enqueue(JOB, max_runtime=LIMIT)
        self.following = self.home.enqueue("true")
        self.app = self.home.start()
        eventually((self.home.work / "began").exists, "the job has begun")

    def pids(self):
        """App, supervisor, job."""
        table = everything()
        (supervisor,) = [pid for pid, entry in table.items() if entry.parent == self.app.process.pid]
        return [self.app.process.pid, supervisor, *(pid for pid, entry in table.items() if entry.parent == supervisor)]

    def second_app(self):
        """Another app that wants to run the queue: it tries for 2 s."""
        return self.home.start(ready=False)

    def claimed_by_another(self):
        """Whether a worker through the library gets a job."""
        with Queue(self.home.paths.database) as queue:
            try:
                return queue.claim(lease=30) is not None
            except Refused:
                return False

    def outcome(self):
        """Let the job end: how it did."""
        let_go(self.home.work / "go")
        states = [self.home.wait_for(self.number, "failed", "done", "held"), self.home.wait_for(self.following, "done")]
        code, starts = self.home.row(self.number, "exit_code"), self.home.wrote("starts")
        return [states, code, self.home.row(self.number, "message"), starts, self.home.kinds(self.number)]


WAYS = ("SIGSTOP", "freezer")


def frozen(path, how):
    """One queue: what others get while it is frozen, what has changed by then, what others get at the thaw, how the job ends."""
    place = Path(path, how)
    place.mkdir()
    queue = Frozen(place / "queue")
    pids = queue.pids()
    began = time.monotonic()
    with ControlGroup(place) as group:
        if how == "freezer":
            group.take(pids)
            group.freeze()
        else:
            send(signal.SIGSTOP, pids)
        meanwhile = [queue.second_app().wait(), queue.claimed_by_another()]
        time.sleep(max(0.0, FREEZE - (time.monotonic() - began)))  # the time itself is what is asked about
        stood_still = [len(pids), queue.home.row(queue.number), queue.home.kinds(queue.number)]
        second = queue.second_app()
        if how == "freezer":
            group.thaw()
        else:
            send(signal.SIGCONT, pids)
        claimed = queue.claimed_by_another()
        outcome = queue.outcome()
        at_thaw = [second.wait(), claimed]
        queue.home.close()
    return [meanwhile, stood_still, at_thaw, outcome]


def send(number, pids):
    for pid in pids:
        os.kill(pid, number)


def all_frozen(path):
    with ThreadPoolExecutor(len(WAYS)) as pool:
        return list(pool.map(frozen, [path] * len(WAYS), WAYS))


@pytest.mark.timeout(2 * SLOW)
def test_case_05_the_same_attempt_goes_on_after_a_freeze_and_a_second_runner_gets_nothing(tmp_path):
    for meanwhile, stood_still, at_thaw, outcome in in_namespace(all_frozen, str(tmp_path), limit=SLOW):
        assert meanwhile == at_thaw == [3, False]
        assert stood_still == [3, "running", ["added", "claimed"]]
        states, code, message, starts, kinds = outcome
        assert (states, code, starts) == (["failed", "done"], 7, "1\n")
        assert message.startswith("exit 7")
        assert kinds == ["added", "claimed", "failed"]
