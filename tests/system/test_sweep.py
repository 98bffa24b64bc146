"""The sweep for what a killed supervisor has left: what it kills, whom it leaves alone, what it takes for a proof.

Each in a PID namespace of its own, where every process is of the test; but for the last, which signals only what it has started.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from control_group import ControlGroup
from escapes import FORKER, crowd, last_pid, nothing_is_born, others
from harness import eventually, identity
from private import in_namespace

from slothtray.model import JobProcess, RunRecord, Started
from slothtray.system import processes, records

RUN = "1-00000000"
SLOW_TO_DIE = """
import mmap, signal
memory = mmap.mmap(-1, 256 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(0, len(memory), mmap.PAGESIZE):
    memory[page] = 1
open("ready", "w").close()
signal.pause()
"""
"""It takes the kernel some 30 ms to take that memory back: so long the process is there without its environment."""


def left_behind(folder, *words, environment=None):
    """An orphan: its parent, the run's supervisor, was killed. The supervisor's record and the orphan's pid."""
    script = '"$@" & echo $! > orphan.new; mv orphan.new orphan; read -r _'
    supervisor = subprocess.Popen(
        ["sh", "-c", script, "supervisor", *words],
        cwd=folder,
        stdin=subprocess.PIPE,
        env={**os.environ, processes.COOKIE: RUN} if environment is None else environment,
    )
    eventually(lambda: Path(folder, "ready").exists() and Path(folder, "orphan").exists(), "it is there")
    started = processes.look_up(supervisor.pid)
    supervisor.kill()
    supervisor.communicate()
    record = RunRecord(Started(supervisor.pid, started.start, "this-boot", "", 0.0), None, (), None)
    return record, int(Path(folder, "orphan").read_text())


def sweep_of_the_slow_to_die(folder):
    record, orphan = left_behind(folder, sys.executable, "-c", SLOW_TO_DIE)
    swept = processes.sweep(RUN, record)
    return [swept.killed == (orphan,), swept.unproven, identity(orphan)]


def test_what_was_killed_and_is_not_buried_yet_is_waited_for(tmp_path):
    assert in_namespace(sweep_of_the_slow_to_die, str(tmp_path)) == [True, [], None]


def sweep_of_one_without_the_cookie(folder):
    words = ["sh", "-c", "touch ready; exec sleep 300"]
    record, orphan = left_behind(folder, *words, environment=NAMELESS)
    swept = processes.sweep(RUN, record)
    lives = identity(orphan) is not None
    os.kill(orphan, signal.SIGKILL)
    return [swept.killed, swept.unproven == (orphan,), lives]


def test_an_orphan_without_the_cookie_is_named_and_left_alone(tmp_path):
    assert in_namespace(sweep_of_one_without_the_cookie, str(tmp_path)) == [[], True, True]


SWEEPER = """
import json, os, sys, threading, time
from slothtray.model import RunRecord, Started
from slothtray.system import processes, records
while os.getppid() != 1:
    pass
me = {os.getpid()}
def come_and_go():
    while True:
        threading.Thread(target=lambda: (me.add(threading.get_native_id()), time.sleep(0.01))).start()
        time.sleep(0.002)  # it gives the sweep room, and is the newest until the next one
threading.Thread(target=come_and_go, daemon=True).start()
record = RunRecord(Started(1, 0, "this-boot", "", 0.0), None, (), None)
found = {process.pid for _ in range(5) for process in processes.suspects(record)}
with open("found.new", "w") as file:
    json.dump([bool(found), sorted(me & found)], file)
os.rename("found.new", "found")
"""


def sweep_by_an_app_that_is_an_orphan_itself(folder):
    subprocess.run(["sh", "-c", '"$@" &', "session", sys.executable, "-c", SWEEPER], cwd=folder, check=True)
    found = Path(folder, "found")
    eventually(found.exists, "the sweep is over")
    return json.loads(found.read_text())


def test_an_app_that_init_has_started_does_not_suspect_itself_nor_its_threads(tmp_path):
    assert in_namespace(sweep_by_an_app_that_is_an_orphan_itself, str(tmp_path)) == [True, []]


# --- the supervisor's control group ----------------------------------------------------------------------------------------------

NAMELESS = {"PATH": os.environ["PATH"]}
AT_REST = ["sh", "-c", "touch ready; exec sleep 300"]


def sweep_by_control_group(folder):
    """Orphans without the cookie: two in the group, one of them another user's; one that is of the group no more."""
    places = [Path(folder, name) for name in ("own", "foreign", "outside")]
    with ControlGroup(Path(folder)) as group:
        for place in places:
            place.mkdir()
        record, own = left_behind(places[0], *AT_REST, environment=NAMELESS)
        _, foreign = left_behind(places[1], *AT_REST[:2], "touch ready; exec setpriv --reuid=65534 sleep 300", environment=NAMELESS)
        left_behind(places[2], *AT_REST, environment=NAMELESS)
        group.take([own, foreign])
        eventually(lambda: os.stat(f"/proc/{foreign}").st_uid == 65534, "it is another user's")
        swept = processes.sweep(RUN, record._replace(started=record.started._replace(cgroup=group.path)))
        return [swept.killed, sorted(swept.unproven) == sorted([own, foreign]), identity(own) is not None]


def test_who_is_suspected_is_in_the_supervisors_control_group_whoever_it_belongs_to(tmp_path):
    assert in_namespace(sweep_by_control_group, str(tmp_path)) == [[], True, True]


# --- what forks and exits for ever -----------------------------------------------------------------------------------------------


def forker_of(folder, environment):
    """One such, in a session of its own and an orphan, among 300 others; the record of a run it may be of."""
    crowd()
    words = ["setsid", sys.executable, "-I", "-S", "-c", FORKER]
    record, orphan = left_behind(folder, *words, environment=environment)
    os.kill(orphan, signal.SIGTERM)
    goal = int(last_pid()) + 20
    eventually(lambda: int(last_pid()) > goal, "it forks")
    return record


def sweep_of_a_forker(folder):
    record = forker_of(folder, None)
    seen = [bool(processes.remains(RUN)) for _ in range(5)]
    swept = processes.sweep(RUN, record)
    return [seen, swept.unproven, nothing_is_born()]


def test_what_forks_and_exits_for_ever_is_found_and_ended(tmp_path):
    assert in_namespace(sweep_of_a_forker, str(tmp_path)) == [[True] * 5, [], True]


def sweep_of_a_nameless_forker(folder):
    record = forker_of(folder, NAMELESS)
    swept = processes.sweep(RUN, record)
    return [swept.killed, len(swept.unproven) > 0, nothing_is_born()]


def test_what_forks_and_exits_for_ever_without_the_cookie_keeps_the_sweep_from_being_a_proof(tmp_path):
    assert in_namespace(sweep_of_a_nameless_forker, str(tmp_path)) == [[], True, False]


# --- strangers -------------------------------------------------------------------------------------------------------------------


def sweep_with_a_strangers_session(folder):
    """The pid of the run's job was given to somebody else, who leads a session now."""
    stranger = subprocess.Popen(["setsid", "sh", "-c", "sleep 300 & wait"], cwd=folder)
    eventually(lambda: [entry for entry in others() if entry.name == "sleep"], "it leads its session")
    session = [stranger.pid, *(entry.pid for entry in others() if entry.name == "sleep")]
    before = [identity(pid) for pid in session]
    start = processes.look_up(stranger.pid).start
    record = RunRecord(Started(1, start + 1000, "this-boot", "", 0.0), JobProcess(stranger.pid, start - 1), (), None)
    swept = processes.sweep(RUN, record)
    return [swept, len(session), [identity(pid) for pid in session] == before]


def test_a_stranger_with_the_pid_of_the_runs_job_is_not_touched_nor_its_session(tmp_path):
    assert in_namespace(sweep_with_a_strangers_session, str(tmp_path)) == [[[], []], 2, True]


@pytest.mark.parametrize("passes", [[["it"]], [[], ["it"]], [[], []]])
def test_without_a_record_two_passes_must_find_nothing(monkeypatch, passes):
    left = [*passes]
    monkeypatch.setattr(processes, "belonging", lambda run, record: left.pop(0))
    assert processes.remains(RUN) == passes[-1]
    assert left == []


def test_a_pid_that_is_another_process_by_now_gets_no_cancel_and_the_right_one_only_while_it_holds_the_lock(tmp_path):
    holder = records.create(str(tmp_path / RUN))
    look = records.open_for_look(str(tmp_path / RUN))
    with subprocess.Popen(["sleep", "60"]) as process:
        start = processes.look_up(process.pid).start
        right, wrong = (RunRecord(Started(process.pid, at, "this-boot", "", 0.0), None, (), None) for at in (start, start - 1))
        assert not processes.cancel(look, wrong)
        assert process.poll() is None
        assert processes.cancel(look, right)
        assert process.wait(20) == -signal.SIGUSR1
        os.close(holder)
    with subprocess.Popen(["sleep", "60"]) as process:
        start = processes.look_up(process.pid).start
        assert not processes.cancel(look, RunRecord(Started(process.pid, start, "this-boot", "", 0.0), None, (), None))
        process.kill()
    os.close(look)
