"""A folder that does not grow for ever: the running job's log is kept within log_cap, and old jobs are forgotten."""

import os
import threading

import pytest
from harness import eventually

from slothtray import bell
from slothtray.clock import ManualClock
from slothtray.config import Watched, defaults
from slothtray.paths import Paths
from slothtray.policy import forget_before
from slothtray.runner import Runner
from slothtray.runner.housekeeping import BATCH, LOOK, LOOK_SOON, PAUSE
from slothtray.store import Queue
from slothtray.system import folder
from slothtray.system.logcap import find

DAY = 86400.0
CAP = 100_000
WRITES = "seq -f 'line %014.0f' 20000"
"""400 kB."""


class Kept:
    """A runner whose clocks are moved by hand; its jobs are real."""

    def __init__(self, path, **config):
        self.path = path
        self.paths = Paths(str(path / "queue"))
        folder.prepare(self.paths)
        self.clock = ManualClock()
        self.queue = Queue(self.paths.database, self.clock)
        self.config = {"ceiling": None, "cooldown": 0.0, "settle": 0.0, "log_cap": CAP, **config}
        self.rung = threading.Event()
        self.runner = self.made()

    def made(self):
        return Runner(self.paths, Watched(self.paths.config, defaults(1.0), self.config), "this machine", self.rung.set, clock=self.clock)

    def over(self, number, state="done"):
        """Look until the job has ended."""
        eventually(lambda: (self.runner.step(), self.queue.get(number).state == state)[1], f"job {number} is {state}")

    def ended(self, count, days, state="done"):
        """So many jobs that ended so many days ago, with a log each."""
        ids = []
        for _ in range(count):
            job = self.queue.add("true")
            ids.append(job.id)
            with open(self.paths.log(job.id), "w", encoding="ascii") as file:
                file.write("x")
        with self.queue.database.write():
            values = [(state, self.clock.wall() - days * DAY, number) for number in ids]
            for one in values:
                self.queue.database.execute("UPDATE jobs SET state = ?, finished_at = ? WHERE id = ?", one)
        return ids

    def left(self):
        return {row["id"] for row in self.queue.database.rows("SELECT id FROM jobs")}

    def close(self):
        self.runner.close()
        self.queue.close()


@pytest.fixture
def kept(tmp_path):
    made = Kept(tmp_path)
    yield made
    made.close()


def taken(path):
    return os.stat(path).st_blocks * 512


# --- the log -------------------------------------------------------------------------------------------------------------------


def test_a_log_is_cut_while_its_job_runs_and_looked_at_sooner_then(kept):
    go = kept.path / "go"
    script = f"{WRITES}; touch {go}.1; until [ -e {go} ]; do sleep 0.02; done; {WRITES}"
    number = kept.queue.add(script).id
    kept.runner.step()
    eventually((kept.path / "go.1").exists, "it has written")
    assert kept.runner.step() == LOOK_SOON
    log = kept.paths.log(number)
    assert taken(log) <= CAP + 8192
    assert kept.runner.step() == LOOK  # it has written no more since
    go.touch()
    kept.over(number)
    assert taken(log) <= CAP + 8192
    assert os.path.getsize(log) == 800_000


def test_a_log_that_has_grown_while_no_app_was_there_is_cut_by_the_one_that_adopts_its_job(home):
    (home.path).mkdir()
    (home.path / "config.toml").write_text('log_cap = "100kB"\n')
    number = home.add(f"touch began; until [ -e go ]; do sleep 0.02; done; {WRITES}; touch wrote; until [ -e end ]; do sleep 0.02; done")
    app = home.start()
    eventually((home.work / "began").exists, "the job has begun")
    app.kill()
    (home.work / "go").touch()
    eventually((home.work / "wrote").exists, "it has written")
    log = home.paths.log(number)
    assert taken(log) >= 400_000
    home.start()
    eventually(lambda: taken(log) <= CAP + 8192, "the log is cut")
    assert home.row(number) == "running"
    (home.work / "end").touch()
    assert home.wait_for(number, "done") == "done"
    shown = home.run("log", str(number)).stdout
    assert shown.startswith("line 00000000000001\n")
    assert shown.endswith("line 00000000020000\n")
    assert "bytes cut out here (log_cap)" in shown
    assert "\0" not in shown


def test_a_log_is_looked_at_once_more_at_its_jobs_end_and_its_last_lines_are_there(kept):
    number = kept.queue.add(f"for i in 1 2 3 4 5; do {WRITES}; done; echo the end").id
    kept.runner.step()
    assert kept.rung.wait(20)  # it has ended before anybody has looked at its log
    kept.over(number)
    log = kept.paths.log(number)
    assert os.path.getsize(log) == 5 * 400_000 + 8
    with open(log, "rb") as file:
        cut = find(file.fileno())
        file.seek(cut.end)
        kept_tail = file.read()
    assert kept_tail.endswith(b"line 00000000020000\nthe end\n")
    assert len(kept_tail) + cut.begin <= CAP


def test_a_log_that_cannot_be_cut_is_no_trouble_for_its_job(kept, monkeypatch):
    def fails(*_):
        raise PermissionError(1, "no")

    monkeypatch.setattr("slothtray.system.logcap.punch", fails)
    number = kept.queue.add(WRITES).id
    kept.over(number)
    assert os.path.getsize(kept.paths.log(number)) == 400_000


# --- old jobs ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "after", "before"),
    [(None, 30 * DAY, 70 * DAY), (50.0, 30 * DAY, None), (50.0 - DAY, 30 * DAY, 70 * DAY), (None, None, None), (-DAY, None, None)],
)
def test_old_jobs_are_forgotten_once_a_day_and_not_where_never_is_said(last, after, before):
    assert forget_before(100 * DAY, 50.0, last, after) == before


def test_what_ended_long_ago_goes_with_its_log_once_a_day(kept):
    old = kept.ended(3, 31) + kept.ended(2, 40, "cancelled")
    stay = kept.ended(1, 29) + kept.ended(1, 99, "failed")
    assert kept.runner.step() == PAUSE
    kept.runner.step()
    assert kept.left() == set(stay)
    assert {int(name.partition(".")[0]) for name in os.listdir(kept.paths.logs)} == set(stay)
    assert all(kept.queue.events(number) == [] for number in old)
    later = kept.ended(1, 29.5)
    kept.clock.advance(0.9 * DAY)
    kept.runner.step()
    assert kept.left() == {*stay, *later}
    kept.clock.suspend(0.2 * DAY)
    kept.runner.step()
    kept.runner.step()
    assert kept.left() == {stay[1]}


def test_of_many_some_go_at_a_time_and_a_job_starts_between(kept):
    kept.ended(2 * BATCH + 1, 31)
    number = kept.queue.add("true").id
    assert kept.runner.step() <= PAUSE
    assert len(kept.left()) == BATCH + 2
    assert kept.queue.get(number).state == "running"
    eventually(lambda: (kept.runner.step(), kept.left() == {number})[1], "all are gone")


def test_nothing_is_forgotten_on_the_day_on_which_the_clock_was_set(kept):
    stay = kept.ended(1, 1)
    kept.runner.step()
    kept.clock.step_wall(365 * DAY)
    kept.clock.advance(0.9 * DAY)
    kept.runner.step()
    kept.clock.advance(0.2 * DAY)
    kept.clock.step_wall(-365 * DAY)
    kept.runner.step()
    kept.clock.advance(1.1 * DAY)
    kept.runner.step()
    assert kept.left() == set(stay)


def test_what_cannot_be_forgotten_stops_nothing_and_is_tried_again(kept, monkeypatch):
    kept.ended(1, 31)
    with monkeypatch.context() as patch:
        patch.setattr("slothtray.store.pruning.remove", full)
        number = kept.queue.add("true").id
        kept.over(number)
    kept.clock.advance(DAY + 1)
    kept.runner.step()
    assert kept.left() == {number}


def full(*_):
    from slothtray.errors import StorageError

    raise StorageError("no space left")


def test_prune_after_never_keeps_all(tmp_path):
    kept = Kept(tmp_path, prune_after=None)
    stay = kept.ended(1, 9999)
    kept.runner.step()
    kept.runner.step()
    assert kept.left() == set(stay)
    kept.close()


def test_the_app_forgets_by_its_config(home):
    (home.path).mkdir()
    (home.path / "config.toml").write_text('prune_after = "1h"\n')
    number = home.enqueue("true")
    with home.read() as connection:
        connection.execute("UPDATE jobs SET state = 'done', finished_at = 1e9 WHERE id = ?", (number,))
    connection.close()
    home.start()
    bell.ring(home.paths)
    eventually(lambda: home.row(number) is None, "the job is forgotten")
