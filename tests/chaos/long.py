"""Long campaigns on the terminal, one after the other, and the table at the end: what `dev.py chaos` runs.

Each is in a PID namespace of its own, so that it can kill by what it finds; the folder of one that has found something is kept.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import adds
import power
from audit import Tally
from campaign import Campaign, Plan
from harness import Home
from private import INIT, UNSHARE, in_namespace

LINES = {"app": 4, "supervisor": 4, "both": 2}
"""At most so many lines of the witness from one kill to the next: so 1,500 jobs see 300 to 500 kills and more."""
RECORDED, CUTS = 10, 15
"""Jobs of each campaign that is recorded for power cuts, and the cuts in it."""
ADDS, ADD_CUTS = 250, 2000
HEADINGS = ("killed", "jobs", "kills", "adoptions", "repeats announced", "repeats seen", "overlaps", "lost", "wrong exit codes")
EVERY = 10.0
"""Seconds between two lines of progress where no terminal shows it all the time."""


def main(arguments: list[str]) -> int:
    """Run the campaigns that are asked for; 1 when one has found anything."""
    asked = parsed(arguments)
    if asked.inside:
        plan = Plan(asked.targets[0], asked.seed, asked.jobs, LINES[asked.targets[0]])
        (Path(asked.inside) / "tally").write_text(json.dumps(lived(Path(asked.inside), plan)))
        return 0
    tallies = [in_folder(target, asked.jobs, asked.seed) for target in asked.targets or CAMPAIGNS]
    print(table(tallies))
    released = sum(tally.kills.get("released", 0) for tally in tallies)
    print(f"\nheld, as they are after three supervisors in a row that could not begin, and released: {released}")
    return int(any(tally.findings for tally in tallies))


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The arguments; ends with 2 when they can't be meant so."""
    parser = argparse.ArgumentParser(prog="dev.py chaos", description=__doc__.splitlines()[0])
    targets = "|".join(CAMPAIGNS)
    parser.add_argument("targets", nargs="*", metavar=targets, help="what is killed, or the power cut; all, one after the other")
    parser.add_argument("--jobs", type=int, default=1500, metavar="N", help="jobs of each campaign; 1500")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="another one gives other jobs and other moments; 1")
    parser.add_argument("--inside", metavar="FOLDER", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    for target in asked.targets:
        if target not in CAMPAIGNS:
            parser.error(f"{target} is none of {', '.join(CAMPAIGNS)}")
    if asked.jobs < 1:
        parser.error("--jobs must be 1 or more")
    return asked


def in_folder(target: str, jobs: int, seed: int) -> Tally:
    """One campaign. Says what it has found, and where that lies."""
    folder = Path(tempfile.mkdtemp(prefix=f"slothtray-chaos-{target}-"))
    tally = CAMPAIGNS[target](folder, target, jobs, seed)
    for finding in tally.findings:
        print(finding)
    if tally.findings:
        print(f"{len(tally.findings)} findings; the folder is {folder}")
    else:
        shutil.rmtree(folder)
    return tally


def of_kills(folder: Path, target: str, jobs: int, seed: int) -> Tally:
    """A campaign of kills, in a namespace of its own but on this terminal."""
    words = [sys.executable, __file__, target, "--jobs", str(jobs), "--seed", str(seed), "--inside", str(folder)]
    if subprocess.run([*UNSHARE, *INIT, *words], check=False).returncode:
        sys.exit(f"the campaign has broken down; its folder is {folder}")
    return Tally(**json.loads((folder / "tally").read_text()))


def lived(folder: Path, plan: Plan) -> dict:
    """The campaign itself: its tally."""
    home = Home(folder / "queue")
    try:
        return Campaign(home, plan, Progress()).run()._asdict()
    finally:
        home.close()


def of_power_cuts(folder: Path, target: str, jobs: int, seed: int) -> Tally:
    """Power cuts over adds first, then over as many small recorded campaigns as it takes until so many jobs had to live through one."""
    began = time.monotonic()
    found = adds.cut(folder / "adds", adds.recorded(folder / "adds", ADDS), seed, ADD_CUTS)
    lost = f"{found.looked_for} acknowledged adds looked for, {len(found.findings)} findings"
    print(f"{target}: {found.cuts} cuts over {ADDS} adds: {lost}", file=sys.stderr)
    tallies: list[Tally] = []
    while sum(tally.jobs for tally in tallies) < jobs:
        part, number = folder / f"recorded-{len(tallies)}", seed + len(tallies)
        power.recorded(part, Plan("app", number, RECORDED, 2), 600.0)
        tallies.append(Tally(**in_namespace(power.live, *map(str, (part, number, RECORDED, CUTS)), limit=600.0)))
        so_far = power.added_up(tallies)
        text = f"{so_far.kills['power']} cuts, {so_far.jobs} of {jobs} jobs, {time.monotonic() - began:.0f} s"
        print(f"{target}: {text}", file=sys.stderr, flush=True)
    total = power.added_up(tallies)
    return total._replace(findings=[*found.findings, *total.findings])


CAMPAIGNS: dict[str, Callable[[Path, str, int, int], Tally]] = {
    "app": of_kills,
    "supervisor": of_kills,
    "both": of_kills,
    "power": of_power_cuts,
}


class Progress:
    """Tells how far a campaign is: on a terminal in one line that changes, else now and then in a new one."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._began = self._last = time.monotonic()

    def __call__(self, campaign: Campaign) -> None:
        now, over = time.monotonic(), campaign.over()
        if now - self._last < (0.2 if self._terminal else EVERY) and not over:
            return
        self._last = now
        kills = ", ".join(f"{name} {count}" for name, count in sorted(campaign.kills.items()))
        jobs = f"{campaign.witness.ended()} of {len(campaign.shapes)} jobs"
        text = f"{campaign.plan.target}: {jobs}, killed: {kills or 'nothing yet'}, {now - self._began:.0f} s"
        print(("\r\x1b[K" if self._terminal else "") + text, end="\n" if over or not self._terminal else "", file=sys.stderr, flush=True)


def table(tallies: list[Tally]) -> str:
    """The figures as the README shows them."""
    rows = [
        (t.target, t.jobs, t.kills.get(t.target, 0), t.adoptions, t.announced, t.repeats, t.overlaps, t.lost, t.wrong)
        for t in tallies
    ]
    lines = [HEADINGS, ("---",) * len(HEADINGS), *rows]
    return "\n".join(f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
