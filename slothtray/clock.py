"""The four readings of time everything else is decided by, and a clock for tests that is set by hand (DESIGN 6)."""

import sys
import time


class Clock:
    """The machine's clocks. All in seconds, as floats.

    ``wall`` is what people read and may step; ``awake`` stands still while the machine sleeps; ``elapsed`` counts sleep too.
    ``awake`` and ``elapsed`` mean nothing across a reboot: ``boot_id`` tells the boots apart.
    """

    def wall(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def awake(self) -> float:
        """Seconds of this boot without the time asleep."""
        if sys.platform == "win32":
            return _windows_unbiased()
        if sys.platform == "darwin":
            return time.clock_gettime(time.CLOCK_UPTIME_RAW)
        return time.clock_gettime(time.CLOCK_MONOTONIC)

    def elapsed(self) -> float:
        """Seconds of this boot, time asleep included."""
        if sys.platform == "win32":
            return time.monotonic()
        if sys.platform == "darwin":
            return time.clock_gettime(time.CLOCK_MONOTONIC_RAW)
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def boot_id(self) -> str:
        """A text that is the same until the machine boots again."""
        return _boot_id()


class ManualClock(Clock):
    """A clock that moves only when told to."""

    def __init__(self, wall: float = 1_700_000_000.0) -> None:
        self._wall, self._awake, self._elapsed, self._boots = wall, 1000.0, 1000.0, 1

    def wall(self) -> float:
        """As set."""
        return self._wall

    def awake(self) -> float:
        """As set."""
        return self._awake

    def elapsed(self) -> float:
        """As set."""
        return self._elapsed

    def boot_id(self) -> str:
        """Another one after each ``reboot()``."""
        return f"boot-{self._boots}"

    def advance(self, seconds: float) -> None:
        """Time passes with the machine awake."""
        self._wall += seconds
        self._awake += seconds
        self._elapsed += seconds

    def suspend(self, seconds: float) -> None:
        """A closed lid: wall time passes, time awake does not."""
        self._wall += seconds
        self._elapsed += seconds

    def step_wall(self, seconds: float) -> None:
        """The wall clock is set by this much; nothing else moves."""
        self._wall += seconds

    def reboot(self) -> None:
        """A new boot id; the boot's own clocks begin again."""
        self._boots += 1
        self._awake = self._elapsed = 1.0


def _boot_id() -> str:
    if sys.platform == "linux":
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    if sys.platform == "darwin":
        import subprocess

        out = subprocess.run(["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"], capture_output=True, text=True, check=True)
        return out.stdout.strip()
    import psutil

    return f"boot at {psutil.boot_time():.0f}"


def _windows_unbiased() -> float:
    if sys.platform != "win32":
        raise AssertionError("Windows only")
    import ctypes

    ticks = ctypes.c_ulonglong()
    ctypes.windll.kernel32.QueryUnbiasedInterruptTime(ctypes.byref(ticks))
    return ticks.value / 1e7
