"""The jobs of a campaign: of mixed shapes, each with an end that is known beforehand, all of them witnesses of each other."""

import random
from typing import NamedTuple

WITNESS = """
exec 8>>lane 9>>"job-$SLOTHTRAY_JOB"
flock -n 8; [ $? != 1 ] || echo "$SLOTHTRAY_JOB $SLOTHTRAY_RUN another job is alive" >> overlaps
flock -n 9; [ $? != 1 ] || echo "$SLOTHTRAY_JOB $SLOTHTRAY_RUN another run of it is alive" >> overlaps
echo "S $SLOTHTRAY_JOB $SLOTHTRAY_RUN" >> witness
{work}
echo "E $SLOTHTRAY_JOB $SLOTHTRAY_RUN" >> witness
{end}
"""
"""What every job does. Its children hold two locks as long as any of them lives: one of the folder (no two jobs at once) and one
of the job (no two runs of it), so that what a killed run has left behind is caught beside the next one. Only flock's own 1 means
that a lock is taken: a flock that was killed says nothing."""
LINES = 2
"""Lines that a run leaves in the witness file."""
ALONE = "8>&- 9>&-"
"""For a child that is meant to outlive its job: it holds none of the locks."""


class Shape(NamedTuple):
    """What a job does between its two lines, how it ends, and what must be in its row then."""

    work: str
    end: str = "exit 0"
    state: str = "done"
    code: int | None = 0
    signal: int | None = None
    attempts: int = 1
    weight: int = 1


SHAPES = {
    "short": Shape(":", weight=6),
    "sleeping": Shape("sleep {0}", weight=6),
    "with children": Shape("sleep {0} & sleep {0} & wait", weight=5),
    "with a child in a session of its own": Shape("(setsid sleep {0}); sleep 0.01", weight=5),
    "with grandchildren": Shape("""sh -c 'sh -c "sleep {0}; :" & wait; :'""", weight=3),
    "leaving a daemon": Shape(f"(sleep {{0}} {ALONE} &)", weight=2),
    # A failure is watched for 0.5 s before it is believed: few of them.
    "failing": Shape("sleep {0}", "exit 42", "failed", 42),
    "failing with 255": Shape(":", "exit 255", "failed", 255),
    "of an unknown command": Shape(":", "no-such-command", "failed", 127),
    "killing itself": Shape(":", "kill -9 $$", "failed", None, 9),
    "failing beside a deaf child": Shape("(trap '' TERM; sleep {0}; sleep {0}) & sleep 0.01", "exit 3", "failed", 3),
    "failing twice": Shape(":", "exit 5", "failed", 5, attempts=2),
    "failing once": Shape(":", '[ "$(grep -c "^E $SLOTHTRAY_JOB " witness)" -gt 1 ] && exit 0; exit 6', attempts=2),
}
SECONDS = (0.01, 0.05, 0.1, 0.2, 0.4)


def shapes_of(jobs: int, chance: random.Random) -> list[str]:
    """The names of so many of them, by chance."""
    return chance.choices(list(SHAPES), [shape.weight for shape in SHAPES.values()], k=jobs)


def command(name: str, chance: random.Random) -> str:
    """The shell command of a job of this shape."""
    shape = SHAPES[name]
    return WITNESS.format(work=shape.work.format(chance.choice(SECONDS)), end=shape.end)
