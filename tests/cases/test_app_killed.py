"""The app is killed, stopped, started again or not there at all: what was queued goes on (cases 1, 2, 19, 20, 21)."""

import os
import signal
import sqlite3
from pathlib import Path

import pytest
from harness import eventually

from slothtray import bell

UNTIL_GO = "touch began; until [ -e go ]; do sleep 0.02; done"


def begun(home, command, *options):
    """A job of this command that runs, and the app that runs it."""
    number = home.add(*options, command)
    app = home.start()
    eventually((home.work / "began").exists, "the job has begun")
    return number, app


def test_case_01_a_killed_app_comes_back_to_the_same_attempt_and_to_its_true_exit_code(home):
    number, app = begun(home, f"{UNTIL_GO}; exit 7")
    pending = [home.add("exit 0"), home.add("exit 3")]
    app.kill()
    assert [home.row(one) for one in (number, *pending)] == ["running", "pending", "pending"]
    home.start()
    eventually(lambda: "adopted" in home.kinds(number), "the run is adopted")
    (home.work / "go").touch()
    assert home.wait_for(number, "failed", "done", "pending") == "failed"
    assert (home.row(number, "exit_code"), home.row(number, "attempts")) == (7, 1)
    assert home.kinds(number) == ["added", "claimed", "adopted", "failed"]
    assert [home.wait_for(one, "done", "failed") for one in pending] == ["done", "failed"]
    assert [home.row(one, "exit_code") for one in pending] == [0, 3]


def test_case_01_what_ended_while_no_app_was_there_is_found_with_its_true_exit_code(home):
    number, app = begun(home, f"{UNTIL_GO}; exit 7")
    pending = home.add("exit 0")
    app.kill()
    (home.work / "go").touch()
    eventually(lambda: not home.processes(), "job and supervisor have ended")
    assert home.row(number) == "running"
    home.start()
    assert home.wait_for(number, "failed", "done", "pending") == "failed"
    assert (home.row(number, "exit_code"), home.row(number, "attempts")) == (7, 1)
    assert home.wait_for(pending, "done") == "done"


def test_case_02_a_job_never_starts_a_second_time_beside_itself(home):
    number = home.add("date >> f; touch began; until [ -e go ]; do sleep 0.05; done; date >> f")
    app = home.start()
    eventually((home.work / "began").exists, "the job has begun")
    for _ in range(3):
        app.kill()
        app = home.start()
    eventually(lambda: "adopted" in home.kinds(number), "the last app has adopted it")
    (home.work / "go").touch()
    assert home.wait_for(number, "done", "failed", "pending") == "done"
    assert len(home.wrote("f").splitlines()) == 2
    assert home.kinds(number).count("claimed") == 1


def test_case_19_jobs_that_waited_when_the_app_was_quit_run_at_the_next_start(home):
    number, app = begun(home, UNTIL_GO)
    pending = [home.add(f"echo {name} >> order") for name in "abc"]
    assert app.stop() == 0
    assert [home.row(one) for one in pending] == ["pending"] * 3
    (home.work / "go").touch()
    home.start()
    assert [home.wait_for(one, "done") for one in (number, *pending)] == ["done"] * 4
    assert home.wrote("order") == "a\nb\nc\n"


def test_case_19_a_persons_own_pause_is_kept_over_a_quit(home):
    app = home.start()
    home.run("pause")
    assert app.stop() == 0
    number = home.add("true")
    home.start()
    said = eventually(lambda: (queue := home.queue())["reason"] and queue, "the new app has said why it waits")
    assert (said["state"], said["reason"]) == ("paused", "paused")
    assert (home.row(number), home.row(number, "attempts")) == ("pending", 0)
    home.run("resume")
    assert home.wait_for(number, "done") == "done"


def test_case_20_a_second_app_says_who_holds_the_folder_and_ends_with_3(home):
    first = home.start()
    second = home.run("run", "--ceiling", "off", code=3)
    assert second.stdout == ""
    assert len(second.stderr.splitlines()) == 1
    assert f"pid {first.process.pid}" in second.stderr
    assert str(home.path) in second.stderr
    number = home.add("true")
    assert home.wait_for(number, "done") == "done"


def test_case_20_a_lock_file_that_a_killed_app_left_behind_keeps_nobody_out(home):
    first = home.start()
    first.kill()
    lock = home.path / "runner.lock"
    assert lock.read_text() == f"{first.process.pid}\n"
    assert (home.path / "bell").exists()
    assert home.start().process.poll() is None
    assert home.wait_for(home.add("true"), "done") == "done"


@pytest.mark.parametrize("content", ["1\n", "", "who knows\n", "4" * 5000])
def test_case_20_nobody_is_kept_out_by_what_a_lock_file_says(home, content):
    home.path.mkdir()
    (home.path / "runner.lock").write_text(content)
    assert home.start().process.poll() is None
    assert home.wait_for(home.add("true"), "done") == "done"


def stopped(home, app):
    """Stop the app, but not in the milliseconds in which it holds the database's lock: True when that was so."""
    os.kill(app.process.pid, signal.SIGSTOP)
    eventually(lambda: state_of(app.process.pid) == "T", "the app is stopped")
    connection = sqlite3.connect(home.path / "queue.db", timeout=0, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        os.kill(app.process.pid, signal.SIGCONT)
        return False
    finally:
        connection.close()
    return True


def test_case_21_an_add_does_not_wait_for_a_stopped_app(home):
    app = home.start()
    eventually(lambda: stopped(home, app), "the app is stopped outside of a transaction")
    for _ in range(100):  # more than any socket's queue takes: a bell that is full must not block either
        assert bell.ring(home.paths)
    added = home.run("add", "echo hello", timeout=10)
    assert added.stderr == ""
    os.kill(app.process.pid, signal.SIGCONT)
    assert home.wait_for(int(added.stdout), "done") == "done"


def test_case_21_an_add_without_any_app_gives_the_id_and_says_so(home):
    added = home.run("add", "echo hello")
    assert added.stdout == "1\n"
    assert "no app is running" in added.stderr
    assert len(added.stderr.splitlines()) == 1
    home.start()
    assert home.wait_for(1, "done") == "done"
    assert home.log(1) == "hello\n"


def test_case_21_an_add_is_not_deceived_by_the_bell_of_a_killed_app(home):
    home.start().kill()
    assert (home.path / "bell").exists()
    assert "no app is running" in home.run("add", "true").stderr
    assert home.queue()["app"] == {"running": False, "pid": None}


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
