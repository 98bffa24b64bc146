"""The hand-over protocol (DESIGN 4), step by step. A mutant overrides one method, which is one place of the code.

A supervisor's death is not taken to end the job (PDEATHSIG is no proof), nor is any credit given for start times.
"""

from functools import lru_cache

from app_steps import AppSteps, Steps
from other_steps import OtherSteps
from rules import Limits
from supervisor_steps import STARTS, SupervisorSteps
from world import Run, Step, World


class Protocol(AppSteps, SupervisorSteps, OtherSteps):
    """The rules as they are."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._own_steps = lru_cache(None)(lambda run: [*self.supervisor(run), *self.job(run)])

    def steps(self, world: World) -> Steps:
        """All that may happen next."""
        yield from self.app(world)
        for which in ("run", "stale"):
            run = getattr(world, which)
            if run is not None:
                yield from self._of_run(world, which, run)
        yield from self.cli(world)
        yield from self.person(world)
        yield from self.machine(world)

    def _of_run(self, world: World, which: str, run: Run) -> Steps:
        """Steps of one run's own processes."""
        old = "" if which == "run" else "the earlier "
        for label, to, fair in self._own_steps(run):
            after = world._replace(**{which: to})
            yield Step(old + label, after._replace(unannounced=True) if label == STARTS else after, fair)
