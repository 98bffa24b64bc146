"""An app with a planted fault: ``python faults.py NAME ... run OPTIONS`` is `slothtray run OPTIONS` with that in its code.

The faults are in the very code that runs, and nothing of the product knows of them.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import mutants

import slothtray
from slothtray.__main__ import main
from slothtray.cli.commands import run
from slothtray.runner import loop, settle, step
from slothtray.system import launcher, records

LOADED = (run, loop, settle, step, launcher, records)
"""Modules that hold what is exchanged: they are loaded before."""


class Exchange(NamedTuple):
    """One text for another, in ``module:function`` or in the supervisor's program."""

    where: str
    before: str
    after: str


SUPERVISOR = "supervisor"
FAULTS = {
    "a held lock counts as dead": (Exchange("policy:verdict", "return Verdict.ADOPT", "return Verdict.RECLAIM"),),
    "the supervisor takes the lock itself": (
        Exchange("system.records:create", "        lock(descriptor)\n", ""),
        Exchange(
            SUPERVISOR,
            "    record = Record(record_descriptor)\n",
            "    import fcntl\n    fcntl.flock(record_descriptor, fcntl.LOCK_EX)\n    record = Record(record_descriptor)\n",
        ),
    ),
    "nothing is swept": (
        Exchange("runner.settle:_by_sweep", "processes.sweep(str(job.run), record)", "processes.Swept((), ())"),
    ),
    "the claim is recorded after the start": (
        Exchange(
            "runner.step:Runner._claim_and_launch",
            '        crash_point("claiming")\n    crash_point("claimed")\n'
            "    return job if job is not None and self._launch(job, captured) else None\n",
            "        launched = job is not None and self._launch(job, captured)\n    return job if launched else None\n",
        ),
    ),
    "an add is synced but for its last step": (
        Exchange("store.connection:Database.__init__", "synchronous=EXTRA", "synchronous=NORMAL"),
    ),
    "the result is not synced": (Exchange(SUPERVISOR, "        os.fsync(self._descriptor)\n", ""),),
}


class Planting:
    """For ``mutants.plant``: what is set stays as long as this process lives."""

    setattr = staticmethod(setattr)


def plant(name: str) -> None:
    """Put a fault into the modules of this process."""
    for where, before, after in FAULTS[name]:
        if where == SUPERVISOR:
            launcher.Launcher.__init__.__defaults__ = (supervisor_with(before, after), None)
        else:
            mutants.plant(Planting, where, before, after)


def supervisor_with(before: str, after: str) -> str:
    """The path of a supervisor's program in which one text is another. It is read once, at the app's start."""
    program = Path(slothtray.__file__).with_name("supervisor.py").read_text()
    with tempfile.NamedTemporaryFile("w", suffix="-supervisor.py", delete=False) as file:
        file.write(mutants.exchanged(program, before, after))
    return file.name


if __name__ == "__main__":
    plant(sys.argv[1])
    sys.argv[1:] = sys.argv[sys.argv.index("run") :]
    sys.exit(main())
