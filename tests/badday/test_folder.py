"""The queue folder: logs that may not be written, a folder that is gone or replaced, locks that don't hold, another machine's row."""

import os
import shutil
import subprocess
import sys
from contextlib import closing

import pytest
from harness import OBEDIENT, eventually

from slothtray.system import folder

UNTIL_GO = "touch began; until [ -e go ]; do sleep 0.02; done"


def begun(home, command):
    """A job that runs, and the app that runs it."""
    number = home.add(command)
    app = home.start()
    eventually((home.work / "began").exists, "the job has begun")
    return number, app


# --- logs ----------------------------------------------------------------------------------------------------------------------


def test_case_12_with_an_unwritable_log_folder_only_that_job_fails_and_the_next_runs_after_chmod(home):
    home.start(prefix=OBEDIENT if os.geteuid() == 0 else [])
    logs = home.path / "logs"
    logs.chmod(0o500)
    first, second = home.add("echo a >> ran"), home.add("echo b >> ran")
    assert home.wait_for(first, "failed") == "failed"
    reason = f"could not start: log {logs}/{first}.log: Permission denied"
    assert home.row(first, "message") == reason
    told = f"no log can be made in {logs}: Permission denied"
    eventually(lambda: home.queue()["reason"] == told, "the queue says why it waits")
    assert reason in home.run("list", env={**home.environment, "COLUMNS": "400"}).stdout
    assert (home.row(second), home.row(second, "attempts"), home.wrote("ran")) == ("pending", 0, "")
    logs.chmod(0o700)
    assert home.wait_for(second, "done") == "done"
    home.run("retry", str(first))
    assert home.wait_for(first, "done") == "done"
    assert home.wrote("ran") == "b\na\n"


def test_a_log_folder_that_was_removed_is_made_again_and_no_job_misses_it(home):
    home.start()
    os.rmdir(home.path / "logs")
    number = home.add("echo hello")
    assert home.wait_for(number, "done", "failed") == "done"
    assert home.log(number) == "hello\n"


# --- the folder is gone --------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_moved_away_and_back_loses_nothing_the_running_job_least(home):
    number, app = begun(home, f"{UNTIL_GO}; echo once >> ran; exit 4")
    after = home.add("true")
    away = home.path.with_name("away")
    home.path.rename(away)
    (home.work / "go").touch()
    eventually(lambda: "is gone" in app.said(), "the app says that the folder is gone", limit=70)
    assert f"the queue folder {home.path} is gone, or its database" in app.said()
    assert app.process.poll() is None
    assert not home.path.exists()
    away.rename(home.path)
    assert home.wait_for(number, "failed", "done", "pending") == "failed"
    assert (home.row(number, "exit_code"), home.kinds(number)) == (4, ["added", "claimed", "failed"])
    assert home.wait_for(after, "done") == "done"
    assert home.wrote("ran") == "once\n"
    assert app.said().count("is gone") == 1


def test_an_app_whose_idle_folder_was_removed_touches_no_new_one_and_ends_with_4(home):
    home.add("--delay", "3s", "echo old >> ran")  # so that it looks soon: without, it would in a minute
    app = home.start()
    eventually(lambda: home.queue()["app"]["running"], "the app has begun")
    shutil.rmtree(home.path)
    assert home.add("echo new >> ran") == 1  # a fresh queue, of which the app knows nothing
    assert app.wait() == 4
    assert f"the queue in {home.path} was replaced while slothtray ran on it: start slothtray again\n" in app.said()
    assert (home.row(1), home.wrote("ran")) == ("pending", "")
    home.start()
    assert home.wait_for(1, "done") == "done"


def test_an_app_that_ends_leaves_the_next_ones_bell_alone(home):
    number, app = begun(home, UNTIL_GO)
    shutil.rmtree(home.path)
    home.add("echo new >> ran")
    second = home.start()
    (home.work / "go").touch()  # the old app is rung by its job's end
    assert app.wait() == 4
    assert home.run("add", "true").stderr == ""  # an app is there to hear the bell
    assert second.process.poll() is None
    assert home.wait_for(2, "done") == "done"
    assert (home.wrote("ran"), home.kinds(number)) == ("new\n", ["added", "claimed", "done"])


# --- locks ---------------------------------------------------------------------------------------------------------------------

SHIM = """
import errno, fcntl, sys
{shim}
from slothtray.__main__ import main
sys.exit(main())
"""
SHIMS = {
    "a lock that everybody gets": ("fcntl.flock = lambda *_: None", "locks don't hold in {home}, so a job could run twice at once"),
    "no locks": (
        "def none(*_):\n    raise OSError(errno.ENOLCK, 'No locks available')\nfcntl.flock = none",
        "no file can be locked in {home}: No locks available",
    ),
    "locks of a process, as over NFS": ("fcntl.flock = fcntl.lockf", "locks don't hold in {home}, so a job could run twice at once"),
}


@pytest.mark.parametrize("name", SHIMS)
def test_where_locks_do_not_hold_no_app_starts_and_no_job(home, name):
    shim, told = SHIMS[name]
    number = home.add("echo ran >> ran")
    program = [sys.executable, "-c", SHIM.format(shim=shim), "run", "--ceiling", "off", "--until-empty"]
    done = subprocess.run(program, env=home.environment, cwd="/", capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == f"slothtray: {told.format(home=home.path)}: {folder.ELSEWHERE}\n"
    assert (home.row(number), home.row(number, "attempts"), home.wrote("ran")) == ("pending", 0, "")
    home.start()
    assert home.wait_for(number, "done") == "done"


# --- another machine -----------------------------------------------------------------------------------------------------------


def test_a_row_that_another_machine_runs_is_held_with_that_machine_named_and_the_next_job_runs(home):
    number, app = begun(home, f"echo ran >> ran; {UNTIL_GO}")
    app.kill()
    (home.work / "go").touch()
    eventually(lambda: not home.processes(), "job and supervisor have ended")
    with closing(home.read()) as connection, connection:
        connection.execute("UPDATE jobs SET machine = 'feedc0ffee000000' WHERE id = ?", (number,))
    after = home.add("true")
    home.start()
    assert home.wait_for(number, "held", "done", "pending") == "held"
    assert home.row(number, "reason") == "it was running on another machine (feedc0ffee000000), and may still be"
    assert "another machine" in home.run("list", env={**home.environment, "COLUMNS": "200"}).stdout
    assert home.wait_for(after, "done") == "done"
    home.run("release", str(number))
    assert home.wait_for(number, "done") == "done"
    assert home.wrote("ran") == "ran\nran\n"
