"""`add` against the least a Python program can do, the time from the commit to the job's first instruction, the runner's memory."""

import os
import statistics
import subprocess
import time
from pathlib import Path

from measure import PYTHON, environment, folder, interleaved, program, quietly

from slothtray import bell
from slothtray.paths import Paths
from slothtray.store import Queue
from slothtray.store.adding import NewJob

YARDSTICK = """
import argparse, json, socket, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA journal_mode=TRUNCATE").fetchall()
c.execute("PRAGMA synchronous=EXTRA")
c.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, x TEXT)")
c.execute("BEGIN IMMEDIATE"); c.execute("INSERT INTO t (x) VALUES ('true')"); c.execute("COMMIT")
"""


def add(rounds: int = 60) -> None:
    """`slothtray add true`, also with an option, beside the yardstick and a bare interpreter."""
    with folder() as home:
        script = Path(home, "yardstick.py")
        script.write_text(YARDSTICK)
        env = environment(os.path.join(home, "queue"))
        found = interleaved(
            {
                "python -c pass": quietly([PYTHON, "-c", "pass"], env),
                "yardstick": quietly([PYTHON, str(script), os.path.join(home, "yardstick.db")], env),
                "slothtray add": quietly([*program(), "add", "true"], env),
                "slothtray add -q": quietly([*program(), "add", "-q", "true"], env),
            },
            rounds,
        )
    for name, seconds in found.items():
        print(f"  {name:<16} {seconds * 1e3:6.1f} ms")
    print(f"  add / yardstick  {found['slothtray add'] / found['yardstick']:.2f}   (at most 1.5)")
    print(f"  add / bare       {found['slothtray add'] / found['python -c pass']:.2f}")


def start_and_memory(rounds: int = 40) -> None:
    """From the commit of an add to the first instruction of its job, on an idle queue; then the runner's resident memory."""
    with folder() as home:
        env = environment(os.path.join(home, "queue"))
        paths = Paths(os.path.join(home, "queue"))
        queue = Queue(paths.database)
        stamp = os.path.join(home, "stamp")
        app = subprocess.Popen([*program(), "run", "--ceiling", "off", "--cooldown", "0.01"], env=env, stdout=subprocess.DEVNULL)
        try:
            _until(lambda: bell.answered(paths))
            times = [_one_start(queue, paths, stamp) for _ in range(rounds)]
            resident, private = memory(app.pid)
        finally:
            app.terminate()
            app.wait()
            queue.close()
    print(f"  commit to first instruction: median {statistics.median(times) * 1e3:.1f} ms, worst {max(times) * 1e3:.1f} ms   (at most 40)")
    print(f"  runner after {rounds} jobs: {resident:.1f} MB resident, {private:.1f} MB of it its own   (at most 25)")


def _one_start(queue: Queue, paths: Paths, stamp: str) -> float:
    if os.path.exists(stamp):
        os.unlink(stamp)
    script = 'printf %s "$EPOCHREALTIME" > "$0.new"; mv "$0.new" "$0"'
    queue.enqueue([NewJob("stamp", ("/bin/bash", "-c", script, stamp), cwd="/")])
    committed = time.time()
    bell.ring(paths)
    _until(lambda: os.path.exists(stamp))
    with open(stamp, encoding="ascii") as file:
        began = float(file.read())
    _until(lambda: queue.database.row("SELECT 1 FROM jobs WHERE state IN ('pending', 'running')") is None)
    time.sleep(0.05)  # past the cooldown: it is no part of this figure
    return began - committed


def memory(pid: int) -> tuple[float, float]:
    """Resident and private memory of a process, in MB."""
    fields = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            words = line.split()
            if len(words) == 3:
                fields[words[0]] = int(words[1]) / 1000
    return fields["Rss:"], fields["Private_Clean:"] + fields["Private_Dirty:"]


def _until(condition) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(condition)
        time.sleep(0.001)


def main() -> None:
    """All figures of this file."""
    print("add: medians of whole processes")
    add()
    print("start and memory")
    start_and_memory()


if __name__ == "__main__":
    main()
