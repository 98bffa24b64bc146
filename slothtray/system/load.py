"""The load average, and how much of it our own job put there (DESIGN 8)."""

import os

from slothtray import policy
from slothtray.model import Load

VARIABLE = "SLOTHTRAY_LOADAVG"
"""Names a file to read instead of the kernel's: tests and the demo use it, since the suite itself loads the machine."""


def one_minute() -> float:
    """The kernel's 1-minute load average; 0.0 on a system that has none (Windows)."""
    stand_in = os.environ.get(VARIABLE)
    if stand_in:
        try:
            with open(stand_in, encoding="ascii") as file:
                return float(file.read().split()[0])
        except (OSError, ValueError, IndexError):
            return 0.0
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def default_ceiling() -> float:
    """Half of the CPUs, at least 1.0."""
    return max(1.0, 0.5 * (os.cpu_count() or 1))


class OwnLoad:
    """Our own job's part in the load average: it grows and decays as the kernel's does. Times are seconds awake."""

    def __init__(self, average: float = 0.0, at: float | None = None) -> None:
        self.average, self.at = average, at

    def sample(self, tasks: int, awake: float) -> None:
        """Take note of ``tasks`` of ours in R or D at this time awake."""
        if self.at is not None:
            self.average = policy.own_load(self.average, tasks, max(0.0, awake - self.at))
        self.at = awake

    def measure(self, ceiling: float | None) -> Load:
        """The gate's figures now."""
        return policy.measured(one_minute(), self.average, ceiling)
