"""A campaign of random kills against one queue folder, and the audit after it. Fixed seeds; the moments follow the jobs'
progress, not the clock, so that there are as many kills on a slow machine as on a quick one.

Each job leaves two lines in a witness file, and its children hold two locks as long as any of them lives: one of the folder
(no two jobs at once) and one of the job (no two copies of it, even with a fault that lets two jobs run).
"""

import random
import subprocess
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from harness import App, Home, eventually

JOB = """
exec 8>>lock 9>>"lock-$SLOTHTRAY_JOB"
flock -n 8; [ $? != 1 ] || echo "$SLOTHTRAY_RUN: another job is alive" >> overlaps
flock -n 9; [ $? != 1 ] || echo "$SLOTHTRAY_RUN: another copy is alive" >> overlaps
echo "S $SLOTHTRAY_JOB" >> witness
{work}
echo "E $SLOTHTRAY_JOB" >> witness
exit {code}
"""
WORK = (":", "sleep {0}", "sleep {0} & wait", "(setsid sleep {0}); sleep 0.01", "for i in 1 2 3; do sleep 0.01; done")
CODES = (*[0] * 17, 1, 42, 255)
"""Most are 0: a failure is watched for 0.5 s before it is believed."""
SECONDS = (0.01, 0.05, 0.1, 0.2)
LINES = 2
"""Lines that a job leaves in the witness file when it runs once."""


class Plan(NamedTuple):
    """What a campaign does. ``lives``: an app is killed after so many more lines in the witness file, from 0 to this."""

    seed: int
    jobs: int
    lives: int


class Campaign:
    """Queue the jobs, kill the app until all are over, then look at what is left."""

    def __init__(self, home: Home, plan: Plan) -> None:
        self.home, self.plan = home, plan
        self.random = random.Random(plan.seed)
        self.kills: Counter[str] = Counter()
        self.codes = dict(self._queue() for _ in range(plan.jobs))

    def _queue(self) -> tuple[int, int]:
        code = self.random.choice(CODES)
        work = self.random.choice(WORK).format(self.random.choice(SECONDS))
        command = JOB.format(work=work, code=code)
        return self.home.enqueue(command, priority=self.random.randrange(-1, 2)), code

    def run(self, also: Callable[["Campaign", App], None] | None = None) -> None:
        """Start apps and kill them until every job is over. ``also`` is called in each life, for more mischief."""
        while not self.over():
            app = self.home.start(ready=False)  # it may be killed before it is
            if also is not None:
                also(self, app)
            self._live(app)
            alive = app.process.poll() is None
            app.kill()
            self.kills["app"] += alive and not self.over()
            self.kills["at work"] += alive and self._count("state = 'running'") > 0

    def _live(self, app: App) -> None:
        """Let it get so far, and a random moment further."""
        goal = self._progress() + self.random.randint(0, self.plan.lives)
        at_work = self.random.random() < 0.5  # else anywhere
        goal += at_work and goal % LINES == 0
        moment = self.random.uniform(0, 0.01 if at_work else 0.2)
        eventually(lambda: self._progress() >= goal or self.over() or app.process.poll() is not None, "the jobs go on")
        try:
            app.process.wait(moment)
        except subprocess.TimeoutExpired:
            return

    def _progress(self) -> int:
        return len(self.home.wrote("witness").splitlines())

    def over(self) -> bool:
        """Whether every job has come to an end, in the database too."""
        if self._progress() < LINES * self.plan.jobs:
            return False
        return self._count("state IN ('pending', 'running')") == 0

    def _count(self, what: str) -> int:
        with self.home.read() as connection:
            (count,) = connection.execute(f"SELECT count(*) FROM jobs WHERE {what}").fetchone()
        connection.close()
        return int(count)

    # --- the audit ----------------------------------------------------------------------------------------------------------

    def audit(self, *, repeats: bool = False) -> None:
        """Fail unless each job has ended exactly once, with its own exit code, and no two copies of anything met.

        ``repeats``: supervisors were killed too, so a job may have been run again; each time must have been announced. Without
        it a run is reclaimed only when the app was killed between the claim and the making of its record: nothing had run.
        """
        assert self.home.wrote("overlaps") == ""
        assert self.home.processes() == []
        witness = Counter(self.home.wrote("witness").splitlines())
        for number, code in self.codes.items():
            kinds = self.home.kinds(number)
            again = kinds.count("reclaimed")
            assert (self.home.row(number), self.home.row(number, "exit_code")) == ("failed" if code else "done", code), kinds
            assert 1 <= witness[f"E {number}"] <= witness[f"S {number}"] <= (1 + again if repeats else 1), kinds
            assert sum(kind in ("done", "failed", "cancelled", "held") for kind in kinds) == 1, kinds
            assert kinds.count("claimed") == 1 + again + kinds.count("unstarted"), kinds
            assert self.home.row(number, "attempts") == 1 + again
