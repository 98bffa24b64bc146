"""A supervisor's start that goes wrong in the middle, and the gate that waits until it can go right."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from private import in_namespace

from slothtray.config import Watched, defaults
from slothtray.errors import Refused
from slothtray.paths import Paths
from slothtray.runner import Runner, storage
from slothtray.store import Queue
from slothtray.system import folder
from slothtray.system.launcher import Launcher

RUN = "1-00000000"


def test_a_start_that_fails_for_want_of_storage_leaves_no_record_and_no_descriptor(tmp_path):
    paths = Paths(str(tmp_path / "queue"))
    folder.prepare(paths)
    os.mkdir(paths.run_stderr(RUN))  # no file can be made there
    launcher = Launcher()
    before = os.listdir("/proc/self/fd")
    with pytest.raises(IsADirectoryError):
        launcher.launch(paths, RUN, b"", lambda: None)
    assert os.listdir("/proc/self/fd") == before
    assert os.listdir(paths.runs) == [f"{RUN}.err"]


def test_where_no_supervisor_can_hold_a_job_that_is_said_and_nothing_starts(monkeypatch):
    with monkeypatch.context() as windows:
        windows.setattr(sys, "platform", "win32")
        with pytest.raises(Refused, match="jobs can't be run on Windows yet: in WSL slothtray is"):
            Launcher()


def with_one_inode_left(path):
    """The run record takes it, and there is none for its .err; looks of the runner until the job is over, and what it says."""
    paths = Paths(path)
    folder.prepare(paths)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=2", "none", paths.runs], check=True)
    queue = Queue(paths.database)
    job = queue.add("true").id
    settings = Watched(paths.config, defaults(1.0), {"ceiling": None, "cooldown": 0.0})
    runner = Runner(paths, settings, "this machine", lambda: None)
    for _ in range(5):
        runner.step()
    said = queue.database.row("SELECT gate, reason FROM queue")
    subprocess.run(["mount", "-o", "remount,nr_inodes=9", paths.runs], check=True)
    while queue.get(job).state != "done":
        runner.step()
    return [said["gate"], said["reason"], [event.kind for event in queue.events(job)], len(os.listdir(paths.runs))]


def test_a_record_without_room_for_its_stderr_shuts_the_storage_gate_until_there_is_room(tmp_path):
    path = str(tmp_path / "queue")
    gate, reason, kinds, files = in_namespace(with_one_inode_left, path)
    assert (gate, reason) == ("storage", f"no run record can be made in {path}/runs: No space left on device")
    assert kinds == ["added", "claimed", "unstarted", "claimed", "done"]
    assert files == 2


def test_a_folder_of_records_that_was_removed_is_made_anew(tmp_path):
    paths = Paths(str(tmp_path / "queue"))
    folder.prepare(paths)
    os.rmdir(paths.runs)
    assert storage.why_not(paths) == ""
    assert Path(paths.runs).stat().st_mode & 0o777 == 0o700
    assert os.listdir(paths.runs) == []
