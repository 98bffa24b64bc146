"""The daily backup: when it is due, that nobody waits for it, and that it is whole, private and one of two."""

import os
import shutil
import sqlite3
import threading
from contextlib import closing
from itertools import pairwise

import pytest
from harness import eventually
from hypothesis import given
from hypothesis import strategies as st

from slothtray.clock import ManualClock
from slothtray.config import Watched, defaults
from slothtray.errors import DamagedDatabase, StorageError
from slothtray.paths import Paths
from slothtray.recovery import backup, files
from slothtray.recovery.backup import DAY, RETRY, is_due
from slothtray.runner import Loop, LoopThread, Tell, upkeep
from slothtray.runner.upkeep import MINUTE, PATIENT_TRIES, Upkeep
from slothtray.store import Queue, copying, status
from slothtray.system import folder
from slothtray.system.sleep import Silence


@pytest.fixture
def paths(tmp_path):
    """A queue folder with a queue of three jobs."""
    made = Paths(str(tmp_path / "queue"))
    folder.prepare(made)
    with Queue(made.database) as queue:
        for name in ("a", "b", "c"):
            queue.add(f"echo {name}")
    return made


def names(paths):
    return sorted(os.listdir(paths.backups))


def jobs_in(path):
    with closing(sqlite3.connect(path)) as connection:
        return [command for (command,) in connection.execute("SELECT command FROM jobs ORDER BY id")]


# --- when ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age", "since_try", "due"),
    [
        (None, None, True),
        (None, RETRY - 1, False),
        (None, RETRY, True),
        (DAY - 1, None, False),
        (DAY, None, True),
        (DAY, RETRY - 1, False),
        (-1.0, None, True),
        (-1.0, RETRY - 1, False),
        (0.0, DAY - 1, False),
        (0.0, DAY, True),
    ],
)
def test_a_backup_is_due_a_day_after_the_last_one_and_an_hour_after_a_try(age, since_try, due):
    assert is_due(age, since_try) is due


@given(st.lists(st.tuples(st.floats(0, 7200), st.floats(-1e6, 1e6)), max_size=60))
def test_no_steps_of_the_wall_clock_make_it_storm_or_stop(moves):
    wall, elapsed, made, tried = 1.7e9, 0.0, None, None
    times = []

    def look():
        nonlocal made, tried
        if is_due(None if made is None else wall - made, None if tried is None else elapsed - tried):
            made, tried = wall, elapsed
            times.append(elapsed)

    for passes, step in moves:
        wall, elapsed = wall + passes + step, elapsed + passes
        look()
    assert all(later - earlier >= RETRY for earlier, later in pairwise(times))
    wall, elapsed, before = wall + DAY, elapsed + DAY, len(times)
    look()
    assert len(times) == before + 1


class Slow:
    """A clock, and the upkeep of a folder under it."""

    def __init__(self, paths):
        self.clock = ManualClock(wall=1.7e9)
        self.paths = paths
        self.upkeep = Upkeep(paths, self.clock)

    def after(self, seconds):
        self.clock.advance(seconds)
        self.upkeep.look()
        self.upkeep.join()
        return names(self.paths)


def test_the_app_backs_up_a_minute_after_its_start_then_daily_and_keeps_two(paths):
    slow = Slow(paths)
    assert slow.after(MINUTE - 1) == []
    assert slow.after(1) == ["queue-0001-2023-11-14.db"]
    assert slow.after(DAY - 1) == ["queue-0001-2023-11-14.db"]
    assert slow.after(MINUTE) == ["queue-0001-2023-11-14.db", "queue-0002-2023-11-15.db"]
    assert slow.after(DAY) == ["queue-0002-2023-11-15.db", "queue-0003-2023-11-16.db"]


def test_a_clock_that_was_set_back_does_not_make_the_newest_backup_an_old_one(paths):
    slow = Slow(paths)
    slow.after(MINUTE)
    slow.after(DAY)
    slow.clock.step_wall(-100 * DAY)
    assert slow.after(RETRY) == ["queue-0002-2023-11-15.db", "queue-0003-2023-08-07.db"]
    assert slow.after(MINUTE) == ["queue-0002-2023-11-15.db", "queue-0003-2023-08-07.db"]
    assert files.named(paths, "newest").number == 3


def test_a_backup_that_fails_is_said_and_tried_again_an_hour_later(paths):
    os.rmdir(paths.backups)
    open(paths.backups, "w").close()
    slow = Slow(paths)
    slow.upkeep._clock.advance(MINUTE)
    slow.upkeep.look()
    slow.upkeep.join()
    assert "could not be backed up" in "".join(slow.upkeep.remarks())
    os.unlink(paths.backups)
    slow.clock.advance(RETRY - 1)
    slow.upkeep.look()
    slow.upkeep.join()
    assert "could not be backed up" in "".join(slow.upkeep.remarks())
    assert slow.after(MINUTE) == ["queue-0001-2023-11-14.db"]
    assert "".join(slow.upkeep.remarks()) == ""


def test_the_loop_makes_it_at_a_look_that_is_made_anyway(paths):
    clock, seen = ManualClock(), []
    settings = Watched(paths.config, defaults(1.0), {"ceiling": None})
    loop = LoopThread(lambda: Loop(paths, settings, Tell(snapshot=seen.append), Silence(), clock))
    with Queue(paths.database) as queue, queue.database.write():
        status.set_pause(queue.database, clock.wall(), None)
    loop.start()
    try:
        eventually(lambda: seen, "the first look")
        assert names(paths) == []
        clock.advance(MINUTE)
        loop.ring()
        eventually(lambda: [name for name in names(paths) if name.startswith("queue-")], "a backup")
    finally:
        loop.stop()
        loop.join(20)


def test_jobs_run_and_the_app_ends_while_a_backup_takes_its_time(home, monkeypatch):
    begun, may_go_on = threading.Event(), threading.Event()

    def copy(source, target, goes_on, *, insist):
        begun.set()
        assert may_go_on.wait(60)
        raise copying.Interrupted

    monkeypatch.setattr(backup, "copy", copy)
    monkeypatch.setattr(upkeep, "MINUTE", 0.0)
    settings = Watched(home.paths.config, defaults(1.0), {"ceiling": None, "cooldown": 0.0})
    loop = LoopThread(lambda: Loop(home.paths, settings, Tell(), Silence()))
    loop.start()
    try:
        assert begun.wait(20)
        home.wait_for(home.enqueue("true"), "done")
        loop.stop()
        loop.join(20)
        assert not loop.is_alive()
    finally:
        loop.stop()
        may_go_on.set()
        loop.join(20)


# --- what ---------------------------------------------------------------------------------------------------------------------


def test_a_backup_is_whole_private_and_nothing_else_is_left(paths):
    os.umask(before := os.umask(0o777))
    os.umask(0)
    try:
        made = backup.make(paths, ManualClock())
    finally:
        os.umask(before)
    assert jobs_in(made) == jobs_in(paths.database)
    assert os.stat(made).st_mode & 0o777 == 0o600
    assert names(paths) == [os.path.basename(made)]


def test_writers_get_in_between_the_steps_and_the_copy_has_all_they_wrote_or_none(paths, monkeypatch):
    monkeypatch.setattr(copying, "STEP", 1)
    writes = []

    def write():
        """As another program would: at once, without any patience."""
        if len(writes) < copying.RESTARTS:
            with Queue(paths.database, patience=0.0) as queue:
                writes.append(queue.add("echo meanwhile").id)
        return True

    made = backup.make(paths, ManualClock(), goes_on=write)
    assert writes == [4, 5, 6]
    assert jobs_in(made) == jobs_in(paths.database)


def test_a_queue_that_is_always_written_to_is_copied_in_one_go(paths, monkeypatch):
    monkeypatch.setattr(copying, "STEP", 1)

    def write():
        with Queue(paths.database, patience=0.0) as queue:
            queue.add("echo meanwhile")
        return True

    made = backup.make(paths, ManualClock(), goes_on=write)
    assert len(jobs_in(made)) == 3 + copying.RESTARTS + 2


def test_a_large_queue_that_is_always_written_to_is_left_alone_for_a_day_before_it_is_insisted(paths, monkeypatch):
    monkeypatch.setattr(copying, "STEP", 1)
    monkeypatch.setattr(copying, "SMALL", 0)
    copied = []

    def copy(source, target, pages, goes_on):
        copied.append(pages)
        if pages > 0:
            raise copying._Restarted
        whole(source, target, pages, goes_on)

    whole = copying._copy
    monkeypatch.setattr(copying, "_copy", copy)
    slow = Slow(paths)
    for _ in range(PATIENT_TRIES):
        assert slow.after(RETRY) == []
        assert slow.upkeep.remarks() == ["", ""]
    assert copied == [1] * PATIENT_TRIES
    assert len(slow.after(RETRY)) == 1


def test_what_was_left_of_a_backup_that_was_cut_off_is_no_backup_and_goes(paths):
    with open(os.path.join(paths.backups, "unfinished-1-1"), "w") as file:
        file.write("half of one")
    assert files.backups(paths) == []
    made = backup.make(paths, ManualClock())
    assert names(paths) == [os.path.basename(made)]


def test_of_a_database_that_is_damaged_deep_inside_no_backup_is_made(paths):
    spoil_deep_inside(paths)
    with pytest.raises(DamagedDatabase, match="is damaged"):
        backup.make(paths, ManualClock())
    assert names(paths) == []


def test_a_disk_that_is_nearly_full_keeps_its_room_for_the_queue(paths, monkeypatch):
    made = backup.make(paths, ManualClock())
    usage = shutil.disk_usage(paths.home)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=100_000))
    with pytest.raises(StorageError, match=r"no backup can be made in .*: 100 kB are free, \d+ kB needed"):
        backup.make(paths, ManualClock())
    assert names(paths) == [os.path.basename(made)]


def test_a_backup_that_is_given_up_leaves_nothing(paths):
    with pytest.raises(copying.Interrupted):
        backup.make(paths, ManualClock(), goes_on=lambda: False)
    assert names(paths) == []


def spoil_deep_inside(paths, page=None):
    """Garbage over the page that the index of labels begins with."""
    with closing(sqlite3.connect(paths.database)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'jobs_label'").fetchone()
    with open(paths.database, "r+b") as file:
        file.seek((root - 1) * size)
        file.write(os.urandom(size))
