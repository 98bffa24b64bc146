"""A supervisor's own scope: whether one is wanted, what systemd is asked for, and that a job starts whatever the answer is.

systemd's user manager is a stand-in on a bus of the test's own; tests/desktop/test_user_manager.py tries the real one.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import session
from harness import eventually
from hypothesis import given
from hypothesis import strategies as st

from slothtray import actions
from slothtray.config import Watched, defaults
from slothtray.paths import Paths
from slothtray.runner import Runner
from slothtray.store import Queue
from slothtray.system import folder, scope
from slothtray.system.launcher import Launcher

RUN = "12-0123abcd"
UNIFIED = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-slothtray-77.scope\n"
OURS = UNIFIED.replace("1000", str(os.getuid()))
SESSION = "0::/user.slice/user-1000.slice/session-2.scope\n"
LEGACY = "12:pids:/user.slice/user-1000.slice/user@1000.service\n1:name=systemd:/user.slice/user-1000.slice/user@1000.service/a.service\n"


# --- whether one is wanted: pure -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cgroups", "user", "wanted"),
    [
        (UNIFIED, 1000, True),
        (LEGACY + "0::/user.slice/user-1000.slice/user@1000.service/a.service\n", 1000, True),
        (LEGACY, 1000, True),
        (UNIFIED, 0, False),  # `sudo slothtray` in that login's terminal
        (UNIFIED, 100, False),
        (SESSION, 1000, False),
        ("0::/\n", 1000, False),
        ("0::/system.slice/cron.service\n", 1000, False),
        ("0::/user.slice/user-1000.slice/user@1000.service\n", 1000, False),  # the manager itself
        ("0::/x/my-user@1000.service/a\n0::/user@1000.servicex/a\n", 1000, False),
        ("4:memory:/user.slice/user-1000.slice/user@1000.service/a.service\n0::/\n", 1000, False),  # a container's own limit
        ("0::/user.slice/user@1000.service/odd:name/a.service\n", 1000, True),
        ("", 1000, False),
        ("nonsense\n:\n::\n", 1000, False),
    ],
)
def test_a_scope_is_wanted_where_the_app_lives_below_its_own_user_manager(cgroups, user, wanted):
    assert scope.managed(cgroups, user) is wanted


@given(st.text(":/@\n 0use.\x00é", max_size=30))
def test_any_text_of_the_kernel_has_an_answer(cgroups):
    assert scope.managed(cgroups, 1000) in (True, False)


# --- what is asked for: pure -----------------------------------------------------------------------------------------------------


def test_the_scope_is_named_after_the_run():
    assert scope.unit_name(RUN) == "slothtray-12-0123abcd.scope"
    assert scope.unit_name("1/../@a b") == "slothtray-1\\x2f..\\x2f\\x40a\\x20b.scope"


RUNS = st.text("0a-:_.\\/@ \x00é\udc80", max_size=12)


@given(RUNS, RUNS)
def test_no_run_makes_a_name_that_systemd_refuses_or_that_another_run_has(one, other):
    assert re.fullmatch(r"slothtray-[0-9A-Za-z:_.\\-]*\.scope", scope.unit_name(one))
    assert (scope.unit_name(one) == scope.unit_name(other)) == (one == other)


def test_the_scope_waits_for_the_jobs_grace_and_says_nothing_of_its_command():
    wanted = dict(scope.properties(RUN, 4711, 10.0))
    assert wanted["Description"] == ("s", "slothtray job 12")
    assert wanted["PIDs"] == ("au", [4711])
    assert wanted["TimeoutStopUSec"] == ("t", 15_000_000)
    assert dict(scope.properties(RUN, 1, float("inf")))["TimeoutStopUSec"] == ("t", 2**64 - 2)


# --- what comes of it ------------------------------------------------------------------------------------------------------------


class Manager(session.StandIn):
    """systemd as it answers. ``results``: how the orders end, one after the other; a refusal, or None for silence."""

    def __init__(self, bus, *results):
        self.asked = []
        self.on_ask = lambda: None
        self._results = list(results)
        super().__init__(bus, scope.SYSTEMD1, {"StartTransientUnit": self._start})

    def _start(self, *body):
        self.on_ask()
        self.asked.append(body)
        result = self._results.pop(0)
        if result is None or isinstance(result, tuple):
            return result
        number = len(self.asked)
        other, ours = f"{scope.PATH}/job/9{number}", f"{scope.PATH}/job/{number}"
        for job, how in ((other, "failed"), (ours, result)):
            self.emit(scope.PATH, scope.MANAGER, "JobRemoved", "uoss", (number, job, "a.scope", how))
        return "o", (ours,)


class Moved:
    """Runs one job whose supervisor is to be moved; what the app found out of it."""

    def __init__(self, folder_path, patience=15.0):
        self.paths = Paths(str(folder_path / "queue"))
        folder.prepare(self.paths)
        self.scopes = scope.Scopes(lambda: OURS, patience)
        self.launcher = Launcher(scopes=self.scopes)
        self.answers = []
        move = self.scopes.move
        self.scopes.move = lambda *words: self.answers.append(move(*words))

    def run(self, run=RUN):
        """Launch it and wait for its end: the record."""
        spec = {"version": 1, "argv": ["/bin/true"], "env": {}, "cwd": "/", "umask": 0o77, "nice": 0, "header": "", "boot": "b"}
        spec.update(log=self.paths.log(12), max_runtime=None, grace=3.0)
        self.attempt = self.launcher.launch(self.paths, run, json.dumps(spec).encode() + b"\n", lambda: None, 3.0)
        eventually(lambda: self.attempt.over, "the attempt is over")
        self.attempt.close()
        return self.attempt.record


@pytest.fixture
def moved(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))  # no bus there, on whatever machine this is
    return Moved(tmp_path)


def test_a_supervisor_is_moved_before_it_is_told_what_to_do(moved, session_bus):
    with Manager(session_bus, "done") as manager:
        told = []
        manager.on_ask = lambda: told.append(os.listdir(moved.paths.logs))
        record = moved.run()
    [(name, mode, wanted, aux)] = manager.asked
    assert (name, mode, aux) == (scope.unit_name(RUN), "fail", [])
    assert dict(wanted)["PIDs"] == ("au", [record.started.pid])
    assert dict(wanted)["TimeoutStopUSec"] == ("t", 8_000_000)
    assert dict(wanted)["OOMPolicy"] == ("s", "continue")
    assert told == [[]]  # the job had not begun to write
    assert moved.answers == [True]
    assert record.result.code == 0


def test_the_spec_is_kept_back_until_the_order_is_carried_out(moved, session_bus):
    with Manager(session_bus, ("o", (f"{scope.PATH}/job/1",))) as manager:  # taken, not done yet
        running = threading.Thread(target=moved.run)
        running.start()
        eventually(lambda: manager.asked, "systemd is asked")
        time.sleep(0.3)  # time enough to have begun
        assert not os.path.exists(moved.paths.log(12))
        manager.emit(scope.PATH, scope.MANAGER, "JobRemoved", "uoss", (1, f"{scope.PATH}/job/1", "a.scope", "done"))
        running.join(15)
    assert moved.answers == [True]
    assert os.path.exists(moved.paths.log(12))


@pytest.mark.parametrize("answer", [("error",), "failed", "canceled"], ids=["refused", "failed", "cancelled"])
def test_what_systemd_does_not_grant_costs_the_job_nothing(moved, session_bus, answer):
    with Manager(session_bus, answer) as manager:
        assert moved.run().result.code == 0
    assert len(manager.asked) == 1
    assert moved.answers == [False]


def test_an_older_systemd_is_asked_again_without_what_it_does_not_know_and_only_once(moved, session_bus):
    with Manager(session_bus, ("error", scope.UNKNOWN_PROPERTY), "done", "done") as manager:
        assert moved.run().result.code == 0
        assert moved.run("12-ffffffff").result.code == 0
    assert moved.answers == [True, True]
    assert ["OOMPolicy" in dict(wanted) for _, _, wanted, _ in manager.asked] == [True, False, False]


def test_a_job_does_not_wait_longer_than_two_seconds_for_a_systemd_that_is_silent(tmp_path, moved, session_bus):
    assert scope.PATIENCE == 2.0
    moved.scopes._patience = 0.4
    with Manager(session_bus, None) as manager:
        began = time.monotonic()
        assert moved.run().result.code == 0
        assert time.monotonic() - began >= 0.4
    assert len(manager.asked) == 1
    assert moved.answers == [False]


def test_a_cancel_that_comes_while_systemd_is_asked_is_carried_out(moved, session_bus):
    moved.scopes._patience = 1.0
    settings = Watched(moved.paths.config, defaults(1.0), {"ceiling": None, "cooldown": 0.0})
    with Manager(session_bus, None) as manager, Queue(moved.paths.database) as queue:
        job = queue.add("sleep 60")
        runner = Runner(moved.paths, settings, "machine", lambda: None, launcher=moved.launcher)
        runner.step()
        eventually(lambda: manager.asked, "systemd is asked")
        actions.cancel(moved.paths, job.id)
        eventually(lambda: runner.step() is not None and queue.get(job.id).state == "cancelled", "it is cancelled")
        runner.close()


PATIENT_APP = """
from slothtray.__main__ import main
from slothtray.system import scope
scope.managed = lambda *_: True
scope.Scopes.__init__.__defaults__ = (scope.own_cgroups, 60.0)
main()
"""


def test_a_quit_while_systemd_is_silent_leaves_the_attempt_unstarted_and_the_next_app_runs_it(home, session_bus):
    number = home.add('echo "$SLOTHTRAY_ATTEMPT" >> attempts')
    environment = {**home.environment, "DBUS_SESSION_BUS_ADDRESS": session_bus.address}
    words = [sys.executable, "-c", PATIENT_APP, "run", "--ceiling", "off"]
    with Manager(session_bus, None) as manager, session.started(words, env=environment) as app:
        eventually(lambda: manager.asked, "systemd is asked")
        app.terminate()
        assert app.wait(20) == 0  # no part of it waits for systemd's answer
        eventually(lambda: not home.processes(), "the supervisor has ended")
    assert (home.row(number), home.wrote("attempts")) == ("running", "")
    home.start()
    assert home.wait_for(number, "done", "failed", "held") == "done"
    assert home.kinds(number) == ["added", "claimed", "unstarted", "claimed", "done"]
    assert home.wrote("attempts") == "1\n"


def test_a_bus_that_is_stuck_costs_the_job_no_more_than_that(moved, session_bus):
    moved.scopes._patience = 0.4
    session_bus.process.send_signal(signal.SIGSTOP)
    assert moved.run().result.code == 0
    assert moved.answers == [False]


def test_without_a_systemd_on_the_bus_a_job_starts_as_ever(moved, session_bus):
    assert moved.run().result.code == 0
    assert moved.answers == [False]


def test_without_a_bus_a_job_starts_as_ever(moved, monkeypatch, caplog):
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    with caplog.at_level("INFO", "slothtray"):
        assert moved.run().result.code == 0
    assert moved.answers == [False]
    assert "stays in the app's own unit: no session bus" in caplog.text


def test_the_users_own_bus_is_asked_where_the_session_has_another(moved, tmp_path, session_bus, monkeypatch):
    os.mkdir(tmp_path / "runtime")
    os.symlink(session_bus.socket, tmp_path / "runtime" / "bus")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/no-systemd-here")
    with Manager(session_bus, "done"):
        assert moved.run().result.code == 0
    assert moved.answers == [True]


OUTSIDE = """
import json, sys
from slothtray.paths import Paths
from slothtray.system import folder
from slothtray.system.launcher import Launcher
from slothtray.system.scope import Scopes
paths, spec = Paths(sys.argv[1]), sys.argv[2].encode() + b"\\n"
folder.prepare(paths)
attempt = Launcher(scopes=Scopes(lambda: sys.argv[3])).launch(paths, "1-00000000", spec, lambda: None, 1.0)
attempt._process.wait(20)
print([name for name in sys.modules if name.startswith(("jeepney", "slothtray.system.bus"))])
"""


@pytest.mark.parametrize(("cgroups", "touched"), [(SESSION, False), ("0::/\n", False), (OURS, True)], ids=["a session", "none", "systemd"])
def test_outside_systemd_no_bus_is_touched_and_nothing_is_imported_for_one(tmp_path, cgroups, touched):
    (tmp_path / "runtime").mkdir()
    log = str(tmp_path / "log")
    spec = {"version": 1, "argv": ["/bin/true"], "env": {}, "cwd": "/", "umask": 0o77, "nice": 0, "header": "", "boot": "b"}
    spec.update(log=log, max_runtime=None, grace=0.1)
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(tmp_path / "runtime" / "bus"))
        bus.listen()
        bus.setblocking(False)
        address = f"unix:path={tmp_path}/runtime/bus"
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "runtime"), "DBUS_SESSION_BUS_ADDRESS": address}
        words = [sys.executable, "-c", OUTSIDE, str(tmp_path / "queue"), json.dumps(spec), cgroups]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=40, check=True)
        assert bool(json.loads(done.stdout.replace("'", '"'))) is touched
        if touched:
            bus.accept()[0].close()
        else:
            with pytest.raises(BlockingIOError):
                bus.accept()
    assert os.path.exists(log)  # the job has run either way


def test_the_kernel_is_asked_anew_for_each_job():
    assert scope.own_cgroups() == Path("/proc/self/cgroup").read_text()
    texts = [SESSION, OURS]
    scopes = scope.Scopes(lambda: texts.pop(0), 0.1)
    asked = []
    scopes._ask = lambda *words: asked.append(words)
    assert [scopes.move(RUN, 1, 0.0), scopes.move(RUN, 2, 0.0)] == [False, True]
    assert asked == [(RUN, 2, 0.0)]
