"""The D-Bus interfaces of a tray icon and its menu, as tables: calls are checked against them, introspection is made from them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

ITEM_PATH = "/StatusNotifierItem"
"""Where panels look when they are told nothing but a bus name."""
MENU_PATH = "/MenuBar"

Variant = tuple[str, object]
"""A value and, before it, its D-Bus signature."""


class Refused(Exception):
    """A call that gets an error for an answer. ``name`` is D-Bus's name for it."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.name = f"org.freedesktop.DBus.Error.{kind}"


class Interface(NamedTuple):
    """What one interface offers. The types of arguments and results stand apart, as in ``"i as"``."""

    name: str
    methods: Mapping[str, tuple[str, str]]
    properties: Mapping[str, str] = MappingProxyType({})
    signals: Mapping[str, str] = MappingProxyType({})

    def xml(self) -> str:
        """Return its part of an introspection document."""
        members = [
            *(_method(name, *types) for name, types in self.methods.items()),
            *(f'<property name="{name}" type="{type_}" access="read"/>' for name, type_ in self.properties.items()),
            *(f'<signal name="{name}">{_arguments(types)}</signal>' for name, types in self.signals.items()),
        ]
        return f'<interface name="{self.name}">{"".join(members)}</interface>'


def _method(name: str, arguments: str, results: str) -> str:
    inner = _arguments(arguments, ' direction="in"') + _arguments(results, ' direction="out"')
    return f'<method name="{name}">{inner}</method>'


def _arguments(types: str, direction: str = "") -> str:
    return "".join(f'<arg type="{type_}"{direction}/>' for type_ in types.split())


ITEM = Interface(
    "org.kde.StatusNotifierItem",
    methods={
        "Activate": ("i i", ""),
        "SecondaryActivate": ("i i", ""),
        "ContextMenu": ("i i", ""),
        "Scroll": ("i s", ""),
        "ProvideXdgActivationToken": ("s", ""),
    },
    properties={
        "Category": "s",
        "Id": "s",
        "Title": "s",
        "Status": "s",
        "WindowId": "i",
        "IconThemePath": "s",
        "IconName": "s",
        "IconPixmap": "a(iiay)",
        "IconAccessibleDesc": "s",
        "OverlayIconName": "s",
        "OverlayIconPixmap": "a(iiay)",
        "AttentionIconName": "s",
        "AttentionIconPixmap": "a(iiay)",
        "AttentionAccessibleDesc": "s",
        "AttentionMovieName": "s",
        "ToolTip": "(sa(iiay)ss)",
        "ItemIsMenu": "b",
        "Menu": "o",
    },
    signals={
        "NewTitle": "",
        "NewIcon": "",
        "NewAttentionIcon": "",
        "NewOverlayIcon": "",
        "NewToolTip": "",
        "NewStatus": "s",
    },
)

MENU = Interface(
    "com.canonical.dbusmenu",
    methods={
        "GetLayout": ("i i as", "u (ia{sv}av)"),
        "GetGroupProperties": ("ai as", "a(ia{sv})"),
        "GetProperty": ("i s", "v"),
        "Event": ("i s v u", ""),
        "EventGroup": ("a(isvu)", "ai"),
        "AboutToShow": ("i", "b"),
        "AboutToShowGroup": ("ai", "ai ai"),
    },
    properties={"Version": "u", "TextDirection": "s", "Status": "s", "IconThemePath": "as"},
    signals={
        "ItemsPropertiesUpdated": "a(ia{sv}) a(ias)",
        "LayoutUpdated": "u i",
        "ItemActivationRequested": "i u",
    },
)

PROPERTIES = Interface(
    "org.freedesktop.DBus.Properties",
    methods={"Get": ("s s", "v"), "GetAll": ("s", "a{sv}"), "Set": ("s s v", "")},
    signals={"PropertiesChanged": "s a{sv} as"},
)

INTROSPECTABLE = Interface("org.freedesktop.DBus.Introspectable", methods={"Introspect": ("", "s")})

PEER = Interface("org.freedesktop.DBus.Peer", methods={"Ping": ("", "")})

OBJECTS: dict[str, tuple[Interface, ...]] = {
    "/": (),
    ITEM_PATH: (ITEM, PROPERTIES),
    MENU_PATH: (MENU, PROPERTIES),
}
"""What stands at each path, beside what stands at every path."""

COMMON = (INTROSPECTABLE, PEER)


def method(path: str, interface: str | None, member: str) -> tuple[str, str]:
    """Return the signatures of a method's arguments and results; without an interface any will do. Raises Refused."""
    offered = [one for one in (*OBJECTS.get(path, ()), *COMMON) if interface in (None, one.name)]
    for one in offered:
        if member in one.methods:
            arguments, results = one.methods[member]
            return arguments.replace(" ", ""), results.replace(" ", "")
    if path not in OBJECTS:
        raise Refused("UnknownObject", f"nothing at {path}")
    if not offered:
        raise Refused("UnknownInterface", f"no {interface} at {path}")
    raise Refused("UnknownMethod", f"no {member} at {path}")


def introspect(path: str) -> str:
    """Return the description of what stands at a path; of a path where nothing does, the empty one, as is usual."""
    if path not in OBJECTS:
        return "<node/>"
    children = "".join(f'<node name="{other[1:]}"/>' for other in OBJECTS if path == "/" != other)
    return f"<node>{''.join(interface.xml() for interface in (*OBJECTS[path], *COMMON))}{children}</node>"
