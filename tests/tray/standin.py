"""A StatusNotifierWatcher and a panel in one, on a private bus: does what real panels do with an icon, and sees what they see."""

import time
from collections import Counter

from jeepney import (
    DBusAddress,
    HeaderFields,
    MessageFlag,
    MessageType,
    new_error,
    new_method_call,
    new_method_return,
    new_signal,
)

WATCHER = "org.kde.StatusNotifierWatcher"
ITEM = "org.kde.StatusNotifierItem"
MENU = "com.canonical.dbusmenu"
PROPERTIES = "org.freedesktop.DBus.Properties"
ITEM_PATH = "/StatusNotifierItem"
LIMIT = 20.0


class CallError(Exception):
    """The icon answered with an error; its text is the error's D-Bus name, without its beginning."""


class Panel:
    """Works only while a test waits for something: until then all that comes lies in the socket, as with a panel that is stuck.

    ``refusals``: how many registrations it answers with an error, as a watcher does that owns its name but isn't ready.
    ``mute``: it answers none at all.
    """

    def __init__(self, bus, *, refusals=0, mute=False, host=True, watch=True):
        self.connection = bus.connection()
        self.refusals = refusals
        self.mute = mute
        self.host = host
        self.asked = False
        self.registered = []
        self.signals = []
        self._replies = {}
        for interface in (ITEM, MENU):
            self.bus("AddMatch", "s", f"type='signal',interface='{interface}'")
        if watch:
            assert self.bus("RequestName", "su", WATCHER, 4) == 1

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.connection.close()

    # --- what comes in

    def wait(self, condition, limit=LIMIT):
        """Serve until the condition holds; what it gave."""
        end = time.monotonic() + limit
        while not (found := condition()):
            assert time.monotonic() < end, f"not within {limit} s; seen: {self.seen()}"
            self._serve(0.05)
        return found

    def _serve(self, limit):
        try:
            self._take(self.connection.receive(timeout=limit))
        except TimeoutError:
            pass

    def _take(self, message):
        fields = message.header.fields
        kind = message.header.message_type
        if kind is MessageType.signal and fields[HeaderFields.interface] in (ITEM, MENU):
            self.signals.append((fields[HeaderFields.member], message.body))
        elif kind is MessageType.method_call:
            self._answer(message, fields[HeaderFields.member])
        elif HeaderFields.reply_serial in fields:
            self._replies[fields[HeaderFields.reply_serial]] = message

    def _answer(self, message, member):
        if self.mute:
            self.asked = True
        elif member == "RegisterStatusNotifierItem" and not self.refusals:
            self.registered.append(message.body[0])
            self.connection.send(new_method_return(message))
        elif member == "Get" and message.body[1] == "IsStatusNotifierHostRegistered":
            self.asked = True
            self.connection.send(new_method_return(message, "v", (("b", self.host),)))
        else:
            self.refusals -= 1
            self.connection.send(new_error(message, "org.freedesktop.DBus.Error.UnknownMethod", "s", ("not yet",)))

    def tell_of_host(self):
        """Say that a panel has come to the watcher."""
        self.connection.send(new_signal(DBusAddress("/StatusNotifierWatcher", interface=WATCHER), "StatusNotifierHostRegistered"))

    def seen(self):
        """How often each signal has come."""
        return Counter(name for name, _body in self.signals)

    def settled(self):
        """Take in what has come, until there is nothing for longer than the icon's pace; forget it."""
        try:
            while True:
                self._take(self.connection.receive(timeout=0.2))
        except TimeoutError:
            self.signals.clear()

    # --- what goes out

    def send(self, destination, path, interface, member, signature="", *body, flags=0):
        """Send a call and don't wait; its number."""
        serial = next(self.connection.outgoing_serial)
        message = new_method_call(DBusAddress(path, destination, interface), member, signature or None, body)
        message.header.flags = MessageFlag(flags)
        self.connection.send(message, serial=serial)
        return serial

    def reply(self, serial):
        """The answer to that call: nothing, one value, or several."""
        self.wait(lambda: serial in self._replies)
        message = self._replies.pop(serial)
        if message.header.message_type is MessageType.error:
            raise CallError(message.header.fields[HeaderFields.error_name].removeprefix("org.freedesktop.DBus.Error."))
        return message.body[0] if len(message.body) == 1 else message.body

    def bus(self, member, signature, *body):
        """Call the bus itself."""
        name = "org.freedesktop.DBus"
        return self.reply(self.send(name, "/org/freedesktop/DBus", name, member, signature, *body))

    def item(self):
        """The bus name of the icon that has registered last."""
        return self.wait(lambda: self.registered and self.registered[-1])

    def call(self, path, interface, member, signature="", *body):
        """Call the icon."""
        return self.reply(self.send(self.item(), path, interface, member, signature, *body))

    def get(self, name):
        """One property of the icon."""
        return self.call(ITEM_PATH, PROPERTIES, "Get", "ss", ITEM, name)[1]

    def menu(self, member, signature, *body):
        """Call the menu, wherever the icon says it is."""
        return self.call(self.get("Menu"), MENU, member, signature, *body)

    def open_menu(self):
        """Open the menu as panels do; its revision and the root's children, each (id, properties, children)."""
        self.menu("AboutToShow", "i", 0)
        revision, root = self.menu("GetLayout", "iias", 0, -1, [])
        return revision, [plain(child) for _signature, child in root[2]]

    def labels(self):
        """The words of the top level."""
        return [properties.get("label", "-") for _id, properties, _children in self.open_menu()[1]]

    def click(self, number):
        """Choose an item of the menu."""
        return self.menu("Event", "isvu", number, "clicked", ("s", ""), 0)

    def pixel(self):
        """Red, green, blue and alpha in the middle of the largest picture."""
        width, height, data = max(self.get("IconPixmap"))
        middle = 4 * (height // 2 * width + width // 2)
        alpha, red, green, blue = data[middle : middle + 4]
        return red, green, blue, alpha


def plain(node):
    """A node of a layout without the signatures."""
    number, properties, children = node
    return number, {name: value for name, (_signature, value) in properties.items()}, [plain(child) for _s, child in children]
