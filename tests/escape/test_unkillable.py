"""A child of another user that its supervisor, and a sweep, may not signal: it is told, and nothing else starts meanwhile.

The app is root without the right to kill what isn't its own, which makes it an ordinary user towards `nobody`'s processes, as
one is towards those of sudo. So these tests want to be root, in a PID namespace of their own.
"""

import os
import signal
from pathlib import Path

import pytest
from escapes import others
from harness import Home, eventually
from private import in_namespace

from slothtray.system import records

ORDINARY = ["setpriv", "--bounding-set=-kill", "--inh-caps=-kill"]
NOBODY = 65534
SLOW = 120.0
"""Seconds that a namespace may take on a machine with much else to do; it takes 20, as the supervisor tries for 10."""
FOREIGN = f"setpriv --reuid={NOBODY} --clear-groups sleep 300 & echo $! > ready.new; mv ready.new ready; wait"
WIDE = {"COLUMNS": "300"}


class Queue:
    """A queue whose first job has such a child, and whose second job waits."""

    def __init__(self, path):
        self.home = Home(path)
        path.mkdir(mode=0o700)
        (path / "config.toml").write_text('kill_grace = "0.2s"\n')
        self.app = self.home.start(prefix=ORDINARY)
        self.job, self.following = self.home.enqueue(FOREIGN), self.home.enqueue("echo ran >> following")
        self.child = int(eventually(lambda: self.home.wrote("ready"), "the child is there"))
        eventually(lambda: os.stat(f"/proc/{self.child}").st_uid == NOBODY, "it is another user's")

    def says(self, *words):
        return self.home.run(*words, env={**self.home.environment, **WIDE}).stdout

    def start_again(self):
        self.app.kill()
        self.app = self.home.start(prefix=ORDINARY)
        eventually(lambda: "adopted" in self.home.kinds(self.job), "the run is adopted")

    def supervisor(self):
        look = records.open_for_look(self.home.paths.run_record(self.home.row(self.job, "run")))
        try:
            return records.read(look).started.pid
        finally:
            os.close(look)


def cancelled_and_stuck(folder):
    """What is said once it is known, by the next app too, and after somebody who may has killed it."""
    queue = Queue(Path(folder, "queue"))
    home = queue.home
    home.run("cancel", str(queue.job))
    eventually(lambda: home.row(queue.job, "reason"), "it is told that it can't be killed", limit=45)
    words = f"cannot kill pid {queue.child}"
    shown = [words in queue.says("list"), words in queue.says("show", str(queue.job))]
    shown += [f"job {queue.job} runs first ({words})" in queue.says("why", str(queue.following))]
    shown += [f"job {queue.job}: {words}\n" in home.run("wait", str(queue.following), "--timeout", "1s", code=124).stderr]
    shown += [f"slothtray: job {queue.job}: {words}; nothing else starts until it is gone\n" in queue.app.said()]
    queue.start_again()
    eventually(lambda: queue.says("why", str(queue.following)).startswith("running"), "the new app has looked")
    told = [words in queue.says("list"), home.row(queue.job), home.wrote("following")]
    os.kill(queue.child, signal.SIGKILL)
    ends = [home.wait_for(queue.job, "cancelled", "pending"), home.wait_for(queue.following, "done")]
    after = [home.row(queue.job, "reason"), home.kinds(queue.job)]
    home.close()
    return [shown, told, ends, after, [entry.name for entry in others()]]


@pytest.mark.timeout(2 * SLOW)
def test_what_cannot_be_killed_is_named_and_nothing_else_starts_until_it_is_gone(tmp_path):
    shown, told, ends, after, left = in_namespace(cancelled_and_stuck, str(tmp_path), limit=SLOW)
    assert shown == [True] * 5
    assert told == [True, "running", ""]
    assert ends == ["cancelled", "done"]
    assert after == [None, ["added", "claimed", "cancel requested", "cannot kill", "adopted", "cancelled"]]
    assert left == []


def swept_and_stuck(folder):
    """After the supervisor's death."""
    queue = Queue(Path(folder, "queue"))
    home = queue.home
    os.kill(queue.supervisor(), signal.SIGKILL)
    home.wait_for(queue.job, "held", "pending", "done")
    said = [str(queue.child) in home.row(queue.job, "reason"), home.kinds(queue.job)]
    home.wait_for(queue.following, "done")
    os.kill(queue.child, signal.SIGKILL)
    home.close()
    return said


@pytest.mark.timeout(2 * SLOW)
def test_a_job_is_held_for_what_of_it_cannot_be_killed_after_its_supervisors_death(tmp_path):
    assert in_namespace(swept_and_stuck, str(tmp_path), limit=SLOW) == [True, ["added", "claimed", "held"]]
