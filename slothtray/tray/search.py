"""Finds out which of the two kinds of tray there is on Linux, and waits for one where there is none yet.

A desktop's panel may come seconds after us at login, or hours after. Nothing is polled: the watcher's coming is a signal on the
session bus, an old XEmbed tray's coming is an event of the X server.
"""

import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from slothtray.system.bus import Bus, BusUnavailable, Call, CallFailed
from slothtray.system.facts import distribution
from slothtray.system.sessionend import display_answers

_log = logging.getLogger(__name__)

WATCHER = "org.kde.StatusNotifierWatcher"
PATIENCE = 3.0
"""Seconds that the better kind may still take once something is there: at login a panel brings both, one after the other."""
SILENCE = 10.0
"""Seconds after which it is told that there is no tray, and what would bring one."""
BUS_LIMIT = 2.0
"""Seconds that the bus may take for an answer."""

_Answer = TypeVar("_Answer")

SNI = ("sni",)
XEMBED = ("gtk", "xembed")


class NothingToWaitFor(Exception):
    """Neither kind of tray can ever come. The text says why."""


class Seen(NamedTuple):
    """What is there."""

    watcher: bool = False
    """Who keeps the list of icons."""
    host: bool = False
    """A panel that shows them, too."""
    xembed: bool = False
    """An old tray, to which icons are windows."""


def choose(seen: Seen, since: float) -> tuple[str, ...]:
    """Return the backends to try, in order; none: wait. ``since``: seconds for which any of it has been there.

    A watcher without a panel is not enough: KDE's daemon is one in any desktop that runs a KDE program.
    """
    if seen.host:
        return SNI
    if since < PATIENCE:
        return ()
    if seen.xembed:
        return XEMBED
    return SNI if seen.watcher else ()


class Source(Protocol):
    """One place where a tray may turn up."""

    def look(self) -> Seen:
        """Return what is there now. Raises anything when the place is gone."""

    def heard(self) -> bool:
        """Whether something has happened since the last look; takes note of it. Raises anything when the place is gone."""

    def fileno(self) -> int:
        """Return the descriptor on which it will be heard."""

    def close(self) -> None:
        """Let go."""


class Search:
    """One search, made for one ``find``."""

    def __init__(self, on_sight: Callable[[str], None] = lambda _advice: None) -> None:
        """``on_sight``, which must return at once, is told "" when there is a tray, and after SILENCE what would bring one."""
        self._on_sight = on_sight
        self._lock = threading.Lock()
        self._stopped = False
        self._mouth: socket.socket | None = None
        self._sources: list[Source] = []
        self._reasons: list[str] = []

    def stop(self) -> None:
        """Let ``find`` return nothing. From any thread, at any time; may be repeated."""
        with self._lock:
            self._stopped = True
            if self._mouth:
                self._mouth.close()

    def find(self) -> tuple[str, ...]:
        """Wait for a tray and return the backends that can draw in it, best first; none: stopped. Raises NothingToWaitFor."""
        ear, mouth = socket.socketpair()
        with ear, mouth:
            with self._lock:
                self._mouth = mouth
                if self._stopped:
                    return ()
            try:
                found = self._first_sight() or self._wait(ear)
                if found:
                    self._on_sight("")
                return found
            finally:
                for source in self._sources:
                    source.close()

    def glance(self) -> Seen:
        """Return what there is at this moment, without waiting. Raises NothingToWaitFor."""
        try:
            for source in (_Watcher, _XTray) if not os.environ.get("WAYLAND_DISPLAY") else (_Watcher,):
                self._open(source)
            return self._look()
        finally:
            for one in self._sources:
                one.close()

    def _first_sight(self) -> tuple[str, ...]:
        """The usual case, without a look at the X server: the connection alone would start one under Wayland."""
        self._open(_Watcher)
        found = choose(self._look(), 0) if self._sources else ()
        if not found and not os.environ.get("WAYLAND_DISPLAY"):
            self._open(_XTray)
        return found

    def _wait(self, ear: socket.socket) -> tuple[str, ...]:
        begun = time.monotonic()
        since: float | None = None
        silent = True
        while not self._stopped:
            seen, now = self._look(), time.monotonic()
            since = None if not any(seen) else now if since is None else since
            if found := choose(seen, 0 if since is None else now - since):
                return found
            if silent and since is None and now - begun >= SILENCE:
                silent = False
                _log.warning("no tray yet; the icon appears as soon as there is one: %s", advice())
                if os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY"):
                    self._on_sight(advice())
            ends = [since + PATIENCE] if since is not None else [begun + SILENCE] if silent else []
            self._sleep(ear, max(0.0, ends[0] - now) if ends else None)
        return ()

    def _open(self, source: type["_Watcher"] | type["_XTray"]) -> None:
        try:
            self._sources.append(source())
        except Exception as error:  # Xlib's own are of many kinds
            self._reasons.append(_line(error))

    def _look(self) -> Seen:
        """Return what there is to be seen in all places. Raises NothingToWaitFor when none is left."""
        found = [self._ask(source, source.look, otherwise=Seen()) for source in list(self._sources)]
        if not self._sources:
            raise NothingToWaitFor("; ".join(self._reasons))
        return Seen(*map(any, zip(*found, strict=True)))

    def _sleep(self, ear: socket.socket, limit: float | None) -> None:
        """Until something happens, or for so many seconds."""
        # What came in during the look has left the descriptor by now.
        heard = [self._ask(source, source.heard, otherwise=True) for source in list(self._sources)]
        if not any(heard):
            select.select([ear.fileno(), *(source.fileno() for source in self._sources)], [], [], limit)

    def _ask(self, source: Source, question: Callable[[], _Answer], otherwise: _Answer) -> _Answer:
        """Ask a source; one that fails is none any more."""
        try:
            return question()
        except Exception as error:
            self._reasons.append(_line(error))
            self._sources.remove(source)
            source.close()
            return otherwise


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def advice() -> str:
    """Return what would bring a tray to this desktop."""
    install = partial(distribution.install, text=distribution.os_release())
    return remedy(os.environ.get("XDG_CURRENT_DESKTOP", ""), install, wayland=bool(os.environ.get("WAYLAND_DISPLAY")))


def remedy(desktop: str, install: Callable[[str], str], *, wayland: bool) -> str:
    """Return the same for any desktop (by its XDG_CURRENT_DESKTOP), as words that begin with a command; pure."""
    if "GNOME" in desktop.split(":"):
        return install("gnome-shell-extension-appindicator") + ", then log in anew and switch it on in Extensions"
    package = "waybar" if wayland else "xfce4-panel"
    return f"{install(package)}, then start {package} (or any other panel with a tray)"


class _Watcher:
    """The session bus, on which a StatusNotifierWatcher may own its name."""

    def __init__(self) -> None:
        self._bus = Bus("SESSION", BUS_LIMIT)
        try:
            self._follow("sender='org.freedesktop.DBus'", "NameOwnerChanged", f",arg0='{WATCHER}'")
            self._follow(f"interface='{WATCHER}'", "StatusNotifierHostRegistered", "")
        except BaseException:
            self._bus.close()
            raise

    def _follow(self, origin: str, member: str, rest: str) -> None:
        self._bus.ask_bus("AddMatch", f"type='signal',{origin},member='{member}'{rest}")

    def look(self) -> Seen:
        try:
            owner = self._bus.ask_bus("GetNameOwner", WATCHER).body[0]
        except (CallFailed, TimeoutError):
            return Seen()
        return Seen(watcher=True, host=self._has_host(owner))

    def _has_host(self, owner: str) -> bool:
        """One that doesn't say, or not in time, is believed to have one."""
        where = (owner, "/StatusNotifierWatcher", "org.freedesktop.DBus.Properties")
        call = Call(*where, "Get", "ss", (WATCHER, "IsStatusNotifierHostRegistered"))
        with suppress(CallFailed, TimeoutError, BusUnavailable, LookupError, TypeError):
            return bool(self._bus.call(call).body[0][1])
        return True

    def heard(self) -> bool:
        return bool(self._bus.drain())

    def fileno(self) -> int:
        return self._bus.fileno()

    def close(self) -> None:
        self._bus.close()


class _XTray:
    """The X server, on which a tray owns a selection, and says so to the root window when it comes."""

    def __init__(self) -> None:
        if not display_answers():
            name = os.environ.get("DISPLAY")
            raise ConnectionError(f"no X server answers at {name}" if name else "DISPLAY is not set")
        from Xlib import X, display

        self._none = X.NONE
        self._display = display.Display()
        self._display.screen().root.change_attributes(event_mask=X.StructureNotifyMask)
        self._selection = self._display.intern_atom(f"_NET_SYSTEM_TRAY_S{self._display.get_default_screen()}")

    def look(self) -> Seen:
        return Seen(xembed=self._display.get_selection_owner(self._selection) != self._none)

    def heard(self) -> bool:
        count: int = self._display.pending_events()
        for _ in range(count):
            self._display.next_event()
        return count > 0

    def fileno(self) -> int:
        return int(self._display.fileno())

    def close(self) -> None:
        with suppress(Exception):  # it tells the server, which may be gone
            self._display.close()
