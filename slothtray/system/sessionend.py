"""Notices that the login is over to which the app belongs, where nothing else would end it.

A session manager sends TERM, but not every desktop has one. Whoever holds a connection to the display dies with it; an icon that is
drawn over D-Bus does not. And while a process of its is alive, logind keeps a session that was left as "closing": nobody must wait
for its removal. So it is over when logind says so, or when display and session bus are gone together; one alone is a crash.
"""

import logging
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Self

from slothtray.system.bus import Bus, BusUnavailable, Call, CallFailed, Listening, Signal

_log = logging.getLogger(__name__)

PATIENCE = 4.0
"""Seconds for which, after the first sign, the others are looked for."""
PACE = 0.25
ANSWER = 1.0
"""Seconds that a display or a bus may take for an answer."""

Address = str | tuple[str, int]

_LOGIN1 = "org.freedesktop.login1"
_PROPERTIES = "org.freedesktop.DBus.Properties"


def of_this_login() -> "SessionEnd | None":
    """What watches over this login; None without a display, or where the system ends the app by itself."""
    display = Display.of_environment() if sys.platform == "linux" else None
    return None if display is None else SessionEnd(display)


class SessionEnd:
    """Sleeps on a thread of its own until a sign comes: the display's server has ended, logind tells something, or ``look``."""

    def __init__(self, display: "Display") -> None:
        self._display = display
        self._logind: Logind | None = None
        self._ear, self._mouth = socket.socketpair()
        self._mouth.setblocking(False)

    def watch(self, on_end: Callable[[str], None]) -> None:
        """Begin. ``on_end`` is told why, once and on another thread, when the session is over."""
        threading.Thread(target=self._work, args=(on_end,), name="session", daemon=True).start()

    def look(self) -> None:
        """Something of the desktop is gone. Returns at once."""
        try:
            self._mouth.send(b"!")
        except OSError:
            pass  # full: it looks anyway; or it is over

    def _work(self, on_end: Callable[[str], None]) -> None:
        self._logind = Logind.of_this_login()
        with self._ear, self._mouth, self._display:
            reason = self._reason()
        if self._logind is not None:
            self._logind.close()
        on_end(reason)

    def _reason(self) -> str:
        """Returns when the session is over."""
        looking_until = 0.0
        while True:
            left = looking_until - time.monotonic()
            if self._wait(PACE if left > 0 else None):
                looking_until = time.monotonic() + PATIENCE
            elif left <= 0:
                continue  # it was nothing of ours
            if self._logind is not None and self._logind.is_over():
                return "the end of the login"
            if self._display.is_gone() and not _bus_answers():
                return "the end of the desktop"

    def _wait(self, seconds: float | None) -> bool:
        """Sleep until there is a sign, True, or something else, or the time is over."""
        if self._told():
            return True  # it came in with an answer: no select would see it
        logind = None if self._logind is None else self._logind.fileno()
        sources = [self._ear.fileno(), *(number for number in (self._display.fileno(), logind) if number is not None)]
        ready, _, _ = select.select(sources, [], [], seconds)
        if self._ear.fileno() in ready:
            self._ear.recv(64)
        if self._display.fileno() in ready:
            self._display.forget_server()
        return self._told() or bool(set(ready) - {logind})

    def _told(self) -> bool:
        return self._logind is not None and self._logind.drain()


class Display:
    """An X or Wayland display, by the address at which its server listens."""

    def __init__(self, family: int, address: Address) -> None:
        self._family, self._address = family, address
        self._server: int | None = None
        """A descriptor that is readable when the server's process has ended (pidfd)."""
        with self._connected() as connection:
            if connection is not None:
                self._server = _process_behind(connection)

    @classmethod
    def of_environment(cls) -> "Display | None":
        """The one that this process was given; None for none, or for one at which nobody listens."""
        return next((display for display in (cls(*address) for address in _addresses()) if not display.is_gone()), None)

    def is_gone(self) -> bool:
        """Whether nobody listens there any more."""
        with self._connected() as connection:
            return connection is None

    def fileno(self) -> int | None:
        """What is readable at its server's end; None when that can't be known, or is known already."""
        return self._server

    def forget_server(self) -> None:
        """The server has ended."""
        if self._server is not None:
            os.close(self._server)
            self._server = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget_server()

    def _connected(self) -> "_Attempt":
        return _Attempt(self._family, self._address)


def display_answers() -> bool:
    """Whether anybody listens at the display that the environment names; a second at most.

    To be asked before Xlib is: where nobody listens it leaves two sockets open, for Python to complain of.
    """
    display = Display.of_environment()
    if display is not None:
        display.forget_server()
    return display is not None


def _addresses() -> list[tuple[int, Address]]:
    """Where the display that the environment names may listen, as (family, address)."""
    wayland, x11 = os.environ.get("WAYLAND_DISPLAY"), os.environ.get("DISPLAY", "")
    if wayland:
        return [(socket.AF_UNIX, os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), wayland))]
    host, colon, number = x11.rpartition(":")
    number = number.partition(".")[0]
    if not (colon and number.isascii() and number.isdigit()):
        return []
    protocol, _, host = host.rpartition("/")
    port = 6000 + int(number)
    by_tcp: list[tuple[int, Address]] = [(socket.AF_INET, (host or "127.0.0.1", port))] if port < 1 << 16 else []
    if protocol != "unix" and host not in ("", "unix"):
        return by_tcp
    path = f"/tmp/.X11-unix/X{number}"  # noqa: S108 - X's own place
    # As X's own libraries do: a server in a container or beside WSL may listen on TCP alone.
    return [(socket.AF_UNIX, "\0" + path), (socket.AF_UNIX, path), *([] if protocol or host else by_tcp)]


class _Attempt:
    """A ``with`` block that has a connection, or None."""

    def __init__(self, family: int, address: Address) -> None:
        self._family, self._address = family, address

    def __enter__(self) -> socket.socket | None:
        self._socket = socket.socket(self._family)
        self._socket.settimeout(ANSWER)
        try:
            self._socket.connect(self._address)
        except TimeoutError:
            return self._socket  # it is stuck, not gone
        except OSError:
            return None
        return self._socket

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def _process_behind(connection: socket.socket) -> int | None:
    """A pidfd of the process that listens at the other end; None where the kernel doesn't tell (TCP, another pid namespace)."""
    if connection.family != socket.AF_UNIX or sys.platform != "linux":
        return None
    try:
        pid, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return os.pidfd_open(pid) if pid > 1 else None
    except OSError:
        return None


def _bus_answers() -> bool:
    try:
        Bus("SESSION", ANSWER).close()
    except BusUnavailable:
        return False
    return True


class Logind(Listening):
    """Our session as logind knows it."""

    def __init__(self, bus: Bus, path: str) -> None:
        self._bus = bus
        self._path = path

    @classmethod
    def of_this_login(cls) -> "Logind | None":
        """None without logind, or where we are in no session."""
        try:
            bus = Bus("SYSTEM", ANSWER)
        except BusUnavailable:
            return None
        path = ""
        try:
            path = _session_path(bus)
            if path:
                bus.subscribe(_LOGIN1, "/org/freedesktop/login1", f"{_LOGIN1}.Manager", "SessionRemoved")
                bus.subscribe(_LOGIN1, path, _PROPERTIES, "PropertiesChanged")
        except (BusUnavailable, TimeoutError, CallFailed) as error:
            _log.info("logind is not watched: %s", error)
            path = ""
        if not path:
            bus.close()
            return None
        return cls(bus, path)

    def is_over(self) -> bool:
        """Whether the session was left. While any process of its lives, such as this one, it is only "closing"."""
        if self._bus is None:
            return False
        question = Call(_LOGIN1, self._path, _PROPERTIES, "Get", "ss", (f"{_LOGIN1}.Session", "State"))
        try:
            answer = self._bus.call(question).body[0]
        except CallFailed as error:
            return error.name.endswith((".UnknownObject", ".NoSuchSession"))
        except TimeoutError:
            return False
        except BusUnavailable:
            self.close()
            return False
        return bool(answer == ("s", "closing"))

    def drain(self) -> bool:
        """Whether something was told that may be the end."""
        return any(self._is_sign(signal) for signal in self.signals())

    def _is_sign(self, signal: Signal) -> bool:
        """Others come and go, and that a session is idle or locked is nothing either."""
        if signal.member == "SessionRemoved":
            return signal.body[1:2] == (self._path,)
        return signal.member == "PropertiesChanged" and len(signal.body) > 1 and "Active" in signal.body[1]


def _session_path(bus: Bus) -> str:
    """Of the session that started us, else of that which logind takes for ours ("auto"); "" for none."""
    for name in (os.environ.get("XDG_SESSION_ID", ""), "auto"):
        if name:
            try:
                call = Call(_LOGIN1, "/org/freedesktop/login1", f"{_LOGIN1}.Manager", "GetSession", "s", (name,))
                return str(bus.call(call).body[0])
            except CallFailed:
                continue  # an old number, or no logind
    return ""
