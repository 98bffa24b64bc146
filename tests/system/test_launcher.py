"""A supervisor's start that goes wrong in the middle."""

import os
import sys

import pytest

from slothtray.errors import Refused
from slothtray.paths import Paths
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
