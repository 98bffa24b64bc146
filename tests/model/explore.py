"""Every state that the protocol can get into, every promise in each of them, and a counter-example for each mutant.

    python3 tests/model/explore.py [--limits N] [--traces]

After ``N`` interruptions, or as many starts that did not begin, the job is held (2); 3 takes a minute or two.
"""

import argparse
import gc
import multiprocessing
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from mutants_of_protocol import MUTANTS, BrokenInstallation
from promises import broken, is_being_cancelled, is_over
from protocol import Protocol
from rules import Limits
from world import World, settled

from slothtray.states import State

Transition = tuple[State, State, str]


class Outcome(NamedTuple):
    """What an exploration has found."""

    states: int
    steps: int
    transitions: frozenset[Transition]
    """Those of the row that were made: from, to, kind of the event."""
    verdicts: frozenset[str]
    broken: str = ""
    """The promise that does not hold."""
    trace: tuple[str, ...] = ()
    """The shortest way to it."""


class Explorer:
    """Breadth first, so that what breaks is found by the shortest way."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._number: dict[World, int] = {}
        self._worlds: list[World] = []
        self._parent = array("l")
        self._label: list[str] = []
        self._from, self._to, self._job_ends = array("l"), array("l"), bytearray()
        self._transitions: set[Transition] = set()
        self._steps = 0

    def run(self) -> Outcome:
        """Explore until a promise is broken or there is nothing new."""
        self._reach(World(), -1, "")
        done = 0
        while done < len(self._worlds):
            before = self._worlds[done]
            for step in self._protocol.steps(before):
                self._steps += 1
                wrong = broken(self._protocol, before, step)
                if wrong:
                    return self._outcome(wrong, done, step.label)
                reached = self._reach(settled(step.to), done, step.label)
                if step.event:
                    self._transitions.add((before.row.state, step.to.row.state, step.event))
                if step.fair and reached != done:
                    self._from.append(done)
                    self._to.append(reached)
                    self._job_ends.append("job: ends" in step.label)
            done += 1
        return self._ends()

    def _reach(self, world: World, parent: int, label: str) -> int:
        known = self._number.get(world)
        if known is not None:
            return known
        number = self._number[world] = len(self._worlds)
        self._worlds.append(world)
        self._parent.append(parent)
        self._label.append(label)
        return number

    def _ends(self) -> Outcome:
        """From every state the job comes to its end once the faults stop; a cancelled one even if it would run for ever."""
        stuck = self._stuck(lambda _: True, any_job_ends=True)
        if stuck is not None:
            return self._outcome("it never comes to an end", stuck)
        stuck = self._stuck(is_being_cancelled, any_job_ends=False)
        if stuck is not None:
            return self._outcome("the cancel is never carried out", stuck)
        return self._outcome("", 0)

    def _stuck(self, must_end: Callable[[World], bool], *, any_job_ends: bool) -> int | None:
        """The first state from which no fair step after another leads to an end."""
        before: list[list[int]] = [[] for _ in self._worlds]
        for source, target, job_ends in zip(self._from, self._to, self._job_ends, strict=True):
            if any_job_ends or not job_ends:
                before[target].append(source)
        todo = [number for number, world in enumerate(self._worlds) if is_over(world)]
        ends = bytearray(len(self._worlds))
        for number in todo:
            ends[number] = 1
        while todo:
            for source in before[todo.pop()]:
                if not ends[source]:
                    ends[source] = 1
                    todo.append(source)
        return next((number for number, world in enumerate(self._worlds) if not ends[number] and must_end(world)), None)

    def _outcome(self, wrong: str, number: int, last: str = "") -> Outcome:
        trace = [last] if last else []
        while wrong and self._parent[number] >= 0:
            trace.append(self._label[number])
            number = self._parent[number]
        verdicts = frozenset(world.app.verdict for world in self._worlds if world.app is not None and world.app.verdict)
        found = frozenset(self._transitions)
        return Outcome(len(self._worlds), self._steps, found, verdicts, wrong, tuple(reversed(trace)))


def explore(kind: type[Protocol], limits: Limits) -> Outcome:
    """Explore one protocol from a job that was just added."""
    collecting = gc.isenabled()
    gc.disable()  # a million tuples without a cycle: it would look at all of them again and again
    try:
        return Explorer(kind(limits)).run()
    finally:
        if collecting:
            gc.enable()


def protocols(limit: int) -> dict[str, tuple[type[Protocol], Limits]]:
    """The protocol as it is, for the kinds of jobs and machines that there are, by name."""
    return {
        "a job": (Protocol, Limits(attempts=1, unstarted=limit, interruptions=limit)),
        "a job with more attempts": (Protocol, Limits(attempts=limit, unstarted=limit - 1, interruptions=limit - 1)),
        "a job with --once": (Protocol, Limits(once=True, attempts=1, unstarted=limit - 1, interruptions=limit)),
        "a broken installation": (BrokenInstallation, Limits(attempts=1, unstarted=limit + 1, interruptions=limit)),
    }


def explored(limit: int) -> Iterator[tuple[str, Outcome]]:
    """All of it, as many at a time as there are processors: the name and what was found, the protocol first, then the mutants."""
    tasks = {**protocols(limit), **{mutant.__name__: (mutant, mutant.within) for mutant in MUTANTS}}
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from zip(tasks, pool.map(explore, *zip(*tasks.values(), strict=True)), strict=True)


def main() -> int:
    """Explore all and tell; 1 when a promise does not hold or a mutant survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limits", type=int, default=2, metavar="N", help="how often something may go wrong before the job is held")
    parser.add_argument("--traces", action="store_true", help="show how each mutant breaks its promise")
    words = parser.parse_args()
    begin, states, steps, wrong = time.monotonic(), 0, 0, 0
    for name, found in explored(max(words.limits, 2)):
        breaks = EXPECTED.get(name, "")
        surprise = found.broken != breaks
        wrong += surprise
        if name not in EXPECTED:
            states, steps = states + found.states, steps + found.steps
        said = f"{found.broken} ({len(found.trace)} steps)" if found.broken else "every promise holds"
        print(f"{name:26} {found.states:>9,} states {found.steps:>10,} steps  {said}{', NOT AS IT SHOULD' * surprise}", flush=True)
        for label in found.trace if words.traces or surprise else ():
            print(f"    {label}")
    print(f"{states:,} states, {steps:,} steps, {len(MUTANTS)} mutants, {wrong} wrong, {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


EXPECTED = {mutant.__name__: mutant.breaks for mutant in MUTANTS}

if __name__ == "__main__":
    sys.exit(main())
