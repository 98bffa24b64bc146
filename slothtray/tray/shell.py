"""Draws the icon and its menu, by whichever tray works here. The only module that imports pystray.

``import pystray`` picks its backend on the spot and, without a display, fails with an error that is no ImportError. So the package
is imported with its dummy backend, and the real ones are tried as modules, one after the other (``_BACKENDS``).
"""

import importlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from PIL import Image

from slothtray.errors import SlothtrayError
from slothtray.model import Snapshot
from slothtray.tray import menu
from slothtray.tray.icon import SIZES, Look, image, path
from slothtray.tray.search import NothingToWaitFor, Search

_log = logging.getLogger(__name__)

Click = Callable[[str, menu.Do], None]
"""Takes the label of the entry that was chosen and what it asks for; must return at once."""

PICTURE_SIZE = 64
"""Pixels of the picture for a backend that scales by itself."""
REST = 0.1
"""Seconds between two drawings: a flood of changes must not become a flood for the panel, which some don't survive."""


class NoTray(SlothtrayError):
    """There is no tray, or nothing that can draw in it."""

    code = "no-tray"


_Wanted = tuple[Snapshot, menu.Notes]


class _View(NamedTuple):
    """What is to be seen: equal views need no drawing."""

    look: Look
    tooltip: str
    entries: tuple[menu.Entry, ...]


def _view(snapshot: Snapshot, notes: menu.Notes) -> _View:
    look = Look(snapshot.face, menu.badge(snapshot, notes))
    return _View(look, menu.tooltip(snapshot, notes), menu.build(snapshot, notes))


class Shell:
    """One icon in the tray, from ``run`` to ``stop``. Made for one run."""

    def __init__(
        self,
        click: Click,
        about_to_show: Callable[[], None] = lambda: None,
        on_sight: Callable[[str], None] = lambda _advice: None,
    ) -> None:
        """``about_to_show`` is called on the tray's own thread, by the backends that know it, before the menu is; it must return
        at once. What it leads to being shown changes in the open menu. ``on_sight``: see ``Search``.
        """
        self._click = click
        self._about_to_show = about_to_show
        self._changed = threading.Condition()
        self._wanted: _Wanted = (menu.STARTING, menu.NO_NOTES)
        self._icon: Any = None
        self._loops = False
        self._stopping = False
        self._no_rest = threading.Event()
        self._search = Search(on_sight)

    def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """Show the icon until ``stop``, or from when there is a tray. Must be called on the main thread, which it keeps.

        ``on_ready`` is called once, on another thread, when the icon is handed to the tray. Raises NoTray when there is none;
        returns early, or raises anything, when the tray's own loop ends.
        """
        backend = _backend(self._search)
        if backend is None:
            return
        view = _view(*self._wanted)
        items = _Items(self._click, view.entries)
        self._icon = backend("slothtray", image(view.look, PICTURE_SIZE), view.tooltip, items.menu)
        self._icon.about_to_show = self._about_to_show
        self._icon.show_look(view.look)
        threading.Thread(target=self._draw, args=(items, view), name="drawing", daemon=True).start()
        try:
            self._icon.run(lambda _icon: self._begin(on_ready))
        finally:
            self._end()

    def show(self, snapshot: Snapshot, notes: menu.Notes = menu.NO_NOTES) -> None:
        """Make this what is seen. From any thread, at any time; returns at once. Of many in a row the last one counts."""
        with self._changed:
            self._wanted = (snapshot, notes)
            self._changed.notify_all()

    def stop(self) -> None:
        """Take the icon away and let ``run`` return; before ``run`` as well. From any thread; may be repeated."""
        if self._end() and self._loops:
            self._icon.stop()

    def _end(self) -> bool:
        """Nothing is drawn from now on; True the first time."""
        with self._changed:
            first, self._stopping = not self._stopping, True
            self._changed.notify_all()
        self._no_rest.set()
        self._search.stop()
        return first

    def _begin(self, on_ready: Callable[[], None]) -> None:
        """Called by pystray on a thread of its own once its loop turns: only from now on does its ``stop`` have an effect."""
        try:
            self._icon.visible = True
        except Exception:
            _log.exception("showing the icon")
        with self._changed:
            self._loops = True
            stopping = self._stopping
            self._changed.notify_all()
        if stopping:
            self._icon.stop()
        else:
            on_ready()

    # --- the drawing thread

    def _draw(self, items: "_Items", drawn: _View) -> None:
        """Bring the icon to what is wanted, at most once every REST seconds."""
        wanted = self._next(None)
        while wanted is not None:
            try:
                view = _view(*wanted)
                self._apply(items, drawn, view)
                drawn = view
            except Exception:
                _log.exception("drawing the icon")
            self._no_rest.wait(REST)
            wanted = self._next(wanted)

    def _next(self, drawn: _Wanted | None) -> _Wanted | None:
        """Waits until something else than ``drawn`` is wanted; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or (self._loops and self._wanted is not drawn))
            return None if self._stopping else self._wanted

    def _apply(self, items: "_Items", old: _View, new: _View) -> None:
        if new.look != old.look:
            self._icon.show_look(new.look)
        if new.tooltip != old.tooltip:
            self._icon.title = new.tooltip
        if new.entries != old.entries:
            items.set(new.entries)
            self._icon.update_menu()


class _Items:
    """Our entries as pystray's menu. pystray asks for them anew at each update, on its own thread."""

    def __init__(self, click: Click, entries: tuple[menu.Entry, ...]) -> None:
        self._pystray = _pystray()
        self._click = click
        self.set(entries)
        self.menu = self._pystray.Menu(lambda: self._items)

    def set(self, entries: tuple[menu.Entry, ...]) -> None:
        """What the next update will show."""
        self._items = tuple(map(self._item, entries))

    def _item(self, entry: menu.Entry) -> Any:
        if entry.separator:
            return self._pystray.Menu.SEPARATOR
        item = self._pystray.MenuItem(
            entry.label.replace("&", "&&") if sys.platform == "win32" else entry.label,  # there & underlines what follows
            self._action(entry),
            checked=None if entry.checked is None else lambda _item: bool(entry.checked),
            default=entry.default,
            enabled=entry.enabled,
        )
        item.key = entry.key  # by which our own backend knows it again, whatever it says
        return item

    def _action(self, entry: menu.Entry) -> Any:
        if entry.submenu:
            return self._pystray.Menu(*map(self._item, entry.submenu))
        if entry.do is None:
            return None
        label, do = entry.label, entry.do
        return lambda: self._click(label, do)


# --- the backends ---------------------------------------------------------------------------------------------------


def _backend(search: Search) -> Any:
    """The icon class of the first backend that can work here. Raises NoTray, which says why none can; None: stopped meanwhile."""
    chosen = os.environ.get("SLOTHTRAY_TRAY", "")
    names = (chosen,) if chosen else _usual(search)
    if not names:
        return None
    reasons = []
    for name in names:
        try:
            found = _BACKENDS[name]()
        except KeyError:
            reasons.append(f"SLOTHTRAY_TRAY={name} is none of {', '.join(_BACKENDS)}")
        except Exception as error:  # ImportError, ValueError from gi, DisplayNameError from Xlib …
            reasons.append(f"{name}: {' '.join(str(error).split()) or type(error).__name__}")
        else:
            _log.info("tray by %s", name)
            return found
    raise NoTray("no tray to show the icon in", "; ".join(reasons))


def _usual(search: Search) -> tuple[str, ...]:
    """The backends to try on this system, best first; on Linux as soon as there is a tray. None: stopped before that."""
    if sys.platform in ("darwin", "win32"):
        return (sys.platform,)
    try:
        return search.find()
    except NothingToWaitFor as error:
        raise NoTray("no tray to show the icon in", str(error)) from None


def _pystray() -> Any:
    """The package, by its dummy backend."""
    before = os.environ.get("PYSTRAY_BACKEND")
    os.environ["PYSTRAY_BACKEND"] = "dummy"
    try:
        import pystray

        return pystray
    finally:
        if before is None:
            del os.environ["PYSTRAY_BACKEND"]
        else:
            os.environ["PYSTRAY_BACKEND"] = before


def _icon_class(name: str) -> Any:
    """The backend of that name, with what all of them have in common."""
    _pystray()
    base = importlib.import_module(f"pystray._{name}").Icon

    class Icon(base):  # type: ignore[misc, valid-type]
        def show_look(self, look: Look) -> None:
            """The picture to show from now on. From any thread."""
            self._look = look
            self.icon = image(look, PICTURE_SIZE)

    return Icon


def _gtk_icon_class(name: str) -> Any:
    """The same for the two backends that run gtk's loop."""
    base = _icon_class(name)
    from gi.repository import GLib

    wakeup = _wakeup_fd()

    class Icon(base):  # type: ignore[misc, valid-type]
        def _initialize(self) -> None:
            # pystray would connect to the notification service first: an icon would hang with a service that hangs, and
            # fail without a bus. It would also let Ctrl+C kill the process.
            GLib.idle_add(wakeup)
            self._mark_ready()

        def _finalize(self) -> None:
            """Nothing to take back: no notification, no temporary file."""

    return Icon


def _wakeup_fd() -> Callable[[], None]:
    """Remembers by which descriptor signals wake a thread of ours; what is returned, to be called in gtk's loop, puts it back.

    PyGObject takes it for itself as the loop begins, so that Python's handlers run; but they don't while gtk is stuck.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    ours = signal.set_wakeup_fd(-1)
    if ours == -1:
        return lambda: None

    def put_back() -> None:
        signal.set_wakeup_fd(ours, warn_on_full_buffer=False)

    put_back()
    return put_back


def _gtk() -> Any:
    """GtkStatusIcon with the two things pystray leaves out: a tooltip, and a picture of exactly the tray's size."""
    base = _gtk_icon_class("gtk")
    from gi.repository import GdkPixbuf, GLib

    class Icon(base):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self._status_icon.connect("size-changed", self._on_size_changed)

        def _update_icon(self) -> None:
            self._icon_valid = True
            GLib.idle_add(self._paint)

        def _on_size_changed(self, _icon: object, _size: int) -> bool:
            self._paint()
            return True  # gtk need not scale

        def _paint(self) -> None:
            """In gtk's loop only."""
            picture = image(self._look, self._status_icon.get_size() or 22)
            data, (width, height) = GLib.Bytes.new(picture.tobytes()), picture.size
            rgb = GdkPixbuf.Colorspace.RGB
            pixbuf = GdkPixbuf.Pixbuf.new_from_bytes(data, rgb, True, 8, width, height, 4 * width)
            self._status_icon.set_from_pixbuf(pixbuf)

        def _show(self) -> None:
            super()._show()
            self._update_title()

        def _update_title(self) -> None:
            GLib.idle_add(self._status_icon.set_tooltip_text, self.title)

    return Icon


def _appindicator() -> Any:
    """The indicator takes a file: ours, where pystray would leave one in the temporary folder for each picture."""
    base = _gtk_icon_class("appindicator")

    class Icon(base):  # type: ignore[misc, valid-type]
        def _update_fs_icon(self) -> None:
            self._icon_path = path(self._look, PICTURE_SIZE)
            self._icon_valid = True

        def _remove_fs_icon(self) -> None:
            self._icon_valid = False

    return Icon


def _sni() -> Any:
    """Our own backend, with the picture in all the sizes that were drawn."""
    from slothtray.tray import sni

    base = sni.icon_class(_pystray())

    class Icon(base):  # type: ignore[misc, valid-type]
        def show_look(self, look: Look) -> None:
            """The picture to show from now on. From any thread."""
            self._look = look
            self.icon = image(look, PICTURE_SIZE)
            self.attention = look.badge

        def pictures(self) -> list[Image.Image]:
            return [image(self._look, size) for size in SIZES if size <= PICTURE_SIZE]

    return Icon


def _xembed() -> Any:
    """Our own for the trays of old, which pystray's can't be used with."""
    from slothtray.tray import xembed

    base = xembed.icon_class(_pystray())

    class Icon(base):  # type: ignore[misc, valid-type]
        def show_look(self, look: Look) -> None:
            """The picture to show from now on. From any thread."""
            self._look = look
            self.icon = image(look, PICTURE_SIZE)

        def picture(self, size: int) -> Image.Image:
            return image(self._look, size)

    return Icon


_BACKENDS: dict[str, Callable[[], Any]] = {
    "sni": _sni,
    "appindicator": _appindicator,
    "gtk": _gtk,
    "xembed": _xembed,
    "darwin": lambda: _icon_class("darwin"),
    "win32": lambda: _icon_class("win32"),
}
