"""The demo: four tiny jobs in a folder of their own, behind a load ceiling; what happens is printed as it happens.

Run by `dev.py demo` with the environment's Python.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = [sys.executable, "-m", "slothtray"]
JOBS = (
    ("fine", ["add", "--attempts", "1", "echo fine"]),
    ("outlives its limit of 1 s, and is killed with its child", ["add", "-t", "1s", "sleep 411 & echo started; wait"]),
    (
        "fails once, is retried after 2 s, then ends well",
        ["add", "--attempts", "2", "test -e once && echo better || { touch once; echo oops; exit 3; }"],
    ),
    ("higher priority: goes first", ["add", "-p", "5", "echo first"]),
)
CEILING, HIGH, LOW = "1.5", 2.91, 0.20
BUSY_FOR = 3.0
"""Seconds for which the demo pretends that the machine is busy."""


def main() -> int:
    """Queue the jobs, run them to their end, show what came of them; 0 when all came as said."""
    with tempfile.TemporaryDirectory(prefix="slothtray-demo-") as folder:
        loadavg = os.path.join(folder, "loadavg")
        own = {"SLOTHTRAY_HOME": os.path.join(folder, "queue"), "SLOTHTRAY_LOADAVG": loadavg, "SHELL": "/bin/sh"}
        if sys.stdout.isatty():
            own["COLUMNS"] = str(shutil.get_terminal_size().columns)  # its answers come by a pipe, which has none
        environment = {**os.environ, **own}

        def slothtray(*words: str) -> str:
            done = subprocess.run([*PROGRAM, *words], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
            return done.stdout

        set_load(loadavg, HIGH)
        for meaning, words in JOBS:
            number = slothtray(*words[:1], "-q", *words[1:]).strip()
            print(f"job {number}: {meaning}")
        print(f"\nThe load is made to look like {HIGH}, the ceiling is {CEILING};", end=" ")
        print(f"after {BUSY_FOR:g} s it falls to {LOW:.2f}.\n", flush=True)
        threading.Timer(BUSY_FOR, set_load, (loadavg, LOW)).start()
        options = ["--ceiling", CEILING, "--interval", "1s", "--cooldown", "0.2s", "--until-empty"]
        code = subprocess.run([*PROGRAM, "run", *options], cwd=folder, env=environment, check=False).returncode
        print(f"\n`slothtray run --until-empty` ended with {code}: 1, since a job failed.\n")
        print(slothtray("list"))
        for job in range(1, len(JOBS) + 1):
            print(f"--- log of job {job}\n{slothtray('log', str(job))}", end="")
    return 0 if code == 1 else 1


def set_load(path: str, one: float) -> None:
    """Make the 1-minute load average look like this."""
    fresh = f"{path}.{time.monotonic_ns()}"
    with open(fresh, "w", encoding="ascii") as file:
        file.write(f"{one:.2f} 0.00 0.00 1/100 12345\n")
    os.replace(fresh, path)


if __name__ == "__main__":
    sys.exit(main())
