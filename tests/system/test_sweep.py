"""The sweep for what a killed supervisor has left: what it kills, whom it leaves alone, what it takes for a proof.

Each in a PID namespace of its own: every process there is of the test.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from harness import eventually, identity
from private import in_namespace

from slothtray.model import RunRecord, Started
from slothtray.system import processes

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
    record, orphan = left_behind(folder, *words, environment={"PATH": os.environ["PATH"]})
    swept = processes.sweep(RUN, record)
    lives = identity(orphan) is not None
    os.kill(orphan, signal.SIGKILL)
    return [swept.killed, swept.unproven == (orphan,), lives]


def test_an_orphan_without_the_cookie_is_named_and_left_alone(tmp_path):
    assert in_namespace(sweep_of_one_without_the_cookie, str(tmp_path)) == [[], True, True]


SWEEPER = """
import json, os, sys
from slothtray.model import RunRecord, Started
from slothtray.system import processes
while os.getppid() != 1:
    pass
record = RunRecord(Started(1, 0, "this-boot", "", 0.0), None, (), None)
found = processes.sweep("1-00000000", record).unproven
with open("found.new", "w") as file:
    json.dump([os.getpid() in found], file)
os.rename("found.new", "found")
"""


def sweep_by_an_app_that_is_an_orphan_itself(folder):
    subprocess.run(["sh", "-c", '"$@" &', "session", sys.executable, "-c", SWEEPER], cwd=folder, check=True)
    found = Path(folder, "found")
    eventually(found.exists, "the sweep is over")
    return json.loads(found.read_text())


def test_an_app_that_init_has_started_does_not_suspect_itself(tmp_path):
    assert in_namespace(sweep_by_an_app_that_is_an_orphan_itself, str(tmp_path)) == [False]
