"""Keeps an icon known to the desktop's StatusNotifierWatcher: one that is there, comes late, goes, or is replaced."""

import logging
from typing import Any

from jeepney import DBusAddress, HeaderFields, Message, MessageFlag, MessageType, new_method_call

from slothtray.tray.sni.connection import Connection

_log = logging.getLogger(__name__)

WATCHER = "org.kde.StatusNotifierWatcher"
TRIES = 5
"""A watcher may own its name before it can answer: so often is it asked again."""
REST = 1.0
"""Seconds before it is; twice as many the second time, and so on."""

_BUS = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
_RULE = f"type='signal',sender='{_BUS.bus_name}',interface='{_BUS.interface}',member='NameOwnerChanged',arg0='{WATCHER}'"


class Watcher:
    """The icon's place with the watcher. For the connection's thread; ``now`` in seconds of any clock that only goes on."""

    def __init__(self, bus: Connection) -> None:
        """Introduces the connection to the bus, so nothing may have been sent on it before."""
        self._bus = bus
        self._our_name = self._owner = ""
        self._tries = 0
        self._try_at: float | None = None
        self._ask("Hello", None, self._on_hello)
        self._ask("AddMatch", _RULE)
        self._ask("GetNameOwner", WATCHER, self._on_owner)

    def _ask(self, member: str, argument: str | None, on_reply: Any = None) -> None:
        body = () if argument is None else (argument,)
        self._bus.send(new_method_call(_BUS, member, "s" if body else None, body), on_reply)

    def _on_hello(self, reply: Message) -> None:
        if reply.header.message_type is MessageType.method_return:
            # The unique name: what KDE's document asks for, org.kde.StatusNotifierItem-PID-N, GNOME's extension (46) never shows.
            self._our_name = reply.body[0]

    def _on_owner(self, reply: Message) -> None:
        if reply.header.message_type is MessageType.method_return:
            self._changed(reply.body[0])
        elif not self._owner:
            _log.info("no %s yet: the icon appears as soon as a panel brings one", WATCHER)

    def hear(self, signal: Message) -> None:
        """Take note of a signal; most are none of ours."""
        fields = signal.header.fields
        if fields.get(HeaderFields.sender) == _BUS.bus_name and fields.get(HeaderFields.member) == "NameOwnerChanged":
            name, _old, new = signal.body
            if name == WATCHER:
                self._changed(new)

    def _changed(self, owner: str) -> None:
        if owner != self._owner:
            self._owner = owner
            self._tries = 0
            self._try_at = float("-inf") if owner else None

    def register(self, now: float) -> float | None:
        """Register if that is still to be done. Returns the seconds until the next try; None: nothing is to be done."""
        if self._try_at is None or not self._our_name:
            return None
        if now < self._try_at:
            return self._try_at - now
        self._register(now)
        return None

    def _register(self, now: float) -> None:
        owner = self._owner
        self._try_at = None

        def on_reply(reply: Message) -> None:
            if owner != self._owner:
                return
            if reply.header.message_type is MessageType.method_return:
                _log.info("the icon is with %s %s", WATCHER, owner)
            elif self._tries < TRIES:
                self._tries += 1
                self._try_at = now + REST * self._tries
            else:
                _log.warning("%s does not take the icon: %s", WATCHER, *reply.body[:1] or ("no reason given",))

        address = DBusAddress("/StatusNotifierWatcher", owner, WATCHER)
        call = new_method_call(address, "RegisterStatusNotifierItem", "s", (self._our_name,))
        call.header.flags |= MessageFlag.no_auto_start
        self._bus.send(call, on_reply)
