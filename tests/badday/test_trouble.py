"""What the runner can't do is told once in a line, again after a minute, and when it is over; `list` can read it with the app."""

import pytest

from slothtray.config import Watched, defaults
from slothtray.errors import PROGRAM_CHANGED, DatabaseBusy, FolderReplaced, StorageError
from slothtray.paths import Paths
from slothtray.runner import Loop, LoopThread, Runner, Tell, loop
from slothtray.system import folder, sleep

FULL = StorageError("no space left for the database", "nothing was stored; free some space and try again")


class Steps:
    """A loop whose steps are made by the test: each raises what is in its list, or does nothing."""

    def __init__(self, path, monkeypatch, outcomes):
        self.paths, self.told, self.outcomes = Paths(str(path / "queue")), [], iter(outcomes)
        self.now = 1000.0
        monkeypatch.setattr(Runner, "step", lambda _: self.step())
        monkeypatch.setattr(loop.time, "monotonic", lambda: self.now)
        settings = Watched(self.paths.config, defaults(1.0), {"ceiling": None})
        self.make = lambda: Loop(self.paths, settings, Tell(trouble=self.told.append), sleep.listen())

    def step(self):
        outcome = next(self.outcomes, "end")
        if outcome == "end":
            self.loop.stop()
        elif isinstance(outcome, BaseException):
            raise outcome
        elif outcome is not None:
            self.now += outcome
        return 0.0

    def run(self, monkeypatch):
        """Run to the end of the list, without the waits."""
        self.loop = self.make()
        monkeypatch.setattr(self.loop, "_wait", lambda _: None)
        self.loop.run()
        return self.told


@pytest.fixture
def stepped(tmp_path, monkeypatch):
    return lambda *outcomes: Steps(tmp_path, monkeypatch, outcomes).run(monkeypatch)


OVER = "that is over: the queue goes on"
WORDS = "no space left for the database; trying again"


def test_a_trouble_that_goes_on_is_told_once_and_its_end_too(stepped):
    assert stepped(FULL, FULL, FULL, None, None) == [WORDS, OVER]


def test_another_trouble_is_told_as_well(stepped):
    assert stepped(FULL, StorageError("the disk is on fire"), FULL) == [WORDS, "the disk is on fire; trying again", WORDS, OVER]


def test_a_defect_is_told_with_where_its_traceback_is_and_a_missing_part_with_what_to_do(stepped):
    assert stepped(ZeroDivisionError("oh")) == ["the runner failed: see app.log", OVER]
    assert stepped(ModuleNotFoundError("oh")) == [PROGRAM_CHANGED, OVER]


def test_a_lock_of_a_moment_is_no_news(stepped):
    assert stepped(*[DatabaseBusy("the database is locked by another program")] * 9) == []


def test_a_trouble_is_told_again_after_a_minute_and_a_lock_after_some_seconds(tmp_path, monkeypatch):
    steps = Steps(tmp_path, monkeypatch, [])
    steps.loop = steps.make()
    for _ in range(130):
        steps.loop._on_busy(DatabaseBusy("locked"))
        steps.now += 1
    assert steps.told == ["locked; trying again"] * 3
    assert folder.trouble_of(steps.paths) == "locked; trying again"
    steps.loop._end_trouble()
    assert folder.trouble_of(steps.paths) == ""
    steps.loop._close()
    assert folder.holder_of(steps.paths) is None


def test_a_folder_that_was_replaced_ends_the_thread_without_a_traceback(tmp_path, monkeypatch, caplog, capfd):
    steps = Steps(tmp_path, monkeypatch, [FolderReplaced("the queue was replaced", "start slothtray again")])
    thread = LoopThread(steps.make)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert "the queue was replaced: start slothtray again" in caplog.text
    assert capfd.readouterr().err == ""
