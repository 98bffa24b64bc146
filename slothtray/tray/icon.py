"""The icon's pictures: Pillow images of each look at any size, from the PNGs in ``assets/hicolor``."""

from functools import lru_cache
from typing import NamedTuple

from PIL import Image

from slothtray import assets
from slothtray.model import Face

SIZES = (16, 22, 24, 32, 48, 64, 128)
"""The sizes, in pixels, that were drawn and looked at; others are scaled from the next larger one."""


class Look(NamedTuple):
    """A face with or without its badge: one of eight pictures."""

    face: Face
    badge: bool

    @property
    def name(self) -> str:
        """Its name in the icon theme."""
        return f"slothtray-{self.face}-alert" if self.badge else f"slothtray-{self.face}"


def path(look: Look, size: int) -> str:
    """The PNG to scale from for ``size`` pixels. FileNotFoundError when the installation is broken."""
    drawn = next((one for one in SIZES if one >= size), SIZES[-1])
    return assets.path(f"hicolor/{drawn}x{drawn}/status/{look.name}.png")


@lru_cache(maxsize=64)
def image(look: Look, size: int) -> Image.Image:
    """The look as an RGBA image of ``size`` × ``size`` pixels. It is shared: not to be drawn on."""
    with Image.open(path(look, size)) as file:
        picture = file.convert("RGBA")
    if picture.size != (size, size):
        picture = picture.resize((size, size), Image.Resampling.LANCZOS)
    return picture
