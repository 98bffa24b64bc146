"""Named points between the steps of an attempt, at which a test lets this process die (tests/test_every_step.py)."""

import os
import signal

POINTS = os.environ.get("SLOTHTRAY_CRASH", "").split(",")


def crash_point(name: str) -> None:
    """SIGKILL ourselves if ``SLOTHTRAY_CRASH`` names this point."""
    if name in POINTS:
        os.kill(os.getpid(), signal.SIGKILL)
