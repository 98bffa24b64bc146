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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from audit import Tally
from campaign import Campaign, Plan
from harness import Home
from private import INIT, UNSHARE

TARGETS = ("app", "supervisor", "both")
LINES = {"app": 4, "supervisor": 4, "both": 2}
"""At most so many lines of the witness from one kill to the next: so 1,500 jobs see 300 to 500 kills and more."""
HEADINGS = ("killed", "jobs", "kills", "adoptions", "repeats announced", "repeats seen", "overlaps", "lost", "wrong exit codes")
EVERY = 10.0
"""Seconds between two lines of progress where no terminal shows it all the time."""


def main(arguments: list[str]) -> int:
    """Run the campaigns that are asked for; 1 when one has found anything."""
    parser = argparse.ArgumentParser(prog="dev.py chaos", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="app|supervisor|both", help="what is killed; all three, one after the other")
    parser.add_argument("--jobs", type=int, default=1500, metavar="N", help="jobs of each campaign; 1500")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="another one gives other jobs and other moments; 1")
    parser.add_argument("--inside", metavar="FOLDER", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    unknown = set(asked.targets) - set(TARGETS)
    if unknown or asked.jobs < 1:
        parser.error(f"{unknown.pop()} is none of {', '.join(TARGETS)}" if unknown else "--jobs must be 1 or more")
    if asked.inside:
        campaign = Plan(asked.targets[0], asked.seed, asked.jobs, LINES[asked.targets[0]])
        (Path(asked.inside) / "tally").write_text(json.dumps(lived(Path(asked.inside), campaign)))
        return 0
    tallies = [in_private(target, asked.jobs, asked.seed) for target in asked.targets or TARGETS]
    print(table(tallies))
    return int(any(tally.findings for tally in tallies))


def in_private(target: str, jobs: int, seed: int) -> Tally:
    """One campaign in a namespace of its own. Says what it has found, and where that lies."""
    folder = tempfile.mkdtemp(prefix=f"slothtray-chaos-{target}-")
    words = [sys.executable, __file__, target, "--jobs", str(jobs), "--seed", str(seed), "--inside", folder]
    if subprocess.run([*UNSHARE, *INIT, *words], check=False).returncode:
        sys.exit(f"the campaign has broken down; its folder is {folder}")
    tally = Tally(**json.loads((Path(folder) / "tally").read_text()))
    for finding in tally.findings:
        print(finding)
    if tally.findings:
        print(f"{len(tally.findings)} findings; the folder is {folder}")
    else:
        shutil.rmtree(folder)
    return tally


def lived(folder: Path, plan: Plan) -> dict:
    """The campaign itself: its tally."""
    home = Home(folder / "queue")
    try:
        return Campaign(home, plan, Progress()).run()._asdict()
    finally:
        home.close()


class Progress:
    """Tells how far a campaign is: on a terminal in one line that changes, else now and then in a new one."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._began = self._last = time.monotonic()

    def __call__(self, campaign: Campaign) -> None:
        now = time.monotonic()
        if now - self._last < (0.2 if self._terminal else EVERY) and not campaign.over():
            return
        self._last = now
        lines, kills = campaign.witness.lines(), dict(campaign.kills)
        text = f"{campaign.plan.target}: {lines} lines of {campaign.plan.jobs} jobs, {kills}, {now - self._began:.0f} s"
        end = "\n" if campaign.over() or not self._terminal else ""
        print(("\r\x1b[K" if self._terminal else "") + text, end=end, file=sys.stderr, flush=True)


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
