"""Makes assets/hicolor from assets/slothtray.svg, and a contact sheet to judge it by.

    python3 packaging/icons.py                     rewrites the PNGs (needs rsvg-convert: Debian's librsvg2-bin)
    python3 packaging/icons.py --sheet FILE.png    all looks side by side: light, dark, in grey and as a deuteranope sees them
    python3 packaging/icons.py --states FILE.png   the README's picture: the five states, light, dark and in grey

The PNGs are committed: nothing at build or run time needs this script. Layout and names are those of a hicolor icon theme.
"""

import argparse
import io
import shutil
import subprocess
from pathlib import Path

from PIL import Image

ASSETS = Path(__file__).resolve().parent.parent / "assets"
SIZES = (16, 22, 24, 32, 48, 64, 128, 256)
TRAY_MAX = 128  # no panel draws a tray icon larger
COLOURS = {  # fur and its edge; told apart in grey by the eyes, and by lightness where colours can do it
    "idle": ("#a1968a", "#6d635a"),
    "waiting": ("#f7b021", "#a86b00"),
    "running": ("#16a56c", "#0b6a45"),
    "paused": ("#5a98f2", "#2559ad"),
}
HIDDEN = {
    "idle": (),
    "waiting": ("right-shut",),
    "running": ("left-shut", "right-shut"),
    "paused": ("left-shut", "right-shut"),
}
SHOWN = {"idle": (), "waiting": ("right-open",), "running": ("left-open", "right-open"), "paused": ("bars",)}


def stylesheet(face: str, *, alert: bool) -> str:
    """The CSS that turns the drawing into one look; "" for the plain mark."""
    fill, edge = COLOURS[face]
    rules = [f"#fur {{ fill: {fill} !important; stroke: {edge} !important }}"]
    rules += [f"#{part} {{ display: none !important }}" for part in HIDDEN[face]]
    rules += [f"#{part} {{ display: inline !important }}" for part in SHOWN[face]]
    if alert:
        rules += ["#badge { display: inline !important }", "#face { mask: url(#room-for-badge) !important }"]
    return "\n".join(rules)


def render(css: str, size: int) -> Image.Image:
    """The drawing under this stylesheet, ``size`` pixels square, RGBA."""
    command = ["rsvg-convert", "-w", str(size), "-h", str(size), "--stylesheet", "/dev/stdin", str(ASSETS / "slothtray.svg")]
    out = subprocess.run(command, input=css.encode(), stdout=subprocess.PIPE, check=True).stdout
    return Image.open(io.BytesIO(out)).convert("RGBA")


def looks() -> list[tuple[str, str]]:
    """Name and stylesheet of every look of the tray icon."""
    return [
        look
        for face in COLOURS
        for look in (
            (f"slothtray-{face}", stylesheet(face, alert=False)),
            (f"slothtray-{face}-alert", stylesheet(face, alert=True)),
        )
    ]


def write(image: Image.Image, size: int, context: str, name: str) -> None:
    """One PNG at its place in the theme; from 32 px on in 128 colours, which no eye tells from the original and halves the file."""
    folder = ASSETS / "hicolor" / f"{size}x{size}" / context
    folder.mkdir(parents=True, exist_ok=True)
    small = image if size < 32 else image.quantize(128, method=Image.Quantize.FASTOCTREE)
    small.save(folder / f"{name}.png", optimize=True)


def make() -> None:
    """All PNGs anew."""
    shutil.rmtree(ASSETS / "hicolor", ignore_errors=True)
    for size in SIZES:
        write(render("", size), size, "apps", "slothtray")
        for name, css in looks() if size <= TRAY_MAX else []:
            write(render(css, size), size, "status", name)


def deuteranope(image: Image.Image) -> Image.Image:
    """About what the commonest colour blindness sees (Viénot 1999, without the linear-light step)."""
    matrix = (0.293, 0.707, 0.0, 0, 0.293, 0.707, 0.0, 0, -0.022, 0.022, 1.0, 0)
    return image.convert("RGB", matrix)


PANELS = ((245, 245, 245), (46, 50, 54))
"""A light and a dark one."""
STATES = ("idle", "waiting", "running", "paused", "idle-alert")


def side_by_side(names: list[str], sizes: tuple[int, ...], ground: tuple[int, int, int]) -> Image.Image:
    """These looks from the files, a column each, on a panel of that colour."""
    panel = Image.new("RGB", (len(names) * 72 + 8, sum(size + 12 for size in sizes) + 8), ground)
    top = 8
    for size in sizes:
        for column, name in enumerate(names):
            icon = Image.open(ASSETS / "hicolor" / f"{size}x{size}" / "status" / f"{name}.png").convert("RGBA")
            panel.paste(icon, (8 + column * 72 + (64 - size) // 2, top), icon)
        top += size + 12
    return panel


def grey(image: Image.Image) -> Image.Image:
    """What is left without colours."""
    return image.convert("L").convert("RGB")


def put_together(columns: list[list[Image.Image]], target: str) -> None:
    """Write pictures of one size as one."""
    width, height = columns[0][0].size
    whole = Image.new("RGB", (width * len(columns), height * len(columns[0])))
    for x, column in enumerate(columns):
        for y, picture in enumerate(column):
            whole.paste(picture, (x * width, y * height))
    whole.quantize(255).save(target, optimize=True)


def sheet(target: str) -> None:
    """All looks, 16 to 64 px, on a light and a dark panel, each in colour, grey and as a deuteranope sees it."""
    names = [name for name, _ in looks()]
    panels = [side_by_side(names, (16, 22, 24, 32, 64), ground) for ground in PANELS]
    put_together([[panel, grey(panel), deuteranope(panel)] for panel in panels], target)


def states(target: str) -> None:
    """The five states, large and as in a panel, on a light and a dark one, each in colour and in grey."""
    panels = [side_by_side([f"slothtray-{state}" for state in STATES], (64, 22), ground) for ground in PANELS]
    put_together([[panel, grey(panel)] for panel in panels], target)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="make the icons from assets/slothtray.svg")
    parser.add_argument("--sheet", metavar="FILE.png", help="write a contact sheet instead")
    parser.add_argument("--states", metavar="FILE.png", help="write the picture of the five states instead")
    chosen = parser.parse_args()
    if chosen.sheet:
        sheet(chosen.sheet)
    elif chosen.states:
        states(chosen.states)
    else:
        make()


if __name__ == "__main__":
    main()
