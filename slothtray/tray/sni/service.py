"""Shows one icon with its menu on the session bus: answers panels, tells them what has changed, carries out clicks.

One thread serves, and it alone touches the connection. Others only say what is to be seen from now on, which never waits:
a panel or a bus that does not read delays what it is told, and of many changes only the last is kept.
"""

import itertools
import logging
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from jeepney import DBusAddress, HeaderFields, Message, MessageType, new_signal

from slothtray.tray.sni import item, menu
from slothtray.tray.sni.answers import Answers
from slothtray.tray.sni.connection import Connection
from slothtray.tray.sni.interfaces import ITEM, ITEM_PATH, MENU, MENU_PATH, Interface, Refused
from slothtray.tray.sni.watcher import Watcher

_log = logging.getLogger(__name__)

CONNECT_LIMIT = 2.0
"""Seconds that a bus may take to let us in."""
PACE = 0.05
"""Seconds between two announcements: more changes than an eye can follow make some panels crash."""
AGAIN = 1.0
"""Seconds of quiet after which the last picture is announced once more: GNOME's extension (46) drops one that comes while it
still decodes another of the same size, which takes it long when the shell is busy, and would keep the wrong one for good."""


class Service:
    """One icon. ``change``, ``set_menu`` and ``stop`` may be called on any thread, the rest on the one that serves."""

    def __init__(self, name: str, on_click: Callable[[Any], None], on_opening: Callable[[], None]) -> None:
        """``name`` is what the icon calls itself. ``on_click`` gets pystray's item that was chosen; None for the icon itself.

        ``on_opening`` is called before the menu is shown, and the panel waits for it.
        """
        self._on_click = on_click
        self._on_opening = on_opening
        self._answers = Answers(name, self)
        self._lock = threading.Lock()
        self._tickets = itertools.count(1)
        self._menu_ticket = 0
        self._asked = self._stopping = False
        self._mouth: socket.socket | None = None
        self._clicks: deque[Any] = deque()
        self.shown = item.Shown(menu.empty(), item.Pictures(()))

    # --- any thread

    def change(self, **what: Any) -> None:
        """Show this from now on; the names are those of ``item.Shown``."""
        with self._lock:
            self.shown = self.shown._replace(**what)
            self._wake()

    def set_menu(self, read: Callable[[], tuple[menu.Line, ...]]) -> None:
        """Show the menu that ``read`` returns; of two calls at once the later one counts."""
        with self._lock:
            ticket = next(self._tickets)
        lines = read()  # without the lock: it is someone else's code, and may wait for one of its own
        with self._lock:
            if ticket > self._menu_ticket:
                self._menu_ticket = ticket
                self.shown = self.shown._replace(menu=self.shown.menu.after(lines))
                self._wake()

    def stop(self) -> None:
        """Let ``serve`` return. May be repeated."""
        with self._lock:
            self._stopping, self._asked = True, False
            self._wake()

    def _wake(self) -> None:
        """Under the lock. Once is enough until the serving thread has looked."""
        if self._mouth and not self._asked:
            self._asked = True
            self._mouth.send(b"!")

    # --- the serving thread

    def connect(self) -> None:
        """Get in touch with the bus, ahead of ``serve``. Raises connection.BusLost."""
        self._bus = Connection(CONNECT_LIMIT)
        self._watcher = Watcher(self._bus)
        self._ear, mouth = socket.socketpair()
        with self._lock:
            self._mouth = mouth
            self._asked = self._stopping = False
            self._told = self.shown
        self._tell_at = float("-inf")
        self._again_at: float | None = None

    def serve(self) -> None:
        """Serve until ``stop``. Raises connection.BusLost."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._ear, selectors.EVENT_READ)
            selector.register(self._bus, selectors.EVENT_READ)
            while not self._stopping:
                self._turn(selector)

    def close(self) -> None:
        """Hang up: the icon is gone then. To be called once after each ``connect``."""
        with self._lock:
            mouth, self._mouth = self._mouth, None
        for end in (self._bus, self._ear, mouth):
            if end:
                end.close()

    def _turn(self, selector: selectors.BaseSelector) -> None:
        """Tell what has changed, wait until something happens, deal with it."""
        self._bus.flush()  # answers first: while they wait nothing is announced
        waits = [wait for wait in (self._tell(), self._register()) if wait is not None]
        self._bus.flush()
        if self._bus.full or not self._bus.ready:
            self._sleep(selector, min(waits, default=None))
        for message in self._bus.messages():
            self._take(message)
        self._carry_out()

    def _sleep(self, selector: selectors.BaseSelector, limit: float | None) -> None:
        """Wait for something to read, or for a chance to send; where there is too much to send, for that alone."""
        readable = 0 if self._bus.full else selectors.EVENT_READ
        selector.modify(self._bus, readable | (selectors.EVENT_WRITE if self._bus.waiting else 0))
        for key, events in selector.select(limit):
            if key.fileobj is self._ear:
                self._ear.recv(64)
            elif events & selectors.EVENT_READ:
                self._bus.read()

    def _register(self) -> float | None:
        return self._watcher.register(time.monotonic()) if self._told.visible else None

    def _take(self, message: Message) -> None:
        if message.header.message_type is MessageType.signal:
            self._watcher.hear(message)
            return
        fields = message.header.fields
        where = (fields[HeaderFields.path], fields.get(HeaderFields.interface), fields[HeaderFields.member])
        try:
            self._bus.answer(message, *self._answers.answer(*where, fields.get(HeaderFields.signature, ""), message.body))
        except Refused as refused:
            self._bus.refuse(message, refused.name, menu.text(refused))
        except Exception as error:
            _log.exception("a call from a panel: %s", where)
            self._bus.refuse(message, "org.freedesktop.DBus.Error.Failed", type(error).__name__)

    def clicked(self, chosen: Any) -> None:
        """Note that this item of the menu was chosen; None: the icon itself."""
        self._clicks.append(chosen)

    def _carry_out(self) -> None:
        """Do what was clicked, once the panel has its answer: it may take a while."""
        if self._clicks:
            self._bus.flush()
        while self._clicks:
            try:
                self._on_click(self._clicks.popleft())
            except Exception:
                _log.exception("a click")

    # --- what panels are told

    def _tell(self) -> float | None:
        """Announce what has changed, when its time has come. Returns the seconds until then; None: there is nothing, or no way."""
        if self._bus.waiting:
            return None
        now = time.monotonic()
        if self.shown is self._told:
            return self._tell_again(now)
        if now < self._tell_at:
            return self._tell_at - now
        self._tell_at = now + PACE
        self.announce()
        return self._tell_again(now)

    def _tell_again(self, now: float) -> float | None:
        """Announce the picture once more, when its time has come. Returns the seconds until then; None: it has been done."""
        if self._again_at is not None and now < self._again_at:
            return self._again_at - now
        if self._again_at is not None:
            self._again_at = None
            for signal in item.pictures_again(self._told):
                self._emit(ITEM_PATH, ITEM, *signal)
        return None

    def opening(self) -> None:
        """Tell that the menu is about to be shown."""
        try:
            self._on_opening()
        except Exception:
            _log.exception("before the menu opens")

    def announce(self) -> bool:
        """Announce what has changed. Returns whether menu items have come, gone or moved."""
        with self._lock:
            self._asked = False
            told, self._told = self._told, self.shown
        for signal in item.signals(told, self._told):
            self._emit(ITEM_PATH, ITEM, *signal)
        if told.pictures is not self._told.pictures or told.status != self._told.status:
            self._again_at = time.monotonic() + AGAIN
        old, new = told.menu, self._told.menu
        moved = new.revision != old.revision
        if moved:
            self._emit(MENU_PATH, MENU, "LayoutUpdated", new.revision, 0)
        elif any(news := new.news(old)):
            self._emit(MENU_PATH, MENU, "ItemsPropertiesUpdated", *news)
        return moved

    def _emit(self, path: str, interface: Interface, name: str, *body: object) -> None:
        signature = interface.signals[name].replace(" ", "") or None
        self._bus.send(new_signal(DBusAddress(path, interface=interface.name), name, signature, body))
