"""Adds under power cuts: each that was acknowledged must be there. ``python adds.py FOLDER COUNT [FAULT]`` does them, one by one.

The cuts come out of a recording of that, so there can be as many as one likes, at any moment between two system calls.
"""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from platter import Disk, restore
from recording import Operation, operations, recorder

from slothtray import actions
from slothtray.paths import Paths
from slothtray.store import Queue
from slothtray.store.adding import NewJob

FATES = ("nothing", "everything", "some of it")
"""What has reached the disk of what was not synced."""


class Cuts(NamedTuple):
    """Figures: the acknowledged adds that were looked for, over all cuts, and what is wrong."""

    cuts: int
    looked_for: int
    findings: list[str]


def keeper(fate: str, chance: random.Random):
    """What decides of each such write."""
    return {"nothing": lambda: False, "everything": lambda: True, "some of it": lambda: chance.random() < 0.5}[fate]


def recorded(folder: Path, count: int, fault: str = "") -> list[Operation]:
    """So many adds, recorded."""
    log = folder.with_suffix(".trace")
    folder.mkdir()
    words = [sys.executable, __file__, str(folder), str(count), *([fault] if fault else [])]
    path = os.pathsep.join(sys.path)
    subprocess.run([*recorder(log), *words], env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.DEVNULL, check=True)
    return operations(log, folder)


def cut(folder: Path, done: list[Operation], seed: int, cuts: int) -> Cuts:
    """Cut the power at so many random moments of a recording, and look for what was acknowledged until then."""
    chance = random.Random(seed)
    moments = sorted(chance.randrange(len(done)) for _ in range(cuts))
    disk, acknowledged, findings, looked_for = Disk(), [], [], 0
    for place, operation in enumerate(done):
        while moments and moments[0] == place:
            moments.pop(0)
            fate = chance.choice(FATES)
            restored(disk, keeper(fate, chance), folder)
            findings += [f"cut at {place} of {len(done)}, {fate} kept: {what}" for what in missing(folder / "queue", acknowledged)]
            looked_for += len(acknowledged)
        disk.take(operation)
        if operation.path == str(folder / "acknowledged") and operation.kind == "append":
            acknowledged.append(int(operation.data))
    return Cuts(cuts, looked_for, findings)


def restored(disk: Disk, keep, folder: Path) -> None:
    """Put what is found after the cut into the folder's place."""
    shutil.rmtree(folder)
    folder.mkdir()
    restore(disk.after_cut(keep), folder)


def missing(folder: Path, acknowledged: list[int]) -> list[str]:
    """What is wrong with the database that is found."""
    try:
        with Queue(Paths(str(folder)).database) as queue:
            found = {row["id"]: row["command"] for row in queue.database.rows("SELECT id, command FROM jobs")}
            damage = [row[0] for row in queue.database.rows("PRAGMA integrity_check") if row[0] != "ok"]
    except Exception as error:
        return [f"unreadable: {error}"]
    return damage + [f"job {number} is lost" for number in acknowledged if found.get(number) != f'"echo {number}"']


def add_all(folder: Path, count: int) -> None:
    """Add, and acknowledge each by a line as soon as the add has returned."""
    said = os.open(folder / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in range(1, count + 1):
        job = NewJob(f"echo {number}", ("/bin/sh", "-c", f"echo {number}"), env={})
        (given,) = actions.add(Paths(str(folder / "queue")), [job]).ids
        os.write(said, b"%d\n" % given)


if __name__ == "__main__":
    if sys.argv[3:]:
        import faults

        faults.plant(sys.argv[3])
    add_all(Path(sys.argv[1]), int(sys.argv[2]))
