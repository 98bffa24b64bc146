"""After a sleep: seen by comparing the clocks, told in the history, and nothing starts until the machine has settled."""

import threading

import pytest
from harness import eventually

from slothtray.clock import ManualClock
from slothtray.config import Watched, defaults
from slothtray.paths import Paths
from slothtray.runner import Runner, Tell
from slothtray.store import Queue
from slothtray.system import folder

SETTLE = 30.0


class Asleep:
    """A runner whose clocks are moved by hand; its jobs are real."""

    def __init__(self, path):
        self.paths = Paths(str(path / "queue"))
        folder.prepare(self.paths)
        self.clock = ManualClock()
        self.queue = Queue(self.paths.database, self.clock)
        self.waits, self.rung = [], threading.Event()
        settings = Watched(self.paths.config, defaults(1.0), {"ceiling": None, "cooldown": 0.0, "settle": SETTLE})
        tell = Tell(waiting=lambda wait: self.waits.append(wait.reason))
        self.runner = Runner(self.paths, settings, "this machine", self.rung.set, tell, self.clock)

    def over(self, job):
        """Look until the job has ended."""
        eventually(lambda: (self.runner.step(), self.queue.get(job.id).state == "done")[1], "the job is done")

    def history(self):
        return [row["detail"] for row in self.queue.database.rows("SELECT detail FROM events WHERE kind = 'slept'")]

    def close(self):
        self.runner.close()
        self.queue.close()


@pytest.fixture
def asleep(tmp_path):
    made = Asleep(tmp_path)
    yield made
    made.close()


def test_case_07_what_came_due_in_sleep_runs_once_after_the_wake_when_the_machine_has_settled(asleep):
    job = asleep.queue.add("true", delay=3600)
    asleep.runner.step()
    asleep.clock.suspend(8 * 3600)
    asleep.runner.step()
    assert asleep.queue.get(job.id).state == "pending"
    assert asleep.waits == ["just woke up: 30 s to settle"]
    asleep.clock.advance(SETTLE - 1)
    asleep.runner.step()
    assert asleep.queue.get(job.id).state == "pending"
    asleep.clock.advance(1)
    asleep.over(job)
    assert [event.kind for event in asleep.queue.events(job.id)] == ["added", "claimed", "done"]
    assert asleep.history() == ["8 h"]


def test_awake_or_with_the_wall_clock_set_nothing_was_slept(asleep):
    asleep.clock.advance(8 * 3600)
    asleep.runner.step()
    asleep.clock.step_wall(86400)
    asleep.runner.step()
    assert asleep.history() == []
    asleep.over(asleep.queue.add("true"))
    assert asleep.waits == []


def test_a_backoff_is_not_longer_than_it_was_meant_to_be_after_the_wall_clock_was_set_back(asleep):
    job = asleep.queue.add("exit 3", max_attempts=2)
    eventually(lambda: (asleep.runner.step(), asleep.queue.get(job.id).failures == 1)[1], "it has failed once")
    asleep.clock.step_wall(-86400)
    asleep.runner.step()
    assert asleep.queue.get(job.id).not_before <= asleep.clock.wall() + 2
