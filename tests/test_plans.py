"""What a look at the queue costs, in steps of SQLite's machine: it must not grow with what is over, nor with what waits long."""

import os
import shutil
from contextlib import suppress
from functools import partial

import bulk
import pytest

from slothtray import ManualClock, Queue, State
from slothtray.cli.main import main
from slothtray.config import Watched, defaults
from slothtray.paths import Paths
from slothtray.runner import Runner, Tell
from slothtray.store import adding, claim, person, pruning, reading, status
from slothtray.store.connection import Database
from slothtray.system import folder

NOW = bulk.WALL
COUNTS = {"finished": 1000, "deferred": 100, "held": 20}
"""What the small queue has; enough of all that each list is full with it."""
SLACK = 1.05
"""A few steps more for a deeper tree; a scan would take a hundred times as many."""


@pytest.fixture(scope="module")
def databases(tmp_path_factory):
    """Three folders: a small queue, one with 100 times as much that is over, one with 100 times as much that is deferred."""
    place = tmp_path_factory.mktemp("plans")
    many = {name: {**COUNTS, name: COUNTS[name] * 100} for name in ("finished", "deferred")}
    for name, counts in {"small": COUNTS, **many}.items():
        bulk.fill(str(place / name / "queue.db"), **counts, ready=70)
    return place


class Undo(Exception):
    """Takes a transaction back, so that the next count finds the same queue."""


def steps(folder, work):
    """The steps that one piece of work on this queue takes."""
    with Queue(str(folder / "queue.db"), ManualClock(NOW)) as queue:
        database, counter = queue.database, [0]
        database.count_steps(counter)
        with suppress(Undo), database.write():
            work(database)
            raise Undo
        return counter[0]


def due(database):
    """A job that is due, in the same place of each queue's order."""
    sql = "SELECT id FROM jobs WHERE state = 'pending' AND priority = 0 AND not_before = 0 ORDER BY id LIMIT 1"
    return person.find(database, database.row(sql)["id"])


CLAIMANT = claim.Claimant("token", "boot-1", 1060.0)
NAMESAKE = adding.NewJob("make", ("make",), cwd="/", label="never used", unique=True)
FOLLOWER = adding.NewJob("make", ("make",), cwd="/", after=1)
LISTS = {
    f"list {state or 'all'}, label {label}": partial(reading.listed, wanted=reading.Wanted(state, label), unfinished=10, finished=5)
    for state in (None, *State)
    for label in (None, "nightly", "never used")
}
WORK = {
    # What the runner asks and does.
    "outlook": lambda database: reading.outlook(database, NOW),
    "counts": reading.counts,
    "running": reading.running,
    "next up": lambda database: reading.next_up(database, 5),
    "recent": lambda database: reading.recent(database, 5),
    "unfinished exists": lambda database: reading.unfinished_exists(database, NOW),
    "late backoff exists": lambda database: reading.late_backoff_exists(database, NOW),
    "clamp backoff": lambda database: claim.clamp_backoff(database, NOW),
    "expired": lambda database: claim.expired(database, NOW),
    "make due": lambda database: claim.make_due(database, NOW),
    "claim": lambda database: claim.take(database, CLAIMANT, NOW),
    "claim behind shut gates": lambda database: claim.take(database, CLAIMANT, NOW, only_start_now=True),
    "pause": lambda database: status.pause_of(database, NOW),
    "status": status.status_of,
    "own load": status.own_load_of,
    # What a person's commands ask and do.
    "add": lambda database: adding.insert(database, FOLLOWER, NOW),
    "add a unique one": lambda database: adding.insert(database, NAMESAKE, NOW),
    "cancel": lambda database: person.cancel(database, due(database).id, NOW),
    "retry": lambda database: person.retry(database, 10, NOW),
    "events": lambda database: reading.events(database, 10),
    "sleeps": lambda database: reading.sleeps(database, due(database)),
    "usual": lambda database: reading.usual(database, due(database)),
    "held": lambda database: reading.held(database, 10),
    "first delayed": reading.first_delayed,
    "how many": lambda database: reading.how_many(database, reading.Wanted()),
    "forget some": lambda database: pruning.remove(database, pruning.some_old(database, NOW, 20)),
    "prune nothing": lambda database: pruning.old(database, 1.0, failed=True),
    "ahead of": lambda database: reading.ahead_of(database, due(database), NOW),
    "unfinished ids": reading.unfinished_ids,
    **LISTS,
}
GROWS_WITH_WHAT_WAITS = {"ahead of", "unfinished ids", "list all, label nightly", "list pending, label nightly"}
"""These count what waits, name all of it, or sort what has a label."""


def no_more(took):
    """Whether the big queues take no more steps than the small one."""
    return max(took.values()) <= took["small"] * SLACK + 10


@pytest.mark.parametrize("name", WORK)
def test_no_work_grows_with_what_is_over(databases, name):
    took = {folder: steps(databases / folder, WORK[name]) for folder in ("small", "finished")}
    assert no_more(took), took


@pytest.mark.parametrize("name", sorted(set(WORK) - GROWS_WITH_WHAT_WAITS))
def test_hardly_any_work_grows_with_what_waits_long(databases, name):
    took = {folder: steps(databases / folder, WORK[name]) for folder in ("small", "deferred")}
    assert no_more(took), took


def test_what_usually_takes_how_long_is_not_sought_among_the_runs_of_a_library(databases, tmp_path):
    """Those have no time awake; a million of them would be looked through at every list."""
    took = {}
    for name in ("small", "finished"):
        paths = copy_of(databases, name, tmp_path)
        with Queue(paths.database) as queue, queue.database.write():
            queue.database.execute("UPDATE jobs SET runtime = NULL")
        took[name] = steps(tmp_path / name, WORK["usual"])
    assert no_more(took), took


# --- what the steps don't tell -----------------------------------------------------------------------------------------------

SERVED_BY = ("jobs_ready", "jobs_delayed", "jobs_start_now", "jobs_backoff", "jobs_running", "jobs_held", "jobs_expiring")
"""The indexes of what is not over: to walk one of them is to walk no more than that."""


@pytest.mark.parametrize("name", WORK)
def test_no_query_walks_a_table_or_an_index_of_all_that_is_over(databases, name):
    # Not by steps: a count of all rows is one of them, and reads every page of the table.
    said = []
    with Queue(str(databases / "small" / "queue.db"), ManualClock(NOW)) as queue:
        connection = queue.database._connection
        connection.set_trace_callback(said.append)
        with suppress(Undo), queue.database.write():
            WORK[name](queue.database)
            raise Undo
        connection.set_trace_callback(None)
        asked = [sql.replace("Inf", "9e999") for sql in said if sql.split()[0] in ("SELECT", "WITH", "UPDATE", "INSERT", "DELETE")]
        plans = [row["detail"] for sql in asked for row in queue.database.rows(f"EXPLAIN QUERY PLAN {sql}")]
    walks = [line for line in plans if line.startswith(("SCAN jobs", "SCAN events")) and not line.endswith(SERVED_BY)]
    assert asked
    assert not walks


# --- the whole of it ----------------------------------------------------------------------------------------------------------


class NoStart:
    """A launcher on a full disk: the claim is made and taken back, nothing runs."""

    def launch(self, *_):
        raise OSError(28, "No space left on device")


@pytest.fixture
def counter(monkeypatch):
    """Counts the steps of every connection that is opened from now on."""
    counted = [0]
    original = Database.__init__

    def opened(self, *args, **options):
        original(self, *args, **options)
        self.count_steps(counted)

    monkeypatch.setattr(Database, "__init__", opened)
    return counted


def copy_of(databases, name, place):
    """A queue that this test may change, with the folder of an app."""
    paths = Paths(str(place / name))
    os.makedirs(paths.home)
    shutil.copyfile(databases / name / "queue.db", paths.database)
    folder.prepare(paths)
    return paths


@pytest.mark.parametrize("paused", [False, True], ids=["it claims", "paused"])
def test_a_whole_step_of_the_runner_takes_no_longer(databases, tmp_path, counter, paused):
    took = {}
    for name in ("small", "finished", "deferred"):
        paths, clock = copy_of(databases, name, tmp_path), ManualClock(NOW)
        shown = []
        settings = Watched(paths.config, defaults(), {"ceiling": None, "cooldown": 0.0, "prune_after": None})
        runner = Runner(paths, settings, "machine", lambda: None, Tell(shown.append), clock, NoStart())
        if paused:
            with runner.queue.database.write():
                status.set_pause(runner.queue.database, clock.wall(), None)
        counter[0] = 0
        runner.step()  # the first one looks for what an earlier app has left, too
        clock.advance(1)
        runner.step()
        took[name] = counter[0]
        assert shown[-1].pending > 100
        runner.close()
    assert no_more(took), took


@pytest.mark.parametrize(
    ("words", "big"),
    [
        (["list"], ["finished", "deferred"]),
        (["list", "--json"], ["finished", "deferred"]),
        (["list", "--state", "cancelled"], ["finished", "deferred"]),
        (["list", "-n", "5", "--label", "nightly", "--state", "failed", "--json"], ["finished", "deferred"]),
        (["why"], ["finished", "deferred"]),
        (["show", "10"], ["finished", "deferred"]),
        (["why", "DUE"], ["finished"]),
    ],
)
def test_a_command_that_looks_takes_no_longer(databases, tmp_path, counter, monkeypatch, capsys, words, big):
    took = {}
    for name in ("small", *big):
        paths = copy_of(databases, name, tmp_path)
        with Queue(paths.database) as queue:
            number = str(due(queue.database).id)
        monkeypatch.setenv("SLOTHTRAY_HOME", paths.home)
        counter[0] = 0
        assert main([number if word == "DUE" else word for word in words]) == 0
        took[name] = counter[0]
    assert capsys.readouterr().out
    assert took["small"] > 0
    assert no_more(took), took
