"""The icon's pictures: told apart by shape as well as by colour, on light and dark panels."""

import itertools

import pytest
from PIL import Image, ImageChops, ImageStat

from slothtray.model import Face
from slothtray.tray.icon import SIZES, Look, image, path

LOOKS = [Look(face, badge) for face in Face for badge in (False, True)]
PANELS = {"light": (245, 245, 245), "dark": (46, 50, 54)}
PAIRS = list(itertools.combinations(LOOKS, 2))


def on(panel, look, size):
    ground = Image.new("RGB", (size, size), PANELS[panel])
    ground.paste(image(look, size), (0, 0), image(look, size))
    return ground


def difference(one, other):
    return sum(ImageStat.Stat(ImageChops.difference(one, other)).mean)


def shape(look, size):
    """What is left without any colour: where it is nearly black, nearly white, or neither. The furs are all neither."""
    ground = Image.new("RGB", (size, size), (128, 128, 128))
    ground.paste(image(look, size), (0, 0), image(look, size))
    return [(value > 60) + (value > 225) for value in ground.convert("L").tobytes()]


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_every_look_is_drawn_at_every_size(look):
    for size in SIZES:
        with Image.open(path(look, size)) as file:
            assert file.size == (size, size)
        assert image(look, size).mode == "RGBA"
        assert image(look, size).getpixel((0, 0))[3] == 0  # no corner on the panel


@pytest.mark.parametrize("size", [1, 18, 40, 200])
def test_any_other_size_is_scaled(size):
    assert image(LOOKS[0], size).size == (size, size)


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda look: look.name)
@pytest.mark.parametrize("size", [16, 22, 32])
def test_two_looks_differ_in_colour_and_in_shape(one, other, size):
    if one.face is not other.face:
        assert all(difference(on(panel, one, size), on(panel, other, size)) > 60 for panel in PANELS)
    differing = sum(a != b for a, b in zip(shape(one, size), shape(other, size), strict=True))
    assert differing / size**2 > 0.04  # of the area; the same drawing in two furs differs by 0.012 at most


@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_a_look_stands_out_from_the_panel(look, panel):
    picture = on(panel, look, 16)
    ground = PANELS[panel]
    seen = sum(contrast(picture.getpixel((x, y)), ground) >= 1.8 for x in range(16) for y in range(16))
    assert seen >= 80  # pixels of 256; the disc has about 180


def contrast(one, other):
    """WCAG's ratio, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_picture_is_made_once():
    assert image(LOOKS[0], 22) is image(LOOKS[0], 22)
