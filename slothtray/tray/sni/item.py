"""What is to be seen of an icon, as a value, and the properties by which a panel gets to know it."""

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from PIL import Image

from slothtray.tray.sni.interfaces import MENU_PATH, Variant
from slothtray.tray.sni.menu import Tree, text

_log = logging.getLogger(__name__)

SIZES = (16, 22, 24, 32, 48, 64)
"""Pixels; a picture that comes in one size only is offered in these. Panels take what fits, or scale the largest."""

Pixmap = tuple[int, int, bytes]
"""Width, height and ARGB32 in network byte order."""


class Pictures:
    """One picture in one or several sizes. Made into what D-Bus takes when first asked for: most of a flood is never shown."""

    def __init__(self, images: Sequence[Image.Image]) -> None:
        self._images = images

    @cached_property
    def pixmaps(self) -> list[Pixmap]:
        """All sizes, the smallest first."""
        try:
            images = _scaled(self._images[0]) if len(self._images) == 1 else self._images
            return sorted(map(_pixmap, images))
        except Exception:
            _log.exception("a picture that can't be shown")  # the rest of the icon still can
            return []


def _scaled(image: Image.Image) -> list[Image.Image]:
    """Return the picture in all the usual sizes it is large enough for, and at least in the smallest."""
    sizes = [size for size in SIZES if size <= max(image.size)] or [SIZES[0]]
    return [_fitted(image.convert("RGBA"), size) for size in sizes]


def _fitted(image: Image.Image, size: int) -> Image.Image:
    """Return a square of that size with the whole picture in its middle."""
    scale = size / max(image.size)
    width, height = (max(1, round(scale * length)) for length in image.size)
    square = Image.new("RGBA", (size, size))
    square.paste(image.resize((width, height), Image.Resampling.LANCZOS), ((size - width) // 2, (size - height) // 2))
    return square


def _pixmap(image: Image.Image) -> Pixmap:
    red, green, blue, alpha = image.convert("RGBA").split()
    return image.width, image.height, Image.merge("RGBA", (alpha, red, green, blue)).tobytes()


class Shown(NamedTuple):
    """What is to be seen. ``attention``: it asks for a look, and a panel that hides icons doesn't hide this one."""

    menu: Tree
    pictures: Pictures
    title: str = ""
    visible: bool = False
    attention: bool = False

    @property
    def status(self) -> str:
        """The protocol's word for it."""
        if not self.visible:
            return "Passive"
        return "NeedsAttention" if self.attention else "Active"


def properties(name: str, shown: Shown) -> dict[str, Variant]:
    """Return all properties of the icon, which calls itself ``name``.

    The picture is given under all its names: some panels show the one for attention then, others the usual one.
    """
    title = text(shown.title or name)
    pixmaps = shown.pictures.pixmaps
    return {
        "Category": ("s", "ApplicationStatus"),
        "Id": ("s", text(name)),
        "Title": ("s", title),
        "Status": ("s", shown.status),
        "WindowId": ("i", 0),
        "IconThemePath": ("s", ""),
        "IconName": ("s", ""),
        "IconPixmap": ("a(iiay)", pixmaps),
        "IconAccessibleDesc": ("s", title),
        "OverlayIconName": ("s", ""),
        "OverlayIconPixmap": ("a(iiay)", []),
        "AttentionIconName": ("s", ""),
        "AttentionIconPixmap": ("a(iiay)", pixmaps),
        "AttentionAccessibleDesc": ("s", title),
        "AttentionMovieName": ("s", ""),
        "ToolTip": ("(sa(iiay)ss)", ("", [], title, "")),
        "ItemIsMenu": ("b", not shown.menu.has_default()),
        "Menu": ("o", MENU_PATH),
    }


def signals(before: Shown, now: Shown) -> list[tuple[Any, ...]]:
    """Return what to tell panels about the icon: each signal's name and arguments."""
    told: list[tuple[Any, ...]] = []
    if now.pictures is not before.pictures:
        told.append(("NewIcon",))
    if now.attention and not (before.attention and now.pictures is before.pictures):
        told.append(("NewAttentionIcon",))  # GNOME's extension has kept the one that it saw first
    if now.status != before.status:
        told.append(("NewStatus", now.status))
    if now.title != before.title:
        told += [("NewTitle",), ("NewToolTip",)]
    return told


def pictures_again(shown: Shown) -> list[tuple[Any, ...]]:
    """Return what makes panels ask for the picture once more."""
    return [("NewIcon",), ("NewAttentionIcon",)] if shown.attention else [("NewIcon",)]
