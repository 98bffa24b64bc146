"""A pystray backend for Linux desktops: StatusNotifierItem and com.canonical.dbusmenu on the session bus, by jeepney alone.

It needs no toolkit and no display. Nothing of slothtray is in here; pystray's base class is handed in.
"""

import logging
import threading
from collections.abc import Sequence
from typing import Any

from PIL import Image

from slothtray.tray.sni import menu
from slothtray.tray.sni.connection import BusLost
from slothtray.tray.sni.item import Pictures
from slothtray.tray.sni.service import Service

__all__ = ["BusLost", "icon_class"]

_log = logging.getLogger(__name__)


def icon_class(pystray: Any) -> Any:
    """Return the backend's ``Icon``, made of pystray's own, which the package has when imported by its dummy backend.

    Beside what every Icon has, this one has ``attention``, ``pictures`` and ``about_to_show``, and takes note of menu items that
    have a ``key`` (any value): one with the same key as before is the same item, whatever it says now. ``run`` raises BusLost
    without a bus and returns when the bus goes away; it can then be called again.
    """

    class Icon(_Backend, pystray.Icon):  # type: ignore[misc]
        _separator = pystray.Menu.SEPARATOR

    return Icon


_Base: Any = object


class _Backend(_Base):  # type: ignore[misc]  # pystray's class comes after it, from icon_class
    """What pystray leaves to a backend."""

    HAS_DEFAULT_ACTION = True
    HAS_MENU = True
    HAS_MENU_RADIO = True
    HAS_NOTIFICATION = False  # the desktop's notifications are another service

    _separator: object

    def __init__(self, name: str, *arguments: Any, **options: Any) -> None:
        self._service = Service(name, self._clicked, self._opening)
        self._attention = False
        super().__init__(name, *arguments, **options)

    @property
    def attention(self) -> bool:
        """Whether the icon asks for a look; panels that hide icons then show it, and some mark it."""
        return self._attention

    @attention.setter
    def attention(self, value: bool) -> None:
        self._attention = value
        self._service.change(attention=value)

    def pictures(self) -> Sequence[Image.Image]:
        """Return ``icon`` in all the sizes that were drawn; one alone is scaled. To be replaced where there are more."""
        return (self.icon,)

    def about_to_show(self) -> None:
        """Called on the loop's thread before the menu is shown, which waits for it. To be replaced."""

    def _opening(self) -> None:
        self.about_to_show()  # looked up now: it may have been replaced since

    def _clicked(self, item: Any) -> None:
        if item is None:
            self()
        else:
            self._handler(item)(self)

    # --- pystray's hooks

    def _show(self) -> None:
        self._service.change(visible=True, title=self.title)

    def _hide(self) -> None:
        self._service.change(visible=False)

    def _update_icon(self) -> None:
        self._service.change(pictures=Pictures(self.pictures()))
        self._icon_valid = True

    def _update_title(self) -> None:
        self._service.change(title=self.title)

    def _update_menu(self) -> None:
        self._service.set_menu(lambda: menu.lines(self.menu, self._separator))

    def _start_setup(self, setup: Any) -> None:
        # Ahead of pystray's thread for ``setup``: without a bus that one would wait for good, and keep the process alive.
        self._service.connect()
        super()._start_setup(setup)

    def _run(self) -> None:
        try:
            self._mark_ready()
            self._service.serve()
        except BusLost as error:
            _log.error("%s, and the icon with it", error)
        finally:
            self._service.close()

    def _run_detached(self) -> None:
        threading.Thread(target=self._run, name="icon", daemon=True).start()

    def _stop(self) -> None:
        self._service.stop()
