"""An icon by our own backend, running in a thread of the test, and what a test measures and breaks around it."""

import socket
import threading
from contextlib import contextmanager
from pathlib import Path

from jeepney import DBusAddress, MessageType, Parser, new_method_call
from PIL import Image
from standin import ITEM, ITEM_PATH, PROPERTIES

from slothtray.tray import shell, sni

pystray = shell._pystray()
Icon = sni.icon_class(pystray)
Item, Menu = pystray.MenuItem, pystray.Menu
RED, GREEN, BLUE = ((255, 0, 0, 255), (0, 255, 0, 255), (0, 0, 255, 255))
LIMIT = 20.0


def picture(colour, size=64):
    return Image.new("RGBA", (size, size), colour)


@contextmanager
def shown(*items, title="title", image=None):
    """An icon whose loop runs in a thread."""
    icon = Icon("name", image or picture(RED), title, Menu(*items))
    thread = threading.Thread(target=icon.run, name="loop")
    thread.start()
    try:
        yield icon
    finally:
        icon.stop()
        thread.join(LIMIT)
        assert not thread.is_alive()


class Switch:
    """What a click does, and a label that follows."""

    def __init__(self):
        self.on = False

    def flip(self):
        self.on = not self.on

    def item(self, **options):
        return Item(lambda _item: "On" if self.on else "Off", self.flip, checked=lambda _item: self.on, **options)


def loop_thread():
    return next(thread for thread in threading.enumerate() if thread.name == "loop")


def seconds_run(thread):
    """How long a thread has been on a processor."""
    return int(Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[0]) / 1e9


def switches(thread):
    """How often a thread has gone to sleep so far: once for each time it was woken."""
    status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
    return int(status.partition("voluntary_ctxt_switches:")[2].split()[0])


class FakeBus:
    """The other end of the socket: lets in, asks, and reads only when told."""

    def __init__(self, folder, monkeypatch):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / "fake"))
        self.listener.listen()
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={folder / 'fake'}")

        self.parser = Parser()
        self.ready = threading.Event()

    def __enter__(self):
        threading.Thread(target=self.let_in, daemon=True).start()
        return self

    def __exit__(self, *_error):
        self.listener.close()
        self.connection.close()

    def let_in(self):
        self.connection, _ = self.listener.accept()
        self.read_to(b"\r\n")
        self.connection.sendall(b"OK 1234\r\n")
        self.parser.add_data(self.read_to(b"BEGIN\r\n"))
        self.ready.set()

    def read_to(self, end):
        """Read past ``end``; what came after it."""
        data = b""
        while end not in data:
            data += self.connection.recv(1000)
        return data.partition(end)[2]

    def send_calls(self, count):
        ask = new_method_call(DBusAddress(ITEM_PATH, ":1.1", PROPERTIES), "GetAll", "s", (ITEM,))
        data = b"".join(ask.serialise(serial=number + 1) for number in range(count))
        threading.Thread(target=self.connection.sendall, args=(data,), daemon=True).start()

    def answers(self, count, check):
        """Whether all answers come, and the check holds all the while."""
        self.connection.settimeout(LIMIT)
        seen = 0
        while check():
            seen += sum(message.header.message_type is MessageType.method_return for message in iter(self.parser.get_next_message, None))
            if seen >= count:
                return seen == count
            self.parser.add_data(self.connection.recv(1 << 20))
        return False
