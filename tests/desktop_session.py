"""A private desktop with a tray for a test, made of real parts: X screen, message bus, panel, mouse and camera.

Built on ``system/session.py``, which starts the parts that need no panel. Every process is ours and ends with its block.
"""

import os
import signal
import socket
import struct
import subprocess
from contextlib import closing, contextmanager
from pathlib import Path

from PIL import Image, ImageChops
from system.session import message_bus_in, screen, started, until
from Xlib import X, display

ROOT = Path(__file__).resolve().parent.parent
GI_PYTHON = ROOT / ".venv-gi" / "bin" / "python"
"""Has the system's PyGObject beside slothtray's dependencies; packaging/dev.py test makes it."""

__all__ = ["GI_PYTHON", "ROOT", "Desktop", "spots", "text_rows", "until", "x_desktop"]


class Desktop:
    """What a test does on the screen: look and click."""

    def __init__(self, name, bus, folder):
        self.folder = folder
        self.bus = bus
        self.env = {
            **{name: value for name, value in os.environ.items() if name not in ("WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")},
            "DISPLAY": name,
            "DBUS_SESSION_BUS_ADDRESS": bus.address,
            "NO_AT_BRIDGE": "1",  # gtk would look for the accessibility bus, and wait for it
            "GDK_BACKEND": "x11",
        }

    @contextmanager
    def program(self, *argv, **options):
        """A program on this desktop; what it says on stderr is in the test's folder."""
        log = self.folder / f"{Path(argv[0]).name}.log"
        with log.open("ab") as file, started(argv, **{"env": self.env, "stderr": file, **options}) as process:
            yield process

    @contextmanager
    def trayer(self, size=24):
        """A panel that knows XEmbed only, in the lower right corner; ``size`` is that of its icons, in pixels."""
        places = ["--edge", "bottom", "--align", "right", "--widthtype", "request", "--heighttype", "pixel", "--height", str(size)]
        with self.program("trayer", *places, "--transparent", "true", "--alpha", "0", "--tint", "0xdedede") as process:
            until(self.has_tray)
            yield process

    def has_tray(self):
        """Whether a panel owns the screen's tray."""
        with closing(display.Display(self.env["DISPLAY"])) as connection:
            return connection.get_selection_owner(connection.intern_atom("_NET_SYSTEM_TRAY_S0")) != X.NONE

    @contextmanager
    def frozen_screen(self):
        """The X server answers nobody within the block."""
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(f"/tmp/.X11-unix/X{self.env['DISPLAY'].removeprefix(':')}")
            server = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        os.kill(server, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(server, signal.SIGCONT)

    def run(self, *argv):
        """A tool's output."""
        return subprocess.run(argv, env=self.env, check=True, capture_output=True, timeout=20).stdout

    def photo(self):
        """The whole screen."""
        with closing(display.Display(self.env["DISPLAY"])) as connection:
            root = connection.screen().root
            size = root.get_geometry()
            data = root.get_image(0, 0, size.width, size.height, X.ZPixmap, 0xFFFFFFFF).data
        return Image.frombytes("RGB", (size.width, size.height), data, "raw", "BGRX")

    def click(self, x, y, button):
        """Press and release there; 1 is left, 3 right."""
        self.run("xdotool", "mousemove", str(x), str(y), "click", str(button))

    def changed_box(self, before):
        """The rectangle in which the screen differs from an earlier photo, or None."""
        return ImageChops.difference(before, self.photo()).getbbox()


def spots(photo, colour, tolerance=4):
    """How many pixels have about this colour (r, g, b), and the rectangle around them or None."""
    channels = zip(photo.split(), colour, strict=True)
    near = [channel.point(lambda value, wanted=wanted: 255 * (abs(value - wanted) <= tolerance)) for channel, wanted in channels]
    mask = ImageChops.darker(ImageChops.darker(near[0], near[1]), near[2])
    return mask.histogram()[255], mask.getbbox()


def text_rows(picture):
    """The (top, bottom) of each line of text in a picture of a menu; separators, a pixel or two high, don't count."""
    ground = bytes(max(picture.getcolors(picture.width * picture.height))[1])
    inner = picture.crop((6, 4, picture.width - 6, picture.height - 4))
    stride = inner.width * 3
    data = inner.tobytes()
    marked = [data[y * stride : (y + 1) * stride] != ground * inner.width for y in range(inner.height)]
    rows, start = [], None
    for y, mark in enumerate([*marked, False]):
        if mark and start is None:
            start = y
        elif not mark and start is not None:
            if y - start >= 5:
                rows.append((start + 4, y + 4))
            start = None
    return rows


@contextmanager
def x_desktop(folder):
    """A screen and a bus, and nothing on them."""
    with screen() as name, message_bus_in(folder) as bus:
        yield Desktop(name, bus, folder)
