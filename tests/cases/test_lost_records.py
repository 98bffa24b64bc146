"""The run records are gone, or tell of somebody else: no second copy runs, and no stranger is signalled (cases 4, 34)."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from escapes import everything
from harness import Home, eventually
from private import in_namespace

from slothtray.clock import Clock
from slothtray.model import Started
from slothtray.system import folder, processes, records

# --- case 34: all of runs/ is removed while a job runs --------------------------------------------------------------------------

ALONE = """
exec 9>>lock; flock -n 9; [ $? != 1 ] || echo again >> overlaps
echo started >> starts; touch began
until [ -e go ]; do sleep 0.02; done
"""


def robbed(home):
    """A job that runs without its record, and without an app."""
    number = home.enqueue(ALONE)
    app = home.start()
    eventually((home.work / "began").exists, "the job has begun")
    shutil.rmtree(home.paths.runs)
    app.kill()
    return number


def named(home, number):
    """The pids that the reason for a hold names."""
    words, _, pids = home.row(number, "reason").partition(": ")
    assert words == "its run record is gone, but processes of it still run"
    return {int(pid) for pid in pids.split(", ")}


def test_case_34_a_job_without_its_record_is_held_while_anything_of_it_lives_and_never_runs_twice(home):
    number = robbed(home)
    carriers = by_cookie(home, number)
    home.start()
    assert home.wait_for(number, "held", "pending", "done") == "held"
    assert len(carriers) == 2
    assert carriers <= named(home, number)
    assert home.wait_for(home.enqueue("true"), "done") == "done"
    (home.work / "go").touch()
    eventually(lambda: not home.processes(), "it has ended by itself")
    assert home.row(number) == "held"
    home.run("release", str(number))
    assert home.wait_for(number, "done", "failed") == "done"
    assert home.wrote("starts") == "started\nstarted\n"
    assert home.wrote("overlaps") == ""


def by_cookie(home, number):
    """The supervisor and the job's shell: the sleeps between two looks come and go."""
    found = [entry for entry in everything().values() if processes.has_cookie(entry.pid, home.row(number, "run"))]
    return {entry.pid for entry in found if entry.name != "sleep"}


def robbed_and_orphaned(path):
    """The supervisor is killed too: whether what it left is named, and what becomes of the job when that is gone."""
    home = Home(Path(path, "queue"))
    number = home.enqueue('[ -e began ] || { sleep 300 & echo $! > child; touch began; wait; }')
    app = home.start()
    eventually((home.work / "began").exists, "the job has begun")
    child = int(home.wrote("child"))
    supervisor = everything()[everything()[child].parent].parent
    shutil.rmtree(home.paths.runs)
    app.kill()
    os.kill(supervisor, signal.SIGKILL)
    eventually(lambda: everything()[child].parent == 1, "it is an orphan")
    app = home.start()
    states = [home.wait_for(number, "held", "done")]
    is_named = named(home, number) == {child}
    app.kill()
    os.kill(child, signal.SIGKILL)
    home.run("release", str(number))
    home.start()
    states.append(home.wait_for(number, "held", "done"))
    home.close()
    return [states, is_named]


def test_case_34_an_orphan_of_a_job_without_its_record_is_named(tmp_path):
    assert in_namespace(robbed_and_orphaned, str(tmp_path)) == [["held", "done"], True]


def test_case_34_a_job_of_which_nothing_lives_runs_again(home):
    number = home.enqueue('[ "$SLOTHTRAY_ATTEMPT" != 1 ] || { touch began; until [ -e go ]; do sleep 0.02; done; }')
    app = home.start()
    eventually((home.work / "began").exists, "the job has begun")
    shutil.rmtree(home.paths.runs)
    app.kill()
    (home.work / "go").touch()
    eventually(lambda: not home.processes(), "it has ended, and nobody knows how")
    home.start()
    assert home.wait_for(number, "held", "done", "failed") == "done"
    assert home.kinds(number) == ["added", "claimed", "reclaimed", "claimed", "done"]


# --- case 4: pids of somebody else ------------------------------------------------------------------------------------------------

STRANGER = """
import os, signal
def note(number, _):
    with open("heard", "a") as file:
        file.write(f"{number} ")
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, note)
open("ready", "w").close()
while True:
    signal.pause()
"""
RUN = "1-0badcafe"


class Deceived:
    """A queue whose row, or record, of a running job tells of a stranger that lives."""

    def __init__(self, path, row_boot, record_boot):
        self.home = Home(path)
        self.number = self.home.enqueue("echo ran >> ran")
        folder.prepare(self.home.paths)
        command = [sys.executable, "-I", "-S", "-c", STRANGER]
        self.stranger = subprocess.Popen(command, cwd=path, start_new_session=True)
        eventually((path / "ready").exists, "the stranger is there")
        self._say_running(row_boot)
        self._say_who(record_boot)

    def _say_running(self, boot):
        sql = "UPDATE jobs SET state='running', attempts=1, run=?, machine=?, boot=?, lease_until=?, started_at=? WHERE id=?"
        until = Clock().awake() + 3600
        with self.home.read() as connection:
            connection.execute(sql, (RUN, folder.machine_id(), boot, until, time.time() - 60, self.number))
            connection.execute("INSERT INTO events (job, at, kind) VALUES (?, ?, 'claimed')", (self.number, time.time() - 60))
        connection.close()

    def _say_who(self, boot):
        """Of this boot: the stranger was given the pid later, as its start says. Of another one: even that may be the same."""
        pid, start = self.stranger.pid, processes.look_up(self.stranger.pid).start
        start -= boot == Clock().boot_id()
        lines = [
            {"k": "S", "pid": pid, "start": start, "boot": boot, "cgroup": "", "at": time.time()},
            {"k": "J", "pid": pid, "start": start},
        ]
        path = Path(self.home.paths.run_record(RUN))
        os.close(records.create(str(path)))
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def outcome(self):
        """How the job ended and how often it ran, its history, and what the stranger has noticed of it all."""
        home = self.home
        home.start()
        state = home.wait_for(self.number, "done", "held", "cancelled")
        heard = [self.stranger.poll(), (home.path / "heard").exists()]
        self.stranger.kill()
        self.stranger.wait()
        home.close()
        return [state, home.wrote("ran"), home.kinds(self.number), heard]


def deceived(path, row_boot, record_boot, cancel):
    boots = {"this": Clock().boot_id(), "old": "01234567-89ab-cdef-0123-456789abcdef"}
    queue = Deceived(Path(path, "queue"), boots[row_boot], boots[record_boot])
    if cancel:
        queue.home.run("cancel", str(queue.number))
    return queue.outcome()


@pytest.mark.parametrize(("row", "record"), [("old", "old"), ("this", "old"), ("old", "this"), ("this", "this")])
def test_case_04_a_run_with_a_strangers_pid_is_reclaimed_at_the_start_and_the_stranger_hears_nothing(tmp_path, row, record):
    state, ran, kinds, heard = in_namespace(deceived, str(tmp_path), row, record, "")
    assert (state, ran) == ("done", "ran\n")
    assert kinds == ["added", "claimed", "reclaimed", "claimed", "done"]
    assert heard == [None, False]


def test_case_04_a_cancel_does_not_reach_a_stranger_either(tmp_path):
    state, ran, kinds, heard = in_namespace(deceived, str(tmp_path), "this", "this", "cancel")
    assert (state, ran) == ("cancelled", "")
    assert kinds == ["added", "claimed", "cancel requested", "cancelled"]
    assert heard == [None, False]


def test_case_04_a_cancel_asks_who_has_the_supervisors_pid_now(tmp_path):
    held = records.create(str(tmp_path / "record"))
    look = records.open_for_look(str(tmp_path / "record"))
    with subprocess.Popen(["sleep", "300"]) as stranger:
        start = processes.look_up(stranger.pid).start
        record = records.EMPTY._replace(started=Started(stranger.pid, start - 1, "this-boot", "", 0.0))
        assert not processes.cancel(look, record)
        assert processes.cancel(look, record._replace(started=record.started._replace(start=start)))
        assert stranger.wait(15) == -signal.SIGUSR1
    os.close(held)
    assert not processes.cancel(look, record)
    os.close(look)
