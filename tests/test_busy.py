"""The runner waits 100 ms for the database, then goes on: with somebody else's lock met at every write, nothing is lost or doubled."""

import ast
import inspect
import os
import signal
import sqlite3
import textwrap
import threading
from collections import Counter
from pathlib import Path

import pytest

from slothtray.clock import ManualClock
from slothtray.config import Watched, defaults
from slothtray.errors import DatabaseBusy
from slothtray.paths import Paths
from slothtray.runner import Runner
from slothtray.store import Queue, reading
from slothtray.store.adding import NewJob
from slothtray.system import folder, records
from slothtray.system.launcher import Launcher

WRITER, READER = ["BEGIN IMMEDIATE"], ["BEGIN", "SELECT state FROM jobs"]
"""Who is in the way: of a transaction's begin, of its commit."""
GATES = {"ceiling": None, "cooldown": 0.0, "settle": 0.0}
BACKOFF = 2.0
TRIES = 2000


class Locked:
    """A transaction of the runner beside which somebody else has the file."""

    def __init__(self, transaction, path, statements):
        self._transaction = transaction
        self._other = sqlite3.connect(path, isolation_level=None)
        for statement in statements:
            self._other.execute(statement).fetchone()

    def __enter__(self):
        try:
            self._transaction.__enter__()
        except BaseException:
            self._other.close()
            raise

    def __exit__(self, *problem):
        try:
            self._transaction.__exit__(*problem)
        finally:
            self._other.close()


class Queued:
    """A queue whose runner finds the file locked at each of its writes, and unlocked when it tries again."""

    def __init__(self, path, statements):
        self.work = path / "work"
        self.work.mkdir()
        self.paths = Paths(str(path / "queue"))
        folder.prepare(self.paths)
        self.clock = ManualClock()
        self.queue = Queue(self.paths.database, self.clock)
        self.met = Counter()
        self._statements = statements
        self._rung = threading.Event()
        self.runner = self._runner()

    def _runner(self):
        settings = Watched(self.paths.config, defaults(1.0), GATES)
        runner = Runner(self.paths, settings, "this machine", self._rung.set, clock=self.clock, patience=0.01)
        write = runner.queue.database.write

        def met():
            caller = inspect.currentframe().f_back.f_code.co_name
            self.met[caller] += 1
            return Locked(write(), self.paths.database, self._statements) if self.met[caller] % 2 else write()

        runner.queue.database.write = met
        return runner

    def another_runner(self):
        """As after a kill of the app: the run goes on, and is adopted."""
        self._end_runner()
        self.runner = self._runner()

    def add(self, command, **limits):
        """Queue a job that says in a file that it has started."""
        script = f'echo "$SLOTHTRAY_JOB" >> starts; {command}'
        job = NewJob(script, ("/bin/sh", "-c", script), cwd=str(self.work), env={"PATH": os.environ["PATH"]}, **limits)
        (number,) = self.queue.enqueue([job])
        return number

    def until(self, condition):
        """Look, and look again, as the loop does."""
        for _ in range(TRIES):
            try:
                self.runner.step()
            except DatabaseBusy:
                continue
            if condition():
                return
            self._rung.wait(0.01)
            self._rung.clear()
        pytest.fail(f"it never came to {condition}")

    def told(self, number):
        """The kinds of a job's events."""
        return [event.kind for event in self.queue.events(number)]

    def state(self, number):
        return self.queue.get(number).state

    def signal_supervisor(self, number):
        """End the session, for this one run."""
        look = records.open_for_look(self.paths.run_record(self.queue.get(number).run))
        os.kill(records.read(look).started.pid, signal.SIGTERM)
        os.close(look)

    def close(self):
        self._end_runner()
        self.queue.close()

    def _end_runner(self):
        self.runner.note_started()
        self.runner.close()


@pytest.fixture(params=[WRITER, READER], ids=["another writer", "a reader"])
def queued(tmp_path, request):
    made = Queued(tmp_path, request.param)
    yield made
    made.close()


def writing_methods():
    """The runner's methods that write."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(Runner)))
    methods = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {one.name for one in methods if "self._database.write()" in ast.unparse(one)}


def test_a_database_that_is_busy_at_every_write_loses_nothing_and_doubles_nothing(queued):
    failing = queued.add("exit 3", max_attempts=2)
    queued.until(lambda: queued.told(failing)[-1] == "retry")
    queued.clock.step_wall(-86400)  # its backoff must not last a day now
    queued.until(lambda: queued.queue.get(failing).not_before <= queued.clock.wall() + BACKOFF)
    queued.clock.advance(BACKOFF)
    queued.until(lambda: queued.state(failing) == "failed")

    long = queued.add("touch began; until [ -e go ]; do sleep 0.01; done")
    late = queued.add("true", expires_at=queued.clock.wall() + 10)
    queued.until((queued.work / "began").exists)
    queued.another_runner()
    queued.until(lambda: "adopted" in queued.told(long))
    queued.clock.suspend(3600)
    queued.until(lambda: queued.state(late) == "cancelled")
    queued.signal_supervisor(long)
    queued.until(lambda: queued.told(long)[-1] == "claimed")
    (queued.work / "go").touch()
    queued.until(lambda: queued.state(long) == "done")

    os.rename(queued.paths.runs, queued.paths.runs + ".away")
    Path(queued.paths.runs).touch()
    unrecorded = queued.add("true", once=True)
    queued.until(lambda: queued.told(unrecorded)[-1] == "unstarted")
    os.unlink(queued.paths.runs)
    os.rename(queued.paths.runs + ".away", queued.paths.runs)
    queued.until(lambda: queued.state(unrecorded) == "done")

    queued.runner._launcher = Launcher("/nowhere/supervisor.py")
    unstarted = queued.add("true")
    queued.until(lambda: queued.told(unstarted)[-1] == "unstarted")
    queued.runner._launcher = Launcher()
    queued.clock.advance(BACKOFF)
    queued.until(lambda: queued.state(unstarted) == "done")

    assert queued.told(failing) == ["added", "claimed", "retry", "claimed", "failed"]
    assert queued.told(long) == ["added", "claimed", "adopted", "slept", "reclaimed", "claimed", "done"]
    assert queued.told(late) == ["added", "expired"]
    assert queued.told(unrecorded) == ["added", "claimed", "unstarted", "claimed", "done"]
    assert queued.told(unstarted) == ["added", "claimed", "unstarted", "claimed", "done"]
    starts = Counter(Path(queued.work, "starts").read_text().split())
    assert starts == {str(failing): 2, str(long): 2, str(unrecorded): 1, str(unstarted): 1}
    jobs = [queued.queue.get(number) for number in (failing, long, unrecorded, unstarted)]
    assert [(job.attempts, job.failures, job.interruptions) for job in jobs] == [(2, 2, 0), (2, 0, 1), (1, 0, 0), (1, 0, 0)]
    slept = queued.queue.database.rows("SELECT job, detail FROM events WHERE kind = 'slept'")
    assert [(row["job"], row["detail"]) for row in slept] == [(None, "1 h"), (long, "1 h")]
    assert not reading.running(queued.queue.database)
    assert set(queued.met) == writing_methods()
    assert all(count >= 2 for count in queued.met.values()), queued.met
