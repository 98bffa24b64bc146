"""Scopes with systemd's real user manager: ending the app's unit ends no job, a logout interrupts it; and what a scope costs.

On demand, as root where the unified control groups can be mounted: `python tests/desktop/user_manager.py`. The manager lives in
namespaces of its own, in a branch of the control groups that is removed at the end.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS)]

from harness import PROGRAM, Home, eventually

from slothtray import bell
from slothtray.store import Queue
from slothtray.store.adding import NewJob
from slothtray.system import records
from slothtray.system.scope import Scopes

UNIT = "user.slice/user-0.slice/user@0.service"
ROUNDS = 40


def main():
    """Start this program again where a user manager can live."""
    with tempfile.TemporaryDirectory() as folder:
        mount = Path(folder, "cgroups")
        mount.mkdir()
        subprocess.run(["mount", "-t", "cgroup2", "none", mount], check=True)
        try:
            (mount / UNIT).mkdir(parents=True)
            words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, __file__, folder]
            return subprocess.run(words, check=False).returncode
        finally:
            for branch in sorted((mount / "user.slice").rglob("*/"), key=lambda path: -len(path.parts)):
                branch.rmdir()
            (mount / "user.slice").rmdir()
            subprocess.run(["umount", mount], check=True)


def inside(folder):
    """All of it, in the manager's own world."""
    subprocess.run("mount -t cgroup2 none /sys/fs/cgroup && mount -t tmpfs none /run", shell=True, check=True)
    for made in ("/run/systemd/system", "/run/user/0", folder / "home"):
        os.makedirs(made, 0o700)
    os.environ.update(XDG_RUNTIME_DIR="/run/user/0", HOME=str(folder / "home"))
    os.environ.pop("DBUS_SESSION_BUS_ADDRESS", None)
    bus = ["dbus-daemon", "--session", "--address=unix:path=/run/user/0/bus", "--nofork", "--nopidfile"]
    subprocess.Popen(bus, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: os.path.exists("/run/user/0/bus"))
    Path("/sys/fs/cgroup", UNIT, "cgroup.procs").write_text(str(os.getpid()))
    manager = subprocess.Popen(["/lib/systemd/systemd", "--user"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    Path("/sys/fs/cgroup/cgroup.procs").write_text(str(os.getpid()))
    eventually(lambda: "running" in systemctl("is-system-running").stdout, "the user manager is up")
    home = Home(folder / "queue")
    home.environment["SLOTHTRAY_HOME"] = str(home.path)
    the_apps_unit_ends_without_its_job(home)
    cost(home)
    a_logout_interrupts_the_job(home, manager)


def systemctl(*words):
    """The person's own systemd."""
    return subprocess.run(["systemctl", "--user", *words], capture_output=True, text=True, check=False)


def start_app(home, *around):
    """An app, as a unit of the manager or ``around`` nothing of it."""
    run = [*PROGRAM, "run", "--ceiling", "off", "--cooldown", "0.01"]
    unit = ["systemd-run", "--user", "--unit=app", "--collect", "-q", f"--setenv=SLOTHTRAY_HOME={home.path}"]
    process = subprocess.Popen([*(around or unit), *run], env=home.environment, stdout=subprocess.DEVNULL)
    eventually((home.path / "bell").exists, "the app holds the folder")
    return process


def record(home, number):
    """The run record of a job's last attempt."""
    eventually(lambda: home.row(number, "run"))
    look = records.open_for_look(home.paths.run_record(home.row(number, "run")))
    try:
        return records.read(look)
    finally:
        os.close(look)


def the_apps_unit_ends_without_its_job(home):
    """And the next app finds it running."""
    start_app(home)
    number = home.add("sleep 4")
    eventually(lambda: record(home, number).process, "it runs")
    scope = f"slothtray-{home.row(number, 'run')}.scope"
    assert record(home, number).started.cgroup.endswith(scope), record(home, number)
    shown = systemctl("show", scope, "-p", "Description,KillMode,SendSIGHUP,TimeoutStopUSec,CollectMode,OOMPolicy").stdout
    print(" ".join(shown.split("\n")))
    assert systemctl("stop", "app").returncode == 0
    eventually(lambda: not (home.path / "bell").exists(), "the app is gone")
    start_app(home)
    home.wait_for(number, "done")
    assert "adopted" in home.events(number), home.events(number)
    assert systemctl("is-active", scope).stdout.strip() == "inactive"
    print("the app's unit was stopped, its job went on, the next app adopted it")
    systemctl("stop", "app")


def a_logout_interrupts_the_job(home, manager):
    """What the manager does at its end: TERM to the scope, and time enough for the last words."""
    start_app(home)
    number = home.add("sleep 60")
    eventually(lambda: record(home, number).process, "it runs")
    systemctl("exit")
    manager.wait(30)
    assert record(home, number).result.why == "interrupted", record(home, number)
    app = start_app(home, "setsid")
    eventually(lambda: "reclaimed" in home.kinds(number), "the next login runs it again")
    home.run("cancel", str(number))
    app.terminate()
    print("a logout interrupted the job, the next login queued it again")


def cost(home):
    """From the commit of an add to its first instruction, with and without a scope, each round both."""
    times = {"in a scope": [], "without": []}
    for _ in range(2):
        for name, around in (("in a scope", ()), ("without", ("setsid",))):
            app = start_app(home, *around)
            times[name] += [first_instruction(home) for _ in range(ROUNDS // 2)]
            systemctl("stop", "app")
            app.terminate()
            app.wait()
            eventually(lambda: not (home.path / "bell").exists(), "the app is gone")
    for name, found in times.items():
        print(f"{name:<11} {statistics.median(found) * 1e3:5.1f} ms from the commit to the job's first instruction")
    print(f"the move itself takes {statistics.median(move(number) for number in range(ROUNDS)) * 1e3:.1f} ms, beside the supervisor's start")


def move(number):
    """Seconds that one process's move takes."""
    with subprocess.Popen(["sleep", "9"]) as process:
        begun = time.perf_counter()
        assert Scopes(lambda: f"0::/{UNIT}/app.service\n").move(f"{number}-bench", process.pid, 1.0)
        took = time.perf_counter() - begun
        process.kill()
    return took


def first_instruction(home):
    """Seconds that one job's start takes."""
    stamp = home.work / "stamp"
    queue = Queue(home.paths.database)
    [number] = queue.enqueue([NewJob("stamp", ("/bin/bash", "-c", f'printf %s "$EPOCHREALTIME" > {stamp}'), env={})])
    queue.close()
    begun = time.time()
    bell.ring(home.paths)
    home.wait_for(number, "done")
    time.sleep(0.05)  # past the cooldown
    return float(stamp.read_text()) - begun


if __name__ == "__main__":
    sys.exit(inside(Path(sys.argv[1])) if len(sys.argv) > 1 else main())
