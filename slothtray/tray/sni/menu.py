"""A pystray menu as com.canonical.dbusmenu shows it: items with numbers, properties and places.

A panel keeps the menu it was given and knows its items by number. So a number stays with its item whatever that comes to say,
an open menu changes in place, and a number is never given to another item: a click can't hit what took the place meanwhile.
"""

import itertools
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from slothtray.tray.sni.interfaces import Variant

TEXT_LIMIT = 4096
"""Characters of a text; the bus hangs up on whoever sends too much, and no panel shows as many."""

DEFAULTS: dict[str, Variant] = {
    "type": ("s", "standard"),
    "label": ("s", ""),
    "enabled": ("b", True),
    "visible": ("b", True),
    "icon-name": ("s", ""),
    "icon-data": ("ay", b""),
    "shortcut": ("aas", []),
    "toggle-type": ("s", ""),
    "toggle-state": ("i", -1),
    "children-display": ("s", ""),
    "disposition": ("s", "normal"),
    "accessible-desc": ("s", ""),
}
"""What a property is when an item doesn't have it; the protocol's own list."""

PROPERTIES: dict[str, Variant] = {
    "Version": ("u", 3),
    "TextDirection": ("s", "ltr"),
    "Status": ("s", "normal"),
    "IconThemePath": ("as", []),
}
"""Those of the menu as a whole."""

Properties = dict[str, Variant]


def text(words: object) -> str:
    """Return what may be sent of a text: D-Bus knows neither NUL nor lone surrogates."""
    return str(words)[:TEXT_LIMIT].replace("\0", "").encode("utf-8", "replace").decode()


class Line(NamedTuple):
    """An item as it is to be shown, without a number yet."""

    item: Any
    properties: Properties
    children: tuple["Line", ...] = ()


class Node(NamedTuple):
    """An item with its number. ``item`` is pystray's; None for the root, which is number 0."""

    id: int
    item: Any
    properties: Properties
    children: tuple["Node", ...]


def lines(menu: Iterable[Any] | None, separator: object) -> tuple[Line, ...]:
    """Ask a pystray menu, or nothing, for its items as they are now. ``separator`` is pystray's own."""
    return tuple(_line(item, separator) for item in menu or ())


def _line(item: Any, separator: object) -> Line:
    if item is separator:
        return Line(item, {"type": ("s", "separator")})
    properties: Properties = {
        "label": ("s", text(item.text).replace("_", "__")),  # a single one underlines what follows
        "enabled": ("b", bool(item.enabled)),
    }
    checked = item.checked
    if checked is not None:
        properties["toggle-type"] = ("s", "radio" if item.radio else "checkmark")
        properties["toggle-state"] = ("i", int(bool(checked)))
    if not item.submenu:
        return Line(item, properties)
    properties["children-display"] = ("s", "submenu")
    return Line(item, properties, lines(item.submenu, separator))


class Tree:
    """A menu as it is shown, from one change to the next. Never changes itself."""

    def __init__(self, root: Node, revision: int, numbers: Iterator[int]) -> None:
        """``numbers`` gives those never used before."""
        self.revision = revision
        self._numbers = numbers
        self._nodes = {node.id: node for node in _all(root)}

    def after(self, new: tuple[Line, ...]) -> "Tree":
        """Return the tree that shows ``new``; what was there keeps its number. The revision tells whether anything has moved."""
        root = self._nodes[0]._replace(children=self._numbered(self._nodes[0].children, new))
        moved = _shape(root) != _shape(self._nodes[0])
        return Tree(root, self.revision + moved, self._numbers)

    def _numbered(self, old: tuple[Node, ...], new: tuple[Line, ...]) -> tuple[Node, ...]:
        found = _matches(old, new)
        return tuple(
            Node(
                node.id if node else next(self._numbers),
                line.item,
                line.properties,
                self._numbered(node.children if node else (), line.children),
            )
            for line, node in zip(new, found, strict=True)
        )

    def __contains__(self, number: int) -> bool:
        return number in self._nodes

    def __getitem__(self, number: int) -> Node:
        return self._nodes[number]

    def clickable(self, number: int) -> Any:
        """Return pystray's item of that number if a click may do something; else None."""
        node = self._nodes.get(number)
        return node.item if node and _value(node, "enabled") else None

    def has_default(self) -> bool:
        """Whether a plain click on the icon does something: pystray takes items of the top level only."""
        return any(node.item.default for node in self._nodes[0].children)

    def layout(self, number: int, depth: int, names: list[str]) -> tuple[int, Properties, list[Variant]]:
        """Return an item and ``depth`` levels below it (-1: all), with the properties of those names (none: all). KeyError."""
        return _layout(self._nodes[number], depth, set(names))

    def group(self, numbers: list[int], names: list[str]) -> list[tuple[int, Properties]]:
        """Return the properties of those items (none: of all) that exist."""
        wanted = numbers or list(self._nodes)
        return [(number, _named(self._nodes[number], set(names))) for number in wanted if number in self._nodes]

    def property(self, number: int, name: str) -> Variant:
        """Return one property. KeyError when there is no such item or property."""
        return self._nodes[number].properties.get(name) or DEFAULTS[name]

    def news(self, old: "Tree") -> tuple[list[tuple[int, Properties]], list[tuple[int, list[str]]]]:
        """Return the properties that differ from an older tree of the same revision, and those that are no more."""
        changed, gone = [], []
        for number, node in self._nodes.items():
            before, now = old[number].properties, node.properties
            if fresh := {name: value for name, value in now.items() if before.get(name) != value}:
                changed.append((number, fresh))
            if lost := [name for name in before if name not in now]:
                gone.append((number, lost))
        return changed, gone


def empty() -> Tree:
    """Return the menu before the first."""
    return Tree(Node(0, None, {"children-display": ("s", "submenu")}, ()), 1, itertools.count(1))


def _matches(old: tuple[Node, ...], new: tuple[Line, ...]) -> list[Node | None]:
    """Find for each new line the old item that it is; None: it is new."""
    found: list[Node | None] = [None] * len(new)
    left = list(old)
    for sameness in (_who, _what):
        known: defaultdict[Hashable, deque[Node]] = defaultdict(deque)
        for node in left:
            known[sameness(node)].append(node)
        for place, line in enumerate(new):
            same = known[sameness(line)]
            if found[place] is None and same:
                found[place] = same.popleft()
        left = [node for same in known.values() for node in same]
    return found


def _who(one: Line | Node) -> Hashable:
    """An item is itself by the key that its maker gave it, or as the very same object. Old ones are kept: ids don't recur."""
    key = getattr(one.item, "key", None)
    return (_kind(one), "item", id(one.item)) if key is None else (_kind(one), "key", key)


def _what(one: Line | Node) -> Hashable:
    """A menu that is made anew each time has no same objects; there what says the same is the same."""
    if getattr(one.item, "key", None) is not None:
        return _who(one)
    return (_kind(one), "label", one.properties.get("label"))


def _kind(one: Line | Node) -> Hashable:
    """What an item can't change without becoming another one: panels don't follow."""
    return one.properties.get("type"), one.properties.get("toggle-type"), bool(one.children)


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _all(child)


def _shape(node: Node) -> tuple[Any, ...]:
    return node.id, tuple(map(_shape, node.children))


def _value(node: Node, name: str) -> object:
    return node.properties.get(name, DEFAULTS[name])[1]


def _named(node: Node, names: set[str]) -> Properties:
    return {name: value for name, value in node.properties.items() if name in names} if names else node.properties


def _layout(node: Node, depth: int, names: set[str]) -> tuple[int, Properties, list[Variant]]:
    below = node.children if depth else ()
    children: list[Variant] = [("(ia{sv}av)", _layout(child, depth - 1, names)) for child in below]
    return node.id, _named(node, names), children
