"""A campaign of random SIGKILLs against one queue folder: on the app, on supervisors, or on both at once.

The seed is fixed and the moments follow the jobs' progress, not the clock, so that there are as many kills on a slow machine as on
a quick one. It must run in a PID namespace of its own (tests/private.py): it kills by what it finds in the process table.
"""

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from audit import Tally, audit
from harness import App, Home, command_line
from shapes import LINES, SHAPES, command, shapes_of
from witness import Witness

from slothtray import actions, private, supervisor
from slothtray.store.adding import NewJob

CONFIG = 'backoff_cap = "1s"\nkill_grace = "0.2s"\n'
POLL = 0.002
PATIENCE = 90.0
"""Seconds without any progress after which a campaign gives up: what is not over by then is lost."""
KILLS_A_JOB = 2
"""Supervisors killed under one job at most: the third attempt in a row that never begins is held, as it is meant to be."""
BATCH = 100
MORE = 5
"""Jobs that are queued when all are over and there were too few kills."""
FROZEN = {True: 0.7, False: 0.2}
"""How many of the app's deaths a supervisor sleeps through, near its own start or later."""
MOMENTS = {
    "app": ("record", "birth", "line", "line", "anywhere"),
    "supervisor": ("record", "birth", "line", "line", "line", "line", "anywhere"),  # before its birth's end there is little to lose
}
SPANS = {"record": 0.05, "birth": 0.02, "line": 0.05, "anywhere": 0.25}
"""Seconds in which a kill comes after what is waited for: a new run record, a new supervisor, a line of a job, nothing at all."""


class Plan(NamedTuple):
    """What a campaign does: it kills ``target`` ("app", "supervisor" or "both"). ``lines``: at most so many more of them in the
    witness file from one kill to the next. ``fault``: what is broken in the app (faults.py). ``kills``: more jobs are queued until
    there were so many.
    """

    target: str
    seed: int
    jobs: int
    lines: int
    fault: str = ""
    kills: int = 0


class Campaign:
    """Queue the jobs, kill until all are over, then look at what is left. ``tell`` hears how far it is."""

    def __init__(self, home: Home, plan: Plan, tell: Callable[["Campaign"], None] = lambda _: None) -> None:
        self.home, self.plan, self.tell = home, plan, tell
        self.chance = random.Random(plan.seed)
        self.kills: Counter[str] = Counter()
        self.complaints: list[str] = []
        self.witness = Witness(home.work)
        self._app: App | None = None
        self._near_start = False
        self._suffered: Counter[str] = Counter()
        self._looked = 0.0
        self._over = False
        self.cut_short = False
        """It ended before all jobs had: what is not over says nothing."""
        self._moved = time.monotonic()
        self.shapes: dict[int, str] = {}
        private.make_folder(str(home.path))
        (home.path / "config.toml").write_text(CONFIG)
        self._queue(plan.jobs)

    def run(self) -> Tally:
        """Kill until every job is over; what is left then."""
        while not self.over():
            self._strike()
            self.tell(self)
        if not self.cut_short:
            patiently(lambda: not self.home.processes(), 10.0)  # daemons that were meant to stay
        return audit(self)

    # --- the jobs -----------------------------------------------------------------------------------------------------------

    def _queue(self, count: int) -> None:
        names = shapes_of(count, self.chance)
        for start in range(0, len(names), BATCH):
            batch = names[start : start + BATCH]
            ids = actions.add(self.home.paths, [self._job(name) for name in batch]).ids
            self.shapes.update(zip(ids, batch, strict=True))

    def _job(self, name: str) -> NewJob:
        text = command(name, self.chance)
        return NewJob(
            text, ("/bin/sh", "-c", text), cwd=str(self.home.work), env=self.home.environment, label=name,
            priority=self.chance.randrange(-1, 2), max_attempts=SHAPES[name].attempts,
        )  # fmt: skip

    def over(self) -> bool:
        """Whether every job has come to an end in the database, too; or a planted fault has shown; or nothing moves any more."""
        near = self.witness.lines() >= LINES * len(self.shapes)
        if not self._over and time.monotonic() > self._looked + (0.1 if near else 2.0):
            self._looked = time.monotonic()
            self._release_held()
            self._over = not self._rows("state IN ('pending', 'running', 'held')") and not self._too_few_kills()
        self.cut_short = self.cut_short or (bool(self.plan.fault) and self._fault_shows())
        if not self._over and not self.cut_short and self._stuck():
            self._complain(f"lost: nothing has moved for {PATIENCE:.0f} s")
        return self._over or self.cut_short

    def _too_few_kills(self) -> bool:
        """Whether it takes more jobs; they are queued then."""
        few = self.kills["app"] + self.kills["supervisor"] < self.plan.kills
        if few:
            self._queue(MORE)
        return few

    def _fault_shows(self) -> bool:
        if self.plan.target != "app":
            return self.witness.overlapped()
        return self.witness.overlapped() or any(SHAPES[self.shapes[job]].attempts == 1 for job in self.witness.repeated())

    def _stuck(self) -> bool:
        if self.witness.grown():
            self._moved = time.monotonic()
        return time.monotonic() - self._moved > PATIENCE

    def _complain(self, finding: str) -> None:
        """What ends the campaign."""
        self.complaints.append(finding)
        self.cut_short = True

    def _release_held(self) -> None:
        """Do what a person does with a job that could not be started three times in a row; any other hold is a finding."""
        for number, reason in self._rows("state = 'held'"):
            if not reason.startswith("could not be started"):
                self._complain(f"held: job {number}: {reason}")
            self.kills["released"] += 1
            self.home.run("release", str(number))

    def _rows(self, where: str) -> list[tuple[int, str]]:
        connection = self.home.read()
        found = connection.execute(f"SELECT id, reason FROM jobs WHERE {where}").fetchall()
        connection.close()
        return found

    # --- the kills ----------------------------------------------------------------------------------------------------------

    def _strike(self) -> None:
        """One life: an app that lives, a moment that comes, a kill."""
        app = self._living_app()
        self._moment()
        if self.over():
            return
        if self.plan.target == "supervisor":
            self._kill_supervisors()
        elif self.plan.target == "both":
            self._kill_both(app)
        else:
            with self._frozen_supervisor():
                self._kill_app(app)
                self._living_app()

    def _kill_both(self, app: App) -> None:
        """One right after the other: that one can only have begun to see what has happened."""
        before = self.kills["supervisor"]
        kills = [lambda: self._kill_app(app), self._kill_supervisors]
        self.chance.shuffle(kills)
        kills[0]()
        self._wait(lambda: False, self.chance.choice((0.0, 0.0, 0.01, 0.05)))
        kills[1]()
        self.kills["both"] += self.kills["supervisor"] > before

    def _living_app(self) -> App:
        if self._app is not None and self._app.process.poll() is not None:
            if self._app.process.returncode != -signal.SIGKILL:
                self._complain(f"the app ended by itself with {self._app.process.returncode}: {self._app.said()[-500:]}")
            self._app = None
        if self._app is None:
            self._app = self.home.start(ready=False, prefix=self._prefix())  # it may be killed before it is ready
        return self._app

    def _prefix(self) -> list[str]:
        faults = Path(__file__).with_name("faults.py")
        return [sys.executable, str(faults), self.plan.fault] if self.plan.fault else []

    def _kill_app(self, app: App) -> None:
        alive = app.process.poll() is None
        app.kill()
        self.kills["app"] += alive

    def _kill_supervisors(self) -> None:
        """Those whose job has not suffered enough."""
        for pid, job in supervisors():
            if self._suffered[job] < KILLS_A_JOB and killed(pid):
                self._suffered[job] += 1
                self.kills["supervisor"] += 1

    @contextmanager
    def _frozen_supervisor(self) -> Iterator[None]:
        """Now and then a supervisor stands still over a kill, as on a machine that swaps."""
        asleep = self.chance.random() < FROZEN[self._near_start]
        frozen = supervisors() if asleep else []
        for pid, _ in frozen:
            send(pid, signal.SIGSTOP)
        try:
            yield
            if frozen and self._app is not None:
                app, until = self._app, self.witness.lines() + 1
                self._wait(lambda: app.holds_folder() or app.process.poll() is not None, 5.0)
                self._wait(lambda: self.witness.lines() >= until, 0.3)
        finally:
            for pid, _ in frozen:
                send(pid, signal.SIGCONT)

    # --- the moments --------------------------------------------------------------------------------------------------------

    def _moment(self) -> None:
        """Wait for the next moment to kill at: near a start, near a line in the witness file, or anywhere."""
        kind = self.chance.choice(MOMENTS["app" if self.plan.target == "app" else "supervisor"])
        goal = self.witness.lines() + self.chance.randint(0, self.plan.lines)
        self._wait(lambda: self.witness.lines() >= goal)
        look = {"record": self._records, "birth": supervisors}.get(kind)
        if look is not None:
            before = look()
            self._wait(lambda: look() not in (before, []))
        self._wait(lambda: False, self.chance.uniform(0, SPANS[kind]))
        self._near_start = look is not None

    def _records(self) -> int:
        """Changes with each run record that is made."""
        try:
            return os.stat(self.home.paths.runs).st_mtime_ns
        except OSError:
            return 0

    def _wait(self, condition: Callable[[], bool], limit: float = 20.0) -> None:
        """Until the condition, or until all is over; not longer than ``limit`` seconds."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline and not condition() and not self.over():
            time.sleep(POLL)


def live(folder: str, *plan: str) -> dict:
    """A whole campaign, for ``in_namespace``: its tally. ``plan``: as in ``Plan``, all words."""
    target, seed, jobs, lines, fault, kills = plan
    home = Home(Path(folder))
    try:
        return Campaign(home, Plan(target, int(seed), int(jobs), int(lines), fault, int(kills))).run()._asdict()
    finally:
        home.close()


def patiently(condition: Callable[[], bool], limit: float) -> None:
    """Wait for the condition, not longer than ``limit`` seconds."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline and not condition():
        time.sleep(POLL)


def supervisors() -> list[tuple[int, str]]:
    """The supervisors of this namespace, from their very birth on, each with the id of its job.

    Not their children: between fork and exec a job looks like its supervisor, and killed there it has failed by that.
    """
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    alike = {pid for pid in pids if " -I -S -B /proc/self/fd/" in command_line(pid)}
    return [(pid, job_of(pid)) for pid in sorted(alike) if supervisor.stat_number(pid, supervisor.PARENT) not in alike]


def job_of(pid: int) -> str:
    """The job in a process's cookie, or ""."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    cookie = next((one for one in variables if one.startswith(b"SLOTHTRAY_RUN=")), b"=")
    return cookie.partition(b"=")[2].partition(b"-")[0].decode()


def send(pid: int, number: int) -> bool:
    """Signal a process; False when it is gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def killed(pid: int) -> bool:
    """SIGKILL a process and see it die; False when it was gone before."""
    try:
        pinned = os.pidfd_open(pid)
        signal.pidfd_send_signal(pinned, signal.SIGKILL)
    except ProcessLookupError:
        return False
    os.close(pinned)
    return True
