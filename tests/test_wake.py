"""After a sleep: seen by comparing the clocks, told in the history, and nothing starts until the machine has settled."""

import ctypes
import os
import subprocess
import threading
from pathlib import Path

import pytest
from harness import Home, eventually, let_go
from private import in_namespace

from slothtray.clock import Clock, ManualClock
from slothtray.config import Watched, defaults
from slothtray.paths import Paths
from slothtray.runner import Runner, Tell
from slothtray.store import Queue
from slothtray.system import folder

SETTLE = 30.0
DAY = 86400.0
GATES = {"ceiling": None, "cooldown": 0.0, "settle": SETTLE}


class Asleep:
    """A runner whose clocks are moved by hand; its jobs are real."""

    def __init__(self, path):
        self.paths, self.work = Paths(str(path / "queue")), path
        folder.prepare(self.paths)
        self.clock = ManualClock()
        self.queue = Queue(self.paths.database, self.clock)
        self.waits, self.rung = [], threading.Event()
        settings = Watched(self.paths.config, defaults(1.0), GATES)
        tell = Tell(waiting=lambda wait: self.waits.append(wait.reason))
        self.runner = Runner(self.paths, settings, "this machine", self.rung.set, tell, self.clock)

    def over(self, job):
        """Look until the job has ended."""
        eventually(lambda: (self.runner.step(), self.queue.get(job.id).state == "done")[1], "the job is done")

    def add(self, command, **limits):
        """Queue a job that works in a folder of the test's own."""
        return self.queue.add(f"cd {self.work}; {command}", **limits)

    def begin(self, **limits):
        """A job that runs until it may end; by then it has begun."""
        os.mkfifo(self.work / "go")
        job = self.add("touch began; read -r _ < go", **limits)
        self.runner.step()
        eventually((self.work / "began").exists, "the job has begun")
        return job

    def history(self, job=None):
        """How long was slept, as the queue's history tells it, or a job's."""
        sql = "SELECT detail FROM events WHERE kind = 'slept' AND job IS ? ORDER BY id"
        return [row["detail"] for row in self.queue.database.rows(sql, (job and job.id,))]

    def kinds(self, job):
        return [event.kind for event in self.queue.events(job.id)]

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


def test_a_sleep_is_in_the_history_of_the_job_that_was_running_and_costs_it_nothing(asleep):
    before = asleep.queue.add("true")
    asleep.over(before)
    job = asleep.begin(max_runtime=3600)
    asleep.clock.suspend(7 * 3600 + 12 * 60)
    asleep.runner.step()
    let_go(asleep.work / "go")
    asleep.over(job)
    assert asleep.history(job) == asleep.history() == ["7 h 12 min"]
    assert asleep.kinds(job) == ["added", "claimed", "slept", "done"]
    assert asleep.history(before) == []


def test_a_sleep_in_which_nothing_ran_is_shown_with_what_waited_then_and_once_with_what_ran(asleep):
    before = asleep.queue.add("true")
    asleep.over(before)
    waiting, running = asleep.queue.add("true", delay=90 * 86400), asleep.begin()
    for hours in range(12, 0, -1):
        asleep.clock.suspend(hours * 3600)
        asleep.runner.step()
        asleep.clock.advance(60)
    let_go(asleep.work / "go")
    asleep.over(running)
    asleep.clock.suspend(1800)
    asleep.runner.step()
    home = Home(Path(asleep.paths.home))
    shown = {job.id: home.events(job.id) for job in (before, waiting, running)}
    assert shown[before.id] == ["added", "claimed", "done"]
    assert shown[waiting.id] == ["added", *["slept"] * 10]  # the last ones
    assert shown[running.id] == ["added", "claimed", *["slept"] * 12, "done"]
    lines = [line.partition("  ")[2] for line in home.run("show", str(waiting.id)).stdout.splitlines()[-2:]]
    assert lines == ["slept  1 h", "slept  30 min"]


JUMP = 7 * 3600 + 12 * 60 + 30
"""Seconds."""


def slept_by_the_kernels_clock(path):
    """The boot clock jumps, by a change into a time namespace: what is found in a job's history, and whether its lease lives."""
    home = Home(Path(path, "queue"))
    folder.prepare(home.paths)
    queue = Queue(home.paths.database)
    runner = Runner(home.paths, Watched(home.paths.config, defaults(1.0), GATES), "this machine", lambda: None)
    queue.add("true")
    job = queue.claim(lease=3600)  # a library's: so no thread waits for a supervisor, with one the kernel would not let us change
    runner.step()
    before = Clock().elapsed() - Clock().awake()
    enter_time_namespace(JUMP)
    jump = Clock().elapsed() - Clock().awake() - before
    runner.step()
    return [round(jump), home.run("show", str(job.id)).stdout, queue.heartbeat(job, lease=30), home.kinds(job.id)]


def enter_time_namespace(seconds):
    """Go into one whose boot clock is so much ahead, as it is after so long a sleep."""
    with subprocess.Popen(["unshare", "--time", "--boottime", str(seconds), "sleep", "300"]) as other:
        eventually(lambda: Path(f"/proc/{other.pid}/comm").read_text() == "sleep\n", "it is there")
        namespace = os.open(f"/proc/{other.pid}/ns/time_for_children", os.O_RDONLY)
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.setns(namespace, 0x80)  # CLONE_NEWTIME
        other.kill()
        os.close(namespace)
    assert not failed, os.strerror(ctypes.get_errno())


def test_a_sleep_is_seen_by_the_kernels_own_clocks_and_shown(tmp_path):
    jump, shown, lives, kinds = in_namespace(slept_by_the_kernels_clock, str(tmp_path))
    assert jump == JUMP
    assert "  slept  7 h 12 min\n" in shown
    assert lives
    assert kinds == ["added", "claimed", "slept"]


def test_awake_or_with_the_wall_clock_set_nothing_was_slept(asleep):
    asleep.clock.advance(8 * 3600)
    asleep.runner.step()
    asleep.clock.step_wall(86400)
    asleep.runner.step()
    assert asleep.history() == []
    asleep.over(asleep.queue.add("true"))
    assert asleep.waits == []


# --- case 6: the wall clock is set -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [DAY, -DAY])
def test_case_06_a_clock_set_by_a_day_while_idle_delays_nothing(asleep, step):
    asleep.runner.step()
    asleep.clock.step_wall(step)
    assert 0 <= asleep.runner.step() <= 60
    job = asleep.queue.add("true")
    asleep.over(job)
    assert asleep.kinds(job) == ["added", "claimed", "done"]
    assert asleep.waits == asleep.history() == []


@pytest.mark.parametrize("step", [DAY, -DAY])
def test_case_06_a_clock_set_by_a_day_while_a_job_runs_neither_ends_nor_repeats_it(asleep, step):
    job = asleep.begin(max_runtime=3600)
    following = asleep.queue.add("true")
    asleep.clock.step_wall(step)
    for _ in range(3):
        assert 0 <= asleep.runner.step() <= 60
    assert asleep.queue.get(job.id).state == "running"
    let_go(asleep.work / "go")
    asleep.over(job)
    asleep.over(following)
    assert [asleep.kinds(one) for one in (job, following)] == [["added", "claimed", "done"]] * 2
    assert asleep.waits == []


@pytest.mark.parametrize("step", [DAY, -DAY])
def test_case_06_a_clock_set_by_a_day_while_a_job_waits_for_its_next_attempt_lets_it_run_in_its_time(asleep, step):
    job = asleep.add('echo >> ran; [ "$SLOTHTRAY_ATTEMPT" = 2 ]', max_attempts=3)
    eventually(lambda: (asleep.runner.step(), asleep.queue.get(job.id).failures == 1)[1], "it has failed once")
    asleep.clock.step_wall(step)
    assert 0 <= asleep.runner.step() <= (2 if step < 0 else 60)  # a day later it is due
    asleep.clock.advance(2)
    asleep.over(job)
    assert asleep.kinds(job) == ["added", "claimed", "retry", "claimed", "done"]
    assert (asleep.work / "ran").read_text() == "\n\n"


def test_a_backoff_is_not_longer_than_it_was_meant_to_be_after_the_wall_clock_was_set_back(asleep):
    job = asleep.queue.add("exit 3", max_attempts=2)
    eventually(lambda: (asleep.runner.step(), asleep.queue.get(job.id).failures == 1)[1], "it has failed once")
    asleep.clock.step_wall(-86400)
    asleep.runner.step()
    assert asleep.queue.get(job.id).not_before <= asleep.clock.wall() + 2
