"""Real panels on a private desktop, and slothtray's icon in them: looked at by its pixels, used by the mouse."""

import glob
import itertools
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from desktop_session import GI_PYTHON, spots, text_rows, until
from PIL import Image, ImageChops
from standin import ITEM, ITEM_PATH, MENU, PROPERTIES, WATCHER, Panel, plain

from slothtray.model import Face
from slothtray.tray.icon import Look, image

DRIVER = Path(__file__).with_name("tray_driver.py")
LIMIT = 40.0
FUR = {face: image(Look(face, badge=False), 64).getpixel((32, 9))[:3] for face in Face}
BADGE = image(Look(Face.IDLE, badge=True), 64).getpixel((40, 52))[:3]
COMMON = 8
"""Pixels of a colour that count as seen; at 24 px a face has 55 to 130 of its fur's."""

XFCE_PANEL = """<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array"><value type="int" value="1"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=8;x=0;y=0"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="size" type="uint" value="30"/>
      <property name="icon-size" type="uint" value="24"/>
      <property name="length" type="uint" value="100"/>
      <property name="plugin-ids" type="array"><value type="int" value="1"/><value type="int" value="2"/></property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="separator"><property name="expand" type="bool" value="true"/></property>
    <property name="plugin-2" type="string" value="systray"/>
  </property>
</channel>
"""
SWAY = """xwayland disable
output X11-1 resolution 640x480
output * bg #202020 solid_color
exec touch {folder}/ready
"""
WAYBAR = """{"layer": "top", "position": "bottom", "height": 30, "modules-right": ["tray"], "tray": {"icon-size": 24}}"""
WAYBAR_STYLE = "window#waybar { background: #dedede; }"


# --- the panels


def folders(folder):
    """A home of the session's own, as variables."""
    names = {"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data", "XDG_RUNTIME_DIR": "run"}
    for name in names.values():
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    return {variable: str(folder / name) for variable, name in names.items()}


@contextmanager
def xfce_services(desktop):
    """What xfce4-panel needs: its settings and a window manager. A panel goes on it with ``xfce4_panel``."""
    desktop.env.update(folders(desktop.folder), GSETTINGS_BACKEND="memory")
    channel = desktop.folder / "config/xfce4/xfconf/xfce-perchannel-xml"
    channel.mkdir(parents=True)
    (channel / "xfce4-panel.xml").write_text(XFCE_PANEL)
    (settings,) = glob.glob("/usr/lib/*/xfce4/xfconf/xfconfd")
    with desktop.program(settings), desktop.program("xfwm4", "--compositor=off"):
        until(lambda: desktop.bus.owned("org.xfce.Xfconf"), LIMIT)
        yield


@contextmanager
def xfce4_panel(desktop):
    """The panel along the lower edge, its tray in the right corner; both kinds of tray, as its process."""
    with desktop.program("xfce4-panel", "--disable-wm-check") as process:
        until(lambda: desktop.bus.owned(WATCHER) and desktop.has_tray(), LIMIT)
        yield process


@contextmanager
def sway(desktop, backend="x11"):
    """Sway in an X window that fills the screen, or "headless"; what starts a program in it: words before its own, and variables.

    It refuses root, so it runs as nobody then.
    """
    variables = folders(desktop.folder)
    for name, text in {"sway/config": SWAY.format(folder=desktop.folder / "run"), "waybar/config": WAYBAR, "waybar/style.css": WAYBAR_STYLE}.items():
        path = desktop.folder / "config" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    as_nobody = give_away(desktop.folder, list(variables.values())) if os.geteuid() == 0 else []
    env = {**desktop.env, **variables, "WLR_BACKENDS": backend, "WLR_RENDERER": "pixman", "WLR_LIBINPUT_NO_DEVICES": "1", "XDG_CURRENT_DESKTOP": "sway"}
    run = desktop.folder / "run"
    with desktop.program(*as_nobody, "sway", env=env):
        until((run / "ready").exists, LIMIT)
        (display,) = (path.name for path in run.glob("wayland-?"))
        wayland = {**env, "WAYLAND_DISPLAY": display, "GDK_BACKEND": "wayland", "GSETTINGS_BACKEND": "memory"}
        del wayland["DISPLAY"]
        yield as_nobody, wayland


@contextmanager
def waybar(desktop):
    """Waybar in sway on the screen, along the lower edge, as its process."""
    with sway(desktop) as (as_nobody, env), desktop.program(*as_nobody, "waybar", env=env) as process:
        until(lambda: desktop.bus.owned(WATCHER), LIMIT)
        yield process


def give_away(folder, paths):
    """Let nobody use these folders and the bus; the words that start a program as nobody."""
    for parent in (folder, *folder.parents[:3]):  # pytest's own are closed to others
        parent.chmod(parent.stat().st_mode | 0o011)
    Path(folder, "bus.sock").chmod(0o666)
    subprocess.run(["chown", "-R", "nobody:nogroup", *paths], check=True)
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


# --- the icon


class Looks(NamedTuple):
    """How a panel draws: what it leaves of a colour (on black), how far about an icon's middle it is highlighted, a menu's edge.

    ``pointer``: it is in the pictures, too.
    """

    strength: float = 1.0
    highlight: int = 16
    edge: int = 0
    pointer: bool = False


class App:
    """The tray application in a process of its own."""

    def __init__(self, desktop, process):
        self.desktop = desktop
        self.process = process
        self.when_open = lambda: None
        """Called while the menu is open."""
        self.looks = Looks()

    def colour_spots(self, photo, colour):
        """As ``spots``, of one of the icon's colours as it is seen here."""
        return spots(photo, [round(self.looks.strength * part) for part in colour])

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def said(self):
        return self.process.stdout.readline().split()

    def shows(self, face):
        """Whether the screen shows this face and no other."""
        photo = self.desktop.photo()
        return {one for one in Face if self.colour_spots(photo, FUR[one])[0] >= COMMON} == {face}

    def shows_nothing(self):
        """Whether no face is to be seen."""
        photo = self.desktop.photo()
        return all(self.colour_spots(photo, colour)[0] < COMMON for colour in FUR.values())

    def warns(self):
        """Whether the badge is to be seen."""
        return self.colour_spots(self.desktop.photo(), BADGE)[0] >= COMMON

    def place(self):
        """The middle of the icon."""
        photo = self.desktop.photo()
        left, top, right, bottom = max((self.colour_spots(photo, colour) for colour in FUR.values()), key=lambda seen: seen[0])[1]
        return (left + right) // 2, (top + bottom) // 2

    def blended(self, face, beside):
        """Whether the icon is its picture laid on the panel's own ground, edges and all; ``beside``: from its middle to bare ground."""
        photo = self.desktop.photo()
        x, y = self.place()
        ground = photo.getpixel((x + beside[0], y + beside[1]))
        for size in range(16, 31):
            picture = image(Look(face, badge=False), size)
            wanted = Image.new("RGB", (size, size), ground)
            wanted.paste(picture, (0, 0), picture)
            for dx, dy in itertools.product(range(-2, 3), repeat=2):
                left, top = x - size // 2 + dx, y - size // 2 + dy
                differences = ImageChops.difference(wanted, photo.crop((left, top, left + size, top + size)))
                if max(high for _low, high in differences.getextrema()) <= 3:
                    return True
        return False

    def open_menu(self):
        """Right click on the icon; the menu's box on the screen, once it doesn't change any more."""
        x, y = self.place()
        if self.looks.pointer:
            self.desktop.run("xdotool", "mousemove", str(x), str(y), "sleep", "0.5")
        before = self.desktop.photo()
        self.desktop.click(x, y, 3)
        boxes, near, edge = [None], self.looks.highlight, self.looks.edge

        def steady():
            changes = ImageChops.difference(before, self.desktop.photo())
            changes.paste(0, (x - near, y - near, x + near, y + near))
            boxes.append(changes.getbbox())
            return boxes[-1] == boxes[-2] and boxes[-1]

        left, top, right, bottom = until(steady, LIMIT)
        return left + edge, top + edge, right - edge, bottom - edge

    def choose(self, line):
        """Open the menu and click its ``line``-th line of text, from 0; how many there are."""
        box = self.open_menu()
        self.when_open()
        rows = text_rows(self.desktop.photo().crop(box))
        self.click_row(box, rows[line])
        return len(rows)

    def click_row(self, box, row):
        """Click a line of the menu that is open in this box."""
        left, top, right, _bottom = box
        self.desktop.click(left + (right - left) // 2, top + sum(row) // 2, 1)


class SniApp(App):
    """The same, and known to a watcher: so its words can be asked for."""

    def lines(self):
        """The words of the menu's lines, from the top."""
        with self._asking() as (ask, _name, menu):
            _, root = ask(menu, MENU, "GetLayout", "iias", 0, 1, [])
        return [properties["label"] for _id, properties, _children in plain(root)[2] if "label" in properties]

    def choose_over_bus(self, words):
        """Choose that line with the calls that a panel makes for a click, and no mouse."""
        with self._asking() as (ask, _name, menu):
            ask(menu, MENU, "AboutToShow", "i", 0)
            _, root = ask(menu, MENU, "GetLayout", "iias", 0, -1, [])
            number = next(number for number, properties, _children in plain(root)[2] if properties.get("label") == words)
            ask(menu, MENU, "Event", "isvu", number, "clicked", ("s", ""), 0)

    @contextmanager
    def _asking(self):
        """What calls the icon, the icon's name, and its menu's path. Other programs may have icons, too."""
        with Panel(self.desktop.bus, watch=False) as panel:
            items = panel.reply(panel.send(WATCHER, "/StatusNotifierWatcher", PROPERTIES, "Get", "ss", WATCHER, "RegisteredStatusNotifierItems"))
            for name in [item.partition("/")[0].rstrip("@") for item in items[1]]:
                ask = lambda *call, name=name: panel.reply(panel.send(name, *call))  # noqa: E731 - a call with its first word filled in
                if ask(ITEM_PATH, PROPERTIES, "Get", "ss", ITEM, "Id")[1] == "slothtray":
                    yield ask, name, ask(ITEM_PATH, PROPERTIES, "Get", "ss", ITEM, "Menu")[1]
                    return
            raise AssertionError(f"our icon is not among {items[1]}")

    def choose(self, words):
        """Open the menu and click the line that says this, once there are as many lines to be seen as it has."""
        box = self.open_menu()
        self.when_open()

        def drawn():
            lines, rows = self.lines(), text_rows(self.desktop.photo().crop(box))
            return len(lines) == len(rows) and (lines, rows)

        lines, rows = until(drawn, LIMIT)
        self.click_row(box, rows[lines.index(words)])


@contextmanager
def app_on(desktop, backend):
    """The icon by one of the backends; gtk and appindicator need the Python that has PyGObject."""
    needs_gi = backend in ("gtk", "appindicator")
    assert not needs_gi or GI_PYTHON.exists(), "packaging/dev.py test makes .venv-gi"
    python = str(GI_PYTHON) if needs_gi else sys.executable
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with desktop.program(python, str(DRIVER), env={**desktop.env, "SLOTHTRAY_TRAY": backend}, **pipes) as process:
        yield (SniApp if backend == "sni" else App)(desktop, process)
