"""The tray as a panel feels it: the real app on a queue of 100,000 jobs, asked over a private bus. Needs dbus-daemon."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tray"))

from first_light import memory
from measure import environment, folder, program
from standin import Panel
from system.session import message_bus_in

from slothtray import actions
from slothtray.paths import Paths
from slothtray.store.adding import NewJob

JOBS = 100_000
ROUNDS = 300
QUIET = 30.0


@contextmanager
def app():
    """The tray app on a full queue whose jobs wait for a load that never comes, and the panel it is in."""
    with folder() as home, tempfile.TemporaryDirectory() as bus_folder, message_bus_in(Path(bus_folder)) as bus, Panel(bus) as panel:
        paths = Paths(os.path.join(home, "queue"))
        actions.add(paths, [NewJob(f"make -C part-{number}", ("true",), cwd="/") for number in range(JOBS)])
        load = Path(home, "loadavg")
        load.write_text("99.00 99.00 99.00 1/100 12345\n")
        env = {**environment(paths.home), "DBUS_SESSION_BUS_ADDRESS": bus.address, "SLOTHTRAY_LOADAVG": str(load)}
        with subprocess.Popen(program(), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                panel.wait(lambda: panel.registered, 30)
                panel.wait(lambda: f"{JOBS} queued" in panel.get("Title").replace(",", ""), 30)
                yield paths, panel, process
            finally:
                process.terminate()


def menu(panel: Panel) -> None:
    """`AboutToShow` and `GetLayout` as every panel asks them before its menu opens."""
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        items = panel.open_menu()[1]
        times.append(time.perf_counter() - begun)
    times.sort()
    late = times[ROUNDS * 99 // 100]
    count = sum(1 + len(children) for _id, _properties, children in items)
    print(f"  menu of {count} items: median {statistics.median(times) * 1e3:.1f} ms, 99 of 100 within {late * 1e3:.1f} ms   (at most 20)")


def colour(paths: Paths, panel: Panel, rounds: int = 20) -> None:
    """From the command that pauses, resumes, to the picture in the panel's hands."""
    times = []
    for turn in range(rounds):
        panel.settled()
        before = panel.get("IconPixmap")
        begun = time.perf_counter()
        (actions.resume if turn % 2 else actions.pause)(paths)
        panel.wait(lambda: panel.seen()["NewIcon"])
        assert panel.get("IconPixmap") != before
        times.append(time.perf_counter() - begun)
    print(f"  state to colour: median {statistics.median(times) * 1e3:.0f} ms, worst {max(times) * 1e3:.0f} ms   (at most 300)")


def quiet(paths: Paths, panel: Panel, process: subprocess.Popen[bytes]) -> None:
    """What an app costs that has nothing to do."""
    actions.pause(paths)
    panel.settled()
    before = woken(process.pid)
    time.sleep(QUIET)
    resident, private = memory(process.pid)
    print(f"  woken in {QUIET:.0f} s paused: {woken(process.pid) - before} times   (at most 1, the look once a minute)")
    print(f"  app: {resident:.1f} MB resident, {private:.1f} MB of it its own   (at most 40)")


def woken(pid: int) -> int:
    """How often any thread of a process has gone to sleep."""
    found = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        found += int(status.read_text().partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return found


def main() -> None:
    """All figures of this file."""
    print(f"tray, {JOBS:,} jobs queued")
    with app() as (paths, panel, process):
        menu(panel)
        colour(paths, panel)
        quiet(paths, panel, process)


if __name__ == "__main__":
    main()
