"""What panels ask of an icon and its menu, and what they get for an answer."""

from collections.abc import Callable
from typing import Any, Protocol

from slothtray.tray.sni import item, menu
from slothtray.tray.sni.interfaces import (
    COMMON,
    ITEM,
    ITEM_PATH,
    MENU,
    MENU_PATH,
    OBJECTS,
    Refused,
    Variant,
    introspect,
    method,
)

ROOT = 0
"""The number of the menu as a whole."""

_Member = Callable[..., tuple[Any, ...]]
"""Answers one method: gets the path and the arguments, returns the results. May raise Refused."""


class Host(Protocol):
    """Who knows what is shown, and takes clicks."""

    @property
    def shown(self) -> item.Shown:
        """What is to be seen now."""

    def opening(self) -> None:
        """Take note that the menu is about to be shown."""

    def announce(self) -> bool:
        """Tell panels what has changed, now and not in a moment. Returns whether menu items have come, gone or moved."""

    def clicked(self, chosen: Any) -> None:
        """Note that this item of the menu was chosen; None: the icon itself."""


class Answers:
    """Answers calls, one at a time, on the thread that serves."""

    def __init__(self, name: str, host: Host) -> None:
        """``name`` is what the icon calls itself."""
        self._name = name
        self._host = host
        self._members: dict[str, _Member] = {
            "Ping": lambda _path: (),
            "Introspect": lambda path: (introspect(path),),
            "Get": self._get,
            "GetAll": lambda path, interface: (self._properties(path, interface),),
            "Set": self._set,
            "Activate": self._activate,
            # Nothing of ours happens then; an error would only fill the panel's log.
            "SecondaryActivate": lambda *_: (),
            "ContextMenu": lambda *_: (),
            "Scroll": lambda *_: (),
            "ProvideXdgActivationToken": lambda *_: (),
            "GetLayout": self._get_layout,
            "GetGroupProperties": lambda _path, numbers, names: (self._menu.group(numbers, names),),
            "GetProperty": self._get_property,
            "Event": self._event,
            "EventGroup": self._event_group,
            "AboutToShow": self._about_to_show,
            "AboutToShowGroup": self._about_to_show_group,
        }

    def answer(self, path: str, interface: str | None, member: str, signature: str, body: tuple[Any, ...]) -> Any:
        """Return the signature of the answer and its values. Raises Refused."""
        arguments, results = method(path, interface, member)
        if signature != arguments:
            raise Refused("InvalidArgs", f"{member} takes ({arguments})")
        return results, self._members[member](path, *body)

    # --- properties

    def _get(self, path: str, interface: str, name: str) -> tuple[Variant]:
        try:
            return (self._properties(path, interface)[name],)
        except KeyError:
            raise Refused("UnknownProperty", f"{interface} has no {name}") from None

    def _set(self, path: str, interface: str, name: str, _value: Variant) -> tuple[()]:
        self._get(path, interface, name)
        raise Refused("PropertyReadOnly", f"{name} can only be read")

    def _properties(self, path: str, interface: str) -> dict[str, Variant]:
        if (path, interface) == (ITEM_PATH, ITEM.name):
            return item.properties(self._name, self._host.shown)
        if (path, interface) == (MENU_PATH, MENU.name):
            return menu.PROPERTIES
        if any(interface == one.name for one in (*OBJECTS[path], *COMMON)):
            return {}
        raise Refused("UnknownInterface", f"no {interface} at {path}")

    # --- the icon

    def _activate(self, _path: str, _x: int, _y: int) -> tuple[()]:
        if not self._menu.has_default():
            raise Refused("UnknownMethod", "a click on this icon does nothing")  # panels open the menu then
        self._host.clicked(None)
        return ()

    # --- the menu

    @property
    def _menu(self) -> menu.Tree:
        return self._host.shown.menu

    def _get_layout(self, _path: str, number: int, depth: int, names: list[str]) -> tuple[Any, ...]:
        self._check(number)
        return self._menu.revision, self._menu.layout(number, depth, names)

    def _get_property(self, _path: str, number: int, name: str) -> tuple[Variant]:
        try:
            return (self._menu.property(number, name),)
        except KeyError:
            raise Refused("InvalidArgs", f"item {number} has no {name}") from None

    def _event(self, _path: str, number: int, kind: str, _data: Variant, _time: int) -> tuple[()]:
        self._check(number)
        self._happened(number, kind)
        return ()

    def _event_group(self, _path: str, events: list[tuple[int, str, Variant, int]]) -> tuple[list[int]]:
        _, missing = self._sorted_out([number for number, *_ in events])
        for number, kind, *_ in events:
            self._happened(number, kind)
        return (missing,)

    def _happened(self, number: int, kind: str) -> None:
        chosen = self._menu.clickable(number) if kind == "clicked" else None
        if chosen is not None:
            self._host.clicked(chosen)

    def _about_to_show(self, _path: str, number: int) -> tuple[bool]:
        self._check(number)
        if number == ROOT:
            self._host.opening()
        return (self._host.announce(),)

    def _about_to_show_group(self, _path: str, numbers: list[int]) -> tuple[list[int], list[int]]:
        known, missing = self._sorted_out(numbers)
        if ROOT in known:
            self._host.opening()
        return (known if self._host.announce() else [], missing)

    def _check(self, number: int) -> None:
        if number not in self._menu:
            raise Refused("InvalidArgs", f"the menu has no item {number}")

    def _sorted_out(self, numbers: list[int]) -> tuple[list[int], list[int]]:
        """Return those that there are and those that there aren't; it is an error only when there are none, says the protocol."""
        known = [number for number in numbers if number in self._menu]
        if numbers and not known:
            raise Refused("InvalidArgs", f"the menu has none of the items {numbers}")
        return known, [number for number in numbers if number not in self._menu]
