"""Ten ways to outlive a kill, as a job's command, and a look at all that lives in a PID namespace of one's own.

Each command makes the file `ready` in its folder once what is to outlive it is there.
"""

import os
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

DAEMON = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
ready = os.open("ready.new", os.O_CREAT)
folder = os.getcwd()
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.chdir("/")
os.umask(0)
os.closerange(0, 64)
os.rename(folder + "/ready.new", folder + "/ready")
time.sleep(300)
"""
FORKER = """
import os, signal, time
def fork_for_ever(*_):
    while not os.fork():
        pass
    os._exit(0)
signal.signal(signal.SIGTERM, fork_for_ever)
signal.signal(signal.SIGUSR2, fork_for_ever)
with open("ready.new", "w") as file:
    file.write(str(os.getpid()))
os.rename("ready.new", "ready")
time.sleep(300)
"""
"""Each generation lives as long as it takes to make the next one. It begins when it is told to end, or by SIGUSR2."""

WAYS = {
    "2,000 children": "i=0; while [ $i -lt 2000 ]; do sleep 300 & i=$((i + 1)); done; touch ready; wait",
    "setsid": "setsid sleep 300 & touch ready; wait",
    "double fork": '(sh -c "(sleep 300 &); touch ready" &); sleep 300',
    "env -i": "env -i sleep 300 & touch ready; wait",
    "ignored TERM": 'trap "" TERM; touch ready; while :; do sleep 300; done',
    "stopped child": "sleep 300 & kill -STOP $!; touch ready; wait",
    "kill 0": 'setsid sleep 300 & trap "" TERM; kill 0; touch ready; while :; do sleep 300; done',
    "forks for ever": f"{sys.executable} -I -S -c '{FORKER}' & wait; wait; sleep 300",
    "Python daemon": f"{sys.executable} -I -S -c '{DAEMON}'; sleep 300",
    "nohup": "nohup sleep 300 & touch ready; wait",
}


class Entry(NamedTuple):
    """One process of the namespace, a zombie too."""

    pid: int
    parent: int
    state: str
    name: str


def everything() -> dict[int, Entry]:
    """All processes of the namespace by their pid."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, tail = path.read_text(errors="replace").rpartition(")")
        except OSError:
            continue
        pid, words = int(path.parent.name), tail.split()
        found[pid] = Entry(pid, int(words[1]), words[0], head.partition("(")[2])
    return found


def others(*known: int) -> list[Entry]:
    """All there is but the namespace's init, ourselves and our children, and ``known`` with all that is below them."""
    table = everything()
    mine = {1, os.getpid(), *(pid for pid, entry in table.items() if entry.parent == os.getpid())}
    return [entry for pid, entry in table.items() if pid not in mine and not below(pid, known, table)]


def below(pid: int, known: Collection[int], table: dict[int, Entry]) -> bool:
    """Whether a process is one of these, or comes from one."""
    while pid in table and pid not in known:
        pid = table[pid].parent
    return pid in known


def nothing_is_born(seconds: float = 0.1) -> bool:
    """Whether no process was made for so long: one that forks and exits for ever shows in no table."""
    before = last_pid()
    time.sleep(seconds)  # the time itself is what is asked about
    return last_pid() == before


def last_pid() -> str:
    return Path("/proc/loadavg").read_text().split()[-1]


def crowd(size: int = 300) -> int:
    """As many bystanders as a desktop has: what forks for ever is not easily met among them. The pid of their parent."""
    words = ["sh", "-c", f"i=0; while [ $i -lt {size} ]; do sleep 300 & i=$((i + 1)); done; echo; wait"]
    bystanders = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
    bystanders.stdout.readline()
    return bystanders.pid
