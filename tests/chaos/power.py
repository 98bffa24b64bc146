"""Power cuts while jobs run: a small campaign that kills the app is recorded, then the power is cut in the recording, at many moments.

After each cut the folder is made as a disk may hold it then (platter.py), and an app is started on it in another boot: its boot id is
another one, no process and no lock is left. A repeat must be announced; none may be of a run whose supervisor had ended.
"""

import random
import shutil
import subprocess
import uuid
from collections import Counter
from pathlib import Path

import campaign
from adds import FATES, keeper
from audit import Tally, audit
from campaign import CONFIG, Plan
from harness import Home
from platter import Disk, restore
from private import in_namespace
from recording import Operation, operations, recorder
from shapes import SHAPES, shapes_of
from witness import Witness

BOOT_ID = "/proc/sys/kernel/random/boot_id"
SOON = 8
"""Operations after a supervisor's end in which the app has hardly made anything of it: the cuts that matter most are there."""
LIMIT = 60.0


def recorded(folder: Path, plan: Plan, limit: float = 140.0) -> list[Operation]:
    """The campaign of this plan, and all that it did to its folder."""
    folder.mkdir()
    log = folder.with_suffix(".trace")
    words = (str(folder / "queue"), *map(str, plan))
    in_namespace(campaign.live, *words, limit=limit, under=recorder(log))
    return operations(log, folder)


def live(folder: str, seed: str, jobs: str, cuts: str) -> dict:
    """Cut the power in what was recorded there, for ``in_namespace``: the tally of all cuts."""
    return PowerCuts(Path(folder), int(seed), int(jobs)).run(int(cuts))._asdict()


class PowerCuts:
    """One recording and its cuts. Looks like a campaign to the audit."""

    cut_short = False

    def __init__(self, folder: Path, seed: int, jobs: int) -> None:
        self.folder, self.plan = folder, Plan("power", seed, jobs, 0)
        self.done = operations(folder.with_suffix(".trace"), folder)
        self.shapes = dict(enumerate(shapes_of(jobs, random.Random(seed)), 1))
        self.chance = random.Random(seed)
        self.kills: Counter[str] = Counter()
        self.complaints: list[str] = []
        self.home, self.witness = Home(folder / "queue"), Witness(folder / "queue-work")
        self._boot = folder.with_suffix(".boot")
        self._boot.write_text(f"{uuid.uuid4()}\n")
        subprocess.run(["mount", "--bind", self._boot, BOOT_ID], check=True)

    def run(self, cuts: int) -> Tally:
        """All of them; their figures together."""
        moments = self._moments(cuts)
        disk, tallies, seen = Disk(), [], Seen(self.folder)
        for place, operation in enumerate(self.done):
            if place in moments:
                tallies.append(self._cut(disk, place, moments[place], seen))
            disk.take(operation)
            seen.take(operation)
        return added_up(tallies)

    def _moments(self, cuts: int) -> dict[int, str]:
        """Where to cut, and what is kept there of what was not synced.

        Half of them right after a supervisor's end, and nothing is kept: its result must be durable by then. The others anywhere
        after the jobs were queued.
        """
        seen, ends = Seen(self.folder), []
        for place, operation in enumerate(self.done):
            before = len(seen.over)
            seen.take(operation)
            ends += [place] if len(seen.over) > before else []
        queued = next(place for place, one in enumerate(self.done) if one.path.startswith(f"{self.folder}/queue/runs"))
        anywhere = {self.chance.randrange(queued, len(self.done)): self.chance.choice(FATES) for _ in range(cuts // 2)}
        return anywhere | {end + self.chance.randrange(1, SOON): FATES[0] for end in self.chance.choices(ends, k=(cuts + 1) // 2)}

    def _cut(self, disk: Disk, place: int, fate: str, seen: "Seen") -> Tally:
        self._become(disk.after_cut(keeper(fate, self.chance)), seen)
        self.complaints = []
        app = self.home.start("--until-empty", ready=False)
        if app.wait(LIMIT) not in (0, 1):
            self.complaints.append(f"the app ended with {app.process.returncode}: {app.said()[-500:]}")
        campaign.patiently(lambda: not self.home.processes(), 10.0)
        self.complaints += self._forgotten(seen)
        tally = audit(self)
        where = f"cut at {place} of {len(self.done)}, {fate} kept"
        return tally._replace(kills={"power": 1}, findings=[f"{finding} ({where})" for finding in tally.findings])

    def _become(self, image: dict[str, bytes | None], seen: "Seen") -> None:
        """Put the folders into the state in which they are found after the cut, in a new boot."""
        for path in (self.home.path, self.home.work):
            shutil.rmtree(path)
        self.home.work.mkdir()
        restore(image, self.home.path)
        self.home.path.mkdir(mode=0o700, exist_ok=True)
        (self.home.path / "config.toml").write_text(CONFIG)
        (self.home.work / "witness").write_bytes(b"".join(seen.words))
        self.witness = Witness(self.home.work)
        self._boot.write_text(f"{uuid.uuid4()}\n")

    def _forgotten(self, seen: "Seen") -> list[str]:
        """Jobs that were begun anew though the supervisor of their only run had ended before the cut."""
        before = len(seen.words)
        again = {line.job for line in self.witness.words()[before:] if line.kind == "S"}
        return [
            f"forgotten result: job {job} was run again after run {run} had ended"
            for run in seen.over
            if (job := int(run.partition("-")[0])) in again and SHAPES[self.shapes[job]].attempts == 1
        ]


class Seen:
    """What had happened in the recording until the cut: what the jobs had said, and the runs whose supervisors were gone."""

    def __init__(self, folder: Path) -> None:
        self._runs, self._witness = f"{folder}/queue/runs/", f"{folder}/queue-work/witness"
        self._ending: dict[int, str] = {}
        self.words: list[bytes] = []
        self.over: list[str] = []

    def take(self, operation: Operation) -> None:
        """One more operation."""
        if operation.path == self._witness and operation.kind == "append":
            self.words.append(operation.data)
        elif operation.path.startswith(self._runs) and operation.data.startswith(b'{"k":"X","why":"exit"'):
            self._ending[operation.pid] = operation.path.removeprefix(self._runs)
        elif operation.kind == "exit" and operation.pid in self._ending:
            self.over.append(self._ending.pop(operation.pid))


def added_up(tallies: list[Tally]) -> Tally:
    """The figures of all cuts together; ``jobs`` are those that each had to see to their end."""
    names = ("jobs", "adoptions", "announced", "repeats", "unannounced", "lost", "overlaps", "wrong")
    sums = {name: sum(getattr(tally, name) for tally in tallies) for name in names}
    findings = [finding for tally in tallies for finding in tally.findings]
    return Tally(target="power", kills={"power": sum(tally.kills["power"] for tally in tallies)}, findings=findings, **sums)
