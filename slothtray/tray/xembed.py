"""A pystray backend for old X trays, to which an icon is a small window: freedesktop's System Tray protocol and XEMBED, by Xlib.

pystray has one (``_xorg``), which gets no clicks, is black where it should be transparent, and is lost when the tray comes later
or is restarted. Here too, one thread alone talks to the X server, and others only say what is to be seen. Such a tray knows no
menu of ours and no tooltip: a click does the menu's default.
"""

import logging
import select
import socket
import threading
from contextlib import suppress
from typing import Any, NamedTuple

from PIL import Image, ImageChops
from Xlib import X, Xatom, Xutil, display, error
from Xlib.protocol import event

_log = logging.getLogger(__name__)

GROUND = (222, 222, 222)
"""What the picture is laid on where the panel's own colour can't be read."""
LARGEST = 128
"""Pixels; a larger picture would not fit in one request."""

_REQUEST_DOCK = 0
_XEMBED_VERSION, _XEMBED_MAPPED = 0, 1


def icon_class(pystray: Any) -> Any:
    """Return the backend's ``Icon``, made of pystray's own, which the package has when imported by its dummy backend.

    ``picture(size)`` gives what is drawn; ``run`` raises Xlib's error without a display and returns when the display is gone.
    """

    class Icon(_Backend, pystray.Icon):  # type: ignore[misc]
        pass

    return Icon


_Base: Any = object


class _Backend(_Base):  # type: ignore[misc]  # pystray's class comes after it, from icon_class
    """What pystray leaves to a backend, and its loop."""

    HAS_DEFAULT_ACTION = True
    HAS_MENU = False
    HAS_MENU_RADIO = False
    HAS_NOTIFICATION = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._lock = threading.Lock()
        self._mouth: socket.socket | None = None
        self._stopping = self._shown = False
        super().__init__(*arguments, **options)

    def picture(self, size: int) -> Image.Image:
        """Return ``icon`` as an RGBA picture of size × size pixels. To be replaced where it is drawn in several sizes."""
        picture: Image.Image = self.icon.convert("RGBA").resize((size, size), Image.Resampling.LANCZOS)
        return picture

    # --- any thread

    def _show(self) -> None:
        self._shown = True
        self._wake()

    def _hide(self) -> None:
        self._shown = False
        self._wake()

    def _update_icon(self) -> None:
        self._icon_valid = True
        self._wake()

    def _update_title(self) -> None:
        self._wake()

    def _update_menu(self) -> None:
        """There is none."""

    def _stop(self) -> None:
        self._stopping = True
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            if self._mouth:
                with suppress(BlockingIOError):  # full of such bytes: the loop will look
                    self._mouth.send(b"!")

    # --- the loop's thread

    def _start_setup(self, setup: Any) -> None:
        # Ahead of pystray's thread for ``setup``: without a display that one would wait for good, and keep the process alive.
        self._screen = _Screen(self.name)
        self._stopping = False
        super()._start_setup(setup)

    def _run(self) -> None:
        ear, mouth = socket.socketpair()
        mouth.setblocking(False)
        with ear, mouth:
            with self._lock:
                self._mouth = mouth
            self._mark_ready()
            try:
                while not self._stopping:
                    self._turn(ear)
            except (error.ConnectionClosedError, OSError) as lost:
                _log.error("the X server went away, and the icon with it: %s", lost)
            finally:
                with self._lock:
                    self._mouth = None
                self._screen.close()

    def _run_detached(self) -> None:
        threading.Thread(target=self._run, name="icon", daemon=True).start()

    def _turn(self, ear: socket.socket) -> None:
        """Bring the window to what is to be seen, wait until something happens."""
        if self._shown:
            self._screen.show(self.picture, self.title)
        else:
            self._screen.hide()
        if not self._screen.pending():
            ready, _, _ = select.select([ear.fileno(), self._screen.fileno()], [], [])
            if ear.fileno() in ready:
                ear.recv(4096)
        for _ in range(self._screen.clicks()):
            try:
                self()
            except Exception:
                _log.exception("a click")


class _Window(NamedTuple):
    """Our window in a tray. ``owner`` is the tray's own."""

    window: Any
    owner: Any
    gc: Any
    depth: int


class _Screen:
    """The X connection, and at most one window on it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._display = display.Display()
        self._display.set_error_handler(lambda *problem: _log.debug("X: %s", problem))  # windows vanish under one's hands
        self._default = self._display.screen()
        self._default.root.change_attributes(event_mask=X.StructureNotifyMask)  # a tray's arrival is told to the root window
        self._tray = self._atom(f"_NET_SYSTEM_TRAY_S{self._display.get_default_screen()}")
        self._docked: _Window | None = None
        self._titled = ""

    def _atom(self, name: str) -> int:
        return int(self._display.intern_atom(name))

    def fileno(self) -> int:
        return int(self._display.fileno())

    def pending(self) -> int:
        """Return how many events have come in. Sends what is to be sent."""
        return int(self._display.pending_events())

    def close(self) -> None:
        """Take the icon away; the server does with the connection."""
        with suppress(Exception):  # it tells the server, which may be gone
            self._display.close()

    def show(self, picture: Any, title: str) -> None:
        """Have the window in the tray, if there is one, with this picture in it."""
        try:
            self._docked = self._docked or self._dock()
            if self._docked:
                self._entitle(self._docked, title)
                self._draw(self._docked, picture)
        except error.XError as problem:  # the window or the tray has just vanished; the event that tells is on its way
            _log.debug("X: %s", problem)

    def _entitle(self, docked: _Window, title: str) -> None:
        if title != self._titled:
            docked.window.set_wm_name(title)
            self._titled = title

    def hide(self) -> None:
        """Take the window away."""
        if self._docked:
            self._docked.window.destroy()
        self._forget()

    def clicks(self) -> int:
        """Take note of all events; return how many left clicks were among them."""
        count = 0
        for _ in range(self.pending()):
            happened = self._display.next_event()
            if self._docked and happened.type == X.ButtonPress and happened.detail == 1:
                count += 1
            elif self._docked and self._lost(self._docked, happened):
                self.hide()
        return count

    def _lost(self, docked: _Window, happened: Any) -> bool:
        """Whether our window or its tray is no more; a tray that ends can leave us on the bare screen."""
        if happened.type == X.DestroyNotify:
            return happened.window in (docked.window, docked.owner)
        outside = happened.type == X.ReparentNotify and happened.parent == self._default.root
        return bool(outside and happened.window == docked.window)

    def _forget(self) -> None:
        self._docked = None
        self._titled = ""

    # --- docking

    def _dock(self) -> _Window | None:
        """Ask the tray, if there is one, for a place."""
        owner = self._display.get_selection_owner(self._tray)
        if owner == X.NONE:
            return None
        owner.change_attributes(event_mask=X.StructureNotifyMask)
        window, depth = self._window(owner)
        window.set_wm_class(f"{self._name}SystemTrayIcon", self._name)
        window.set_wm_normal_hints(flags=Xutil.PMinSize, min_width=16, min_height=16)
        info = self._atom("_XEMBED_INFO")
        window.change_property(info, info, 32, [_XEMBED_VERSION, _XEMBED_MAPPED])
        request = event.ClientMessage(
            window=owner,
            client_type=self._atom("_NET_SYSTEM_TRAY_OPCODE"),
            data=(32, [X.CurrentTime, _REQUEST_DOCK, window.id, 0, 0]),
        )
        owner.send_event(request)
        return _Window(window, owner, window.create_gc(), depth)

    def _window(self, owner: Any) -> tuple[Any, int]:
        """Make the window as the tray wants it: with an alpha channel, or with the panel's own ground under it."""
        visual, depth = self._visual(owner)
        mask = X.ExposureMask | X.StructureNotifyMask | X.ButtonPressMask
        place = (-1, -1, 22, 22, 0)
        root = self._default.root
        if depth != 32:
            made = root.create_window(*place, X.CopyFromParent, event_mask=mask, background_pixmap=X.ParentRelative)
            return made, int(self._default.root_depth)
        colours = root.create_colormap(visual, X.AllocNone)
        looks = {"background_pixel": 0, "border_pixel": 0, "colormap": colours}
        return root.create_window(*place, 32, X.InputOutput, visual, event_mask=mask, **looks), 32

    def _visual(self, owner: Any) -> tuple[int, int]:
        """Return the visual that the tray asks for, and its depth; 0: none, the usual one."""
        wanted = owner.get_full_property(self._atom("_NET_SYSTEM_TRAY_VISUAL"), Xatom.VISUALID)
        for allowed in self._default.allowed_depths:
            for visual in allowed.visuals:
                if wanted and visual.visual_id == wanted.value[0]:
                    return int(visual.visual_id), int(allowed.depth)
        return 0, 0

    # --- drawing

    def _draw(self, docked: _Window, picture: Any) -> None:
        room = docked.window.get_geometry()
        size = min(room.width, room.height, LARGEST)
        image = picture(size)
        place = (room.width - size) // 2, (room.height - size) // 2
        docked.window.clear_area(0, 0, 0, 0)
        data = _premultiplied(image) if docked.depth == 32 else self._laid(docked, place, image)
        docked.window.put_image(docked.gc, *place, size, size, X.ZPixmap, docked.depth, 0, data)

    def _laid(self, docked: _Window, place: tuple[int, int], image: Image.Image) -> bytes:
        """Lay the picture on what the panel shows there: the window's own ground is the panel's."""
        try:
            seen = docked.window.get_image(*place, *image.size, X.ZPixmap, 0xFFFFFFFF).data
            ground = Image.frombytes("RGB", image.size, seen, "raw", "BGRX")
        except (error.BadMatch, ValueError):  # out of sight
            ground = Image.new("RGB", image.size, GROUND)
        ground.paste(image, (0, 0), image)
        return ground.tobytes("raw", "BGRX")


def _premultiplied(image: Image.Image) -> bytes:
    *colours, alpha = image.split()
    return Image.merge("RGBA", [*(ImageChops.multiply(colour, alpha) for colour in colours), alpha]).tobytes("raw", "BGRA")
