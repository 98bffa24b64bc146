"""Hears of sleep, wake and steps of the wall clock, where the system tells. Only a bell: nothing may depend on hearing it."""

import errno
import os
import select
import sys
import time
from collections.abc import Sequence

from slothtray.system.bus import Bus, BusUnavailable, CallFailed, Listening
from slothtray.system.ports import SleepSignal

CONNECT_TIMEOUT = 1.0
"""Seconds that each question to the system bus may take at start."""


def listen() -> SleepSignal:
    """Return what this system can tell: logind and the kernel's clock on Linux, nothing elsewhere (yet) or without them."""
    if sys.platform != "linux":
        return Silence()
    sources: list[SleepSignal] = []
    for source in (Logind, ClockSteps):
        try:
            sources.append(source())
        except (BusUnavailable, OSError):
            pass  # a container, or a system without systemd: the runner's look once a minute remains
    return Several(sources) if sources else Silence()


class Silence:
    """Never tells anything."""

    def fileno(self) -> int | None:
        """Nothing to wait on."""
        return None

    def drain(self) -> bool:
        """Nothing came."""
        return False

    def close(self) -> None:
        """Nothing to let go of."""


class Logind(Listening):
    """logind's PrepareForSleep: before a suspend and after the wake. The bus gone: silent from then on."""

    def __init__(self, timeout: float = CONNECT_TIMEOUT) -> None:
        """Connect and subscribe. Raises BusUnavailable after 3 × ``timeout`` seconds at most."""
        self._bus = Bus("SYSTEM", timeout)
        login1 = "org.freedesktop.login1"
        try:
            self._bus.subscribe(login1, "/org/freedesktop/login1", f"{login1}.Manager", "PrepareForSleep")
        except (TimeoutError, CallFailed) as error:
            self.close()
            raise BusUnavailable(f"the system bus did not subscribe us: {error}") from error
        self.drain()  # what arrived with the answer is in jeepney's buffer, where no select sees it

    def drain(self) -> bool:
        """Read what the bus sent, without waiting."""
        return any(signal.member == "PrepareForSleep" for signal in self.signals())


class ClockSteps:
    """A kernel timer that is never due and is cancelled when the wall clock is set; a resume counts as that too."""

    def __init__(self) -> None:
        """Raise OSError where the kernel has no such timer."""
        self._fd: int | None = _timer_cancelled_by_clock_set()

    def fileno(self) -> int | None:
        """Return the timer's descriptor."""
        return self._fd

    def drain(self) -> bool:
        """Ask whether the clock was set since the last time; the timer is armed again by being read."""
        if self._fd is None:
            return False
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno == errno.ECANCELED:
                return True
            self.close()
        return False

    def close(self) -> None:
        """Let go of the timer."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class Several:
    """Several sources behind one descriptor. It lasts as long as one of them does."""

    def __init__(self, sources: Sequence[SleepSignal]) -> None:
        self._sources = sources
        self._epoll = select.epoll()
        for source in sources:
            fd = source.fileno()
            if fd is not None:
                self._epoll.register(fd, select.EPOLLIN)

    def fileno(self) -> int | None:
        """Return one descriptor that is readable when any source's is."""
        return None if self._epoll.closed else self._epoll.fileno()

    def drain(self) -> bool:
        """Drain each of them. One that died has closed its descriptor, which took it out of the set."""
        heard = [source.drain() for source in self._sources]
        if all(source.fileno() is None for source in self._sources):
            self._epoll.close()
        return any(heard)

    def close(self) -> None:
        """Close them all."""
        for source in self._sources:
            source.close()
        self._epoll.close()


def _timer_cancelled_by_clock_set() -> int:
    """Make such a timerfd, through ctypes: Python has it from 3.13 on."""
    import ctypes

    absolute, cancel_on_set = 1, 2
    libc = ctypes.CDLL(None, use_errno=True)
    fd = int(libc.timerfd_create(time.CLOCK_REALTIME, os.O_NONBLOCK | os.O_CLOEXEC))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "timerfd_create")
    largest = 2 ** (8 * ctypes.sizeof(ctypes.c_long) - 1) - 1
    never = (ctypes.c_long * 4)(0, 0, largest, 0)  # struct itimerspec: no interval; the first time in seconds and nanoseconds
    if libc.timerfd_settime(fd, absolute | cancel_on_set, ctypes.byref(never), None) < 0:
        number = ctypes.get_errno()
        os.close(fd)
        raise OSError(number, "timerfd_settime")
    return fd
