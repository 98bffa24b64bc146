"""Notices what the clocks did between two looks: sleep, and steps of the wall clock (DESIGN 6)."""

from slothtray.clock import Clock

TOLERANCE = 1.0
"""Seconds of difference that are no sleep and no step: the clocks are read one after the other, and NTP slews."""


class ClockWatch:
    """Compares the clocks at each ``look()``. Correctness never depends on hearing of a sleep: this sees it afterwards."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = self._read()

    def look(self) -> tuple[float, bool]:
        """Seconds slept since the last look (0.0: none), and whether the wall clock was set."""
        last, self._last = self._last, self._read()
        wall, awake, elapsed = (now - before for now, before in zip(self._last, last, strict=True))
        slept = elapsed - awake
        return (slept if slept > TOLERANCE else 0.0), abs(wall - elapsed) > TOLERANCE

    def _read(self) -> tuple[float, float, float]:
        return self._clock.wall(), self._clock.awake(), self._clock.elapsed()
