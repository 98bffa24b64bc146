"""What there is of a desktop: a display that answers, a session bus, and who owns the names on it that matter."""

import os
from typing import NamedTuple

from slothtray.system.bubbles import NAME, PATH
from slothtray.system.bus import Bus, BusUnavailable, Call, CallFailed
from slothtray.system.sessionend import display_answers

ANSWER = 2.0
"""Seconds that a bus may take."""


class Screen(NamedTuple):
    """``name``: the display that the environment names, "" for none; ``answers``: whether anybody listens there."""

    name: str
    answers: bool
    desktop: str
    """What kind of desktop the environment says this is (XDG_CURRENT_DESKTOP)."""

    @property
    def wayland(self) -> bool:
        """X displays are :NUMBER, of this machine or another; Wayland's have a file's name."""
        return bool(self.name) and ":" not in self.name


class Owner(NamedTuple):
    """A program on the bus. ``program`` is "" where its process is not to be seen."""

    pid: int
    program: str


class Server(NamedTuple):
    """The notification service: what it says of itself. ``name``: "" when none runs; ``startable``: the bus starts one."""

    name: str
    version: str = ""
    capabilities: tuple[str, ...] = ()
    startable: bool = False


def screen() -> Screen:
    """The display. Takes a second at most."""
    name = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY", "")
    return Screen(name, display_answers(), os.environ.get("XDG_CURRENT_DESKTOP", ""))


def bus_trouble() -> str:
    """Why there is no session bus, in one line; "" when it answers."""
    try:
        Bus("SESSION", ANSWER).close()
    except BusUnavailable as error:
        return str(error)
    return ""


def owner_of(name: str) -> Owner | None:
    """The program that owns a name on the session bus; None for nobody. Raises BusUnavailable, TimeoutError."""
    bus = Bus("SESSION", ANSWER)
    try:
        pid = int(bus.ask_bus("GetConnectionUnixProcessID", name).body[0])
    except CallFailed:
        return None
    finally:
        bus.close()
    return Owner(pid, _program(pid))


def _program(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def notification_server() -> Server:
    """The notification service. Starts none. Raises BusUnavailable, TimeoutError, CallFailed."""
    bus = Bus("SESSION", ANSWER)
    try:
        if not bus.ask_bus("NameHasOwner", NAME).body[0]:
            dbus = "org.freedesktop.DBus"
            startable = bus.call(Call(dbus, "/org/freedesktop/DBus", dbus, "ListActivatableNames")).body[0]
            return Server("", startable=NAME in startable)
        name, _vendor, version, _spec = bus.call(Call(NAME, PATH, NAME, "GetServerInformation")).body
        capabilities = bus.call(Call(NAME, PATH, NAME, "GetCapabilities")).body[0]
        return Server(str(name) or "unnamed", str(version), tuple(sorted(map(str, capabilities))))
    finally:
        bus.close()
