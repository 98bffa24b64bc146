"""What is counted, not timed: wake-ups, syncs, the work of a claim, the modules of an `add`."""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import eventually

from slothtray import bell
from slothtray.clock import ManualClock
from slothtray.config import Watched, defaults
from slothtray.paths import Paths
from slothtray.runner import Runner
from slothtray.store import Queue, claim, person, reading, status
from slothtray.system import folder

# --- wake-ups ----------------------------------------------------------------------------------------------------------------

WINDOW = 4.0
WINDOWS = 3


def switches(pid):
    """How often the threads of a process have gone to sleep: each wake-up ends with one more."""
    texts = [(thread / "status").read_text() for thread in Path(f"/proc/{pid}/task").iterdir()]
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.MULTILINE)[1]) for text in texts)


def resting(pid):
    """A condition: whether a process has not woken up since it was last asked, 0.3 s ago."""
    seen = [-1]

    def at_rest():
        time.sleep(0.3)
        seen.append(switches(pid))
        return seen[-1] == seen[-2]

    return at_rest


def test_an_idle_app_does_not_wake_up_between_its_looks(homes):
    apps = {}
    for ceiling in ("off", "2"):
        home = homes()
        number = home.add("true")
        apps[ceiling] = home.start(ceiling=ceiling)
        home.wait_for(number, "done")
    # Just after a ring the next look is a minute away. The best of three: a page that was swapped out is no wake-up of ours.
    counts = {ceiling: [] for ceiling in apps}
    for _ in range(WINDOWS):
        for ceiling, app in apps.items():
            assert bell.ring(app.home.paths)
            eventually(resting(app.process.pid), "it comes to rest")
            counts[ceiling].append(-switches(app.process.pid))
        time.sleep(WINDOW)  # the time is what is asked about
        for ceiling, app in apps.items():
            counts[ceiling][-1] += switches(app.process.pid)
        if all(0 in found for found in counts.values()):
            return
    pytest.fail(f"they woke up so often in {WINDOW} s each: {counts}")


def test_an_app_that_has_nothing_to_do_looks_again_after_a_minute_and_not_before(tmp_path):
    paths = Paths(str(tmp_path / "queue"))
    folder.prepare(paths)
    clock = ManualClock()
    with Queue(paths.database, clock) as queue:
        runner = Runner(paths, Watched(paths.config, defaults(1.0)), "machine", lambda: None, clock=clock)
        assert [runner.step() for _ in range(3)] == [60.0] * 3  # empty
        later = queue.add("true", delay=3600)
        assert runner.step() == 60.0  # nothing is due for an hour
        clock.advance(3590)
        assert runner.step() == 10.0
        with queue.database.write():
            status.set_pause(queue.database, clock.wall(), None)
        clock.advance(20)
        assert [runner.step() for _ in range(3)] == [60.0] * 3  # due, and paused until a ring
        queue.add("true", delay=20)
        assert runner.step() == 20.0
        with queue.database.write():
            person.hold(queue.database, later.id, clock.wall())
        assert runner.step() == 20.0  # what is held is never due
        runner.close()


# --- syncs -------------------------------------------------------------------------------------------------------------------


def test_an_add_has_synced_the_database_and_its_folder_before_it_prints_the_id(home, tmp_path):
    home.run("list")
    strace = shutil.which("strace")
    assert strace, "strace is missing: apt install strace"
    trace = tmp_path / "trace"
    words = [strace, "-f", "-y", "-o", str(trace), "-e", "trace=fsync,fdatasync,write,sendto,sendmsg"]
    done = subprocess.run(
        [*words, sys.executable, "-m", "slothtray", "add", "true"],
        env=home.environment, cwd=home.work, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    lines = trace.read_text().splitlines()
    printed = next(i for i, line in enumerate(lines) if re.search(r'write\(1<[^>]*>, "1', line))
    synced = [line for line in lines[:printed] if re.search(r"f(data)?sync\(", line) and line.endswith("= 0")]
    assert done.stdout == "1\n"
    assert any(f"<{home.path}/queue.db>" in line for line in synced), synced
    assert any(f"<{home.path}/queue.db-journal>" in line for line in synced), synced


# --- the work of a claim -----------------------------------------------------------------------------------------------------

DEFERRED = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO jobs (state, command, argv, cwd, umask, priority, not_before, after, backoff, created_at)
SELECT 'pending', '"later"', '["true"]', '"/"', 63, i % 5, ? + i,
       CASE i % 7 WHEN 0 THEN 1 END, CASE i % 11 WHEN 0 THEN 2.0 END, 0 FROM n
"""


@pytest.fixture
def steps(tmp_path):
    """Counts the steps of SQLite's machine for one piece of work beside so many deferred jobs, in five priorities."""

    def count(deferred, work, *, due=True):
        clock = ManualClock()
        with Queue(str(tmp_path / f"{work.__name__}-{deferred}-{due}" / "queue.db"), clock) as queue:
            with queue.database.write():
                queue.database.execute(DEFERRED, (deferred, clock.wall()))
            if due:
                queue.add("due", priority=-3)
            counter = [0]
            queue.database.count_steps(counter)
            with queue.database.write():
                found = work(queue.database, clock)
            return found, counter[0]

    return count


def take(database, clock):
    job = claim.take(database, claim.Claimant("token", clock.boot_id(), clock.awake() + 60), clock.wall())
    return job and job.command


def look(database, clock):
    return reading.outlook(database, clock.wall()).due


@pytest.mark.parametrize("work", [take, look], ids=["claim", "look"])
@pytest.mark.parametrize("due", [True, False], ids=["one is due", "none is due"])
def test_a_claim_looks_at_no_more_rows_with_a_hundred_thousand_deferred_jobs_than_with_ten(steps, work, due):
    few, many = steps(10, work, due=due), steps(100_000, work, due=due)
    assert few[0] == many[0]
    assert bool(few[0]) == due
    assert many[1] == few[1]
    assert few[1] < 1000


# --- the modules of an add ---------------------------------------------------------------------------------------------------

ADD_IMPORTS = {
    *("slothtray", "slothtray.__main__", "slothtray.actions", "slothtray.bell", "slothtray.clock", "slothtray.durations"),
    *("slothtray.environment", "slothtray.errors", "slothtray.paths", "slothtray.private", "slothtray.states"),
    *("slothtray.cli", "slothtray.cli.commands", "slothtray.cli.commands.add", "slothtray.cli.main", "slothtray.cli.parser"),
    *("slothtray.cli.streams", "slothtray.cli.table"),
    *("slothtray.store", "slothtray.store.adding", "slothtray.store.changes", "slothtray.store.claim", "slothtray.store.connection"),
    *("slothtray.store.queue", "slothtray.store.rows", "slothtray.store.schema"),
}
TOO_HEAVY = {
    *("asyncio", "ctypes", "dataclasses", "difflib", "hashlib", "importlib.metadata", "inspect", "logging", "pathlib", "random"),
    *("shlex", "shutil", "signal", "subprocess", "tempfile", "threading", "tomllib", "traceback", "typing", "unittest", "urllib"),
    *("PIL", "jeepney", "platformdirs", "plyer", "psutil", "pyperclip", "pystray"),
}
"""From 1 to 40 ms each. ``datetime`` is not avoidable: sqlite3 itself imports it."""


def loaded(code, words, home):
    """The modules that are there at the end of some Python code."""
    told = f"{code}; import sys; print('modules:', *sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", told, *words], env=home.environment, cwd=home.work, capture_output=True, text=True, check=True
    )
    return set(done.stderr.split("modules:")[1].split())


def test_an_add_imports_these_modules_of_ours_and_nothing_heavy(home):
    home.run("list")
    words = ["add", "-p", "5", "-t", "2h", "make -j4"]
    modules = loaded("from slothtray.__main__ import main; main()", words, home) - loaded("pass", [], home)
    assert home.row(1, "priority") == 5
    assert {name for name in modules if name.split(".")[0] == "slothtray"} == ADD_IMPORTS
    assert not modules & TOO_HEAVY
    assert {"argparse", "sqlite3"} <= modules  # the look itself works


EVERY_COMMAND = [
    *(["list"], ["list", "--json"], ["show", "1"], ["why", "1"], ["log", "1", "--path"], ["hold", "1"], ["release", "1"], ["edit", "1", "-p", "3"]),
    *(["pause"], ["resume"], ["start", "1"], ["cancel", "1"], ["retry", "1"], ["prune", "--dry-run"], ["config"], ["wait", "1", "--timeout", "0"]),
    *(["run", "--until-empty", "--ceiling", "off"], ["--help"]),
]
ALL_IN_ONE = """
import contextlib
from slothtray.cli.main import _dispatch
from slothtray.errors import SlothtrayError
for words in {commands}:
    with contextlib.suppress(SlothtrayError):
        _dispatch(words)
pass"""


def test_no_command_but_the_tray_app_itself_imports_what_draws_an_icon(home):
    home.add("true")
    modules = loaded(ALL_IN_ONE.format(commands=EVERY_COMMAND), [], home)
    assert home.row(1) == "done"
    assert "slothtray.runner.loop" in modules  # the look itself works
    assert not {name for name in modules if name.startswith(("pystray", "PIL"))}
