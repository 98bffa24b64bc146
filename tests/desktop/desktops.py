"""Real desktops on a private screen and bus, each with its own panel and its own notifications."""

import os
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from desktop_session import Desktop, until
from panels import Looks, folders
from PIL import ImageChops
from standin import WATCHER
from system.session import NOTIFICATIONS, message_bus_in, screen

SIZE = "1024x768"
SLOW = 60.0
"""Seconds that a desktop may take to come up on a busy machine."""
COMMON = ("xvfb", "dbus", "xdotool")


def body(left, top, right, bottom):
    """A place in a bubble that is no button: a click there is "Open log", too."""
    return (left + right) // 2, top + (bottom - top) // 3


class OnScreen:
    """The bubble of the desktop's own service: what appears on the screen, and takes a click."""

    def __init__(self, desktop, spot=body):
        self.desktop, self.spot, self.box = desktop, spot, None

    def expect(self, icon):
        """One will come, somewhere else than at the ``icon``."""
        self.icon = icon
        self.desktop.run("xdotool", "mousemove", "200", "500", "sleep", "0.5")  # off the icon, whose mark is to be seen
        self.before = self.desktop.photo()

    def is_shown(self):
        """Whether something has appeared that is as large as a bubble, and has come to rest."""
        changes = ImageChops.difference(self.before, self.desktop.photo()).convert("L").point(lambda value: 255 * (value > 8))
        changes.paste(0, (0, self.icon[1] - 24, changes.width, self.icon[1] + 24))  # the panel
        last, self.box = self.box, changes.getbbox()
        return self.box is not None and self.box == last and self.box[2] - self.box[0] > 150 and self.box[3] - self.box[1] > 40

    def choose_log(self):
        """Click where that is."""
        self.desktop.click(*self.spot(*self.box), 1)

    def said(self):
        """Nobody remembers: the picture shows it."""


class Host(NamedTuple):
    """A desktop to try: the packages it takes (the first one's version is told) and what starts it."""

    packages: tuple[str, ...]
    start: Callable
    """A context of the desktop; it may give variables for the programs that run on it, "" for those they haven't."""
    bubble: Callable = OnScreen
    looks: Looks = Looks()


@contextmanager
def desktop_in(folder):
    """A screen and a bus that starts services as a login's does, and nothing on them."""
    with ExitStack() as parts:
        display = parts.enter_context(screen(SIZE))
        env = {**os.environ, **folders(folder), "DISPLAY": display, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/bus.sock"}
        env.update(GSETTINGS_BACKEND="keyfile", NO_AT_BRIDGE="1", GTK_A11Y="none", LIBGL_ALWAYS_SOFTWARE="1", XDG_SESSION_TYPE="x11")
        env.pop("WAYLAND_DISPLAY", None)
        bus = parts.enter_context(message_bus_in(folder, services=True, env=env))
        desktop = Desktop(display, bus, folder)
        desktop.env.update(env)
        yield desktop


def write(desktop, name, text):
    """A file among the desktop's settings."""
    path = desktop.folder / "config" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def settings(desktop, text):
    """What gsettings would have stored."""
    write(desktop, "glib-2.0/settings/keyfile", text)


def is_up(desktop):
    """Wait for the watcher that a panel brings, and for the notifications."""
    until(lambda: desktop.bus.owned(WATCHER) and desktop.bus.owned(NOTIFICATIONS), SLOW)


@contextmanager
def mate(desktop):
    """mate-panel with its default layout; its notification area is a program of its own that the bus starts."""
    desktop.env.update(XDG_CURRENT_DESKTOP="MATE")
    settings(desktop, "[org/mate/notification-daemon]\npopup-location='bottom_right'\n")  # above, a bubble covers the icon
    notifications = "/usr/lib/mate-notification-daemon/mate-notification-daemon"
    with desktop.program("xfwm4", "--compositor=off"), desktop.program(notifications), desktop.program("mate-panel"):
        is_up(desktop)
        yield


LXQT_PANEL = """[General]
__userfile__=true
panels=panel1
[panel1]
alignment=-1
desktop=0
hidable=false
iconSize=22
lineCount=1
panelSize=32
plugins=mainmenu,spacer,statusnotifier
position=Bottom
width=100
width-percent=true
[mainmenu]
type=mainmenu
[spacer]
type=spacer
size=300
[statusnotifier]
alignment=Right
type=statusnotifier
"""


@contextmanager
def lxqt(desktop):
    """lxqt-panel along the lower edge, with what its default panel has for icons."""
    desktop.env.update(XDG_CURRENT_DESKTOP="LXQt")
    write(desktop, "lxqt/panel.conf", LXQT_PANEL)
    with desktop.program("xfwm4", "--compositor=off"), desktop.program("lxqt-notificationd"), desktop.program("lxqt-panel"):
        is_up(desktop)
        yield


@contextmanager
def system_bus(desktop):
    """A stand-in for the system's bus, with nobody on it: gnome-shell and Cinnamon don't start without one."""
    folder = desktop.folder / "system"
    folder.mkdir()
    with message_bus_in(folder) as bus:
        desktop.env["DBUS_SYSTEM_BUS_ADDRESS"] = bus.address
        yield


GNOME_LOOKS = Looks(strength=240 / 255, highlight=24, edge=10)
GROUND = (0x20, 0x40, 0x60)
GNOME_SETTINGS = """[org/gnome/shell]
enabled-extensions=['ubuntu-appindicators@ubuntu.com']
disable-user-extensions=false
welcome-dialog-last-shown-version='99.0'
[org/gnome/desktop/interface]
enable-animations=false
[org/gnome/desktop/background]
picture-options='none'
primary-color='#204060'
"""


@contextmanager
def gnome_on(desktop, *options):
    """gnome-shell with the AppIndicator extension, which Debian has as a package."""
    desktop.env.update(XDG_CURRENT_DESKTOP="GNOME", GNOME_SHELL_SESSION_MODE="user")
    settings(desktop, GNOME_SETTINGS)
    warned = desktop.folder / "data/gnome-shell/lock-warning-shown"  # that the screen can't be locked
    warned.parent.mkdir()
    warned.touch()
    with system_bus(desktop), desktop.program("gnome-shell", *options):
        is_up(desktop)
        until(lambda: is_bare(desktop), SLOW)
        yield


@contextmanager
def gnome(desktop):
    """It is the window manager of an X screen."""
    with gnome_on(desktop, "--x11", "--sm-disable"):
        yield


@contextmanager
def gnome_wayland(desktop):
    """It is a Wayland compositor, in a window that fills the X screen; slothtray sees nothing of X."""
    desktop.env["MUTTER_DEBUG_DUMMY_MODE_SPECS"] = SIZE
    with gnome_on(desktop, "--nested", "--wayland"):
        (name,) = (path.name for path in Path(desktop.env["XDG_RUNTIME_DIR"]).glob("wayland-?"))
        yield {"WAYLAND_DISPLAY": name, "DISPLAY": ""}


def is_bare(desktop):
    """Leave the overview, with which every login begins; whether root has read the warning that comes below the panel."""
    desktop.run("xdotool", "mousemove_relative", "--", "1", "1", "key", "Escape")
    return desktop.photo().getpixel((512, 70)) == GROUND


@contextmanager
def plasma(desktop):
    """KDE's shell with its window manager and daemon."""
    desktop.env.update(XDG_CURRENT_DESKTOP="KDE", KDE_FULL_SESSION="true", KDE_SESSION_VERSION="5")
    desktop.env.update(QT_QUICK_BACKEND="software", QT_XCB_GL_INTEGRATION="none", KWIN_COMPOSE="N")
    with desktop.program("kwin_x11"), desktop.program("kded5"), desktop.program("plasmashell"):
        is_up(desktop)
        yield


CINNAMON_SETTINGS = """[org/cinnamon]
desktop-effects=false
[org/cinnamon/desktop/background]
picture-options='none'
primary-color='#204060'
"""


@contextmanager
def plasma_wayland(desktop):
    """KDE's compositor, in a window that fills the X screen; all others see nothing of X."""
    desktop.env.update(XDG_CURRENT_DESKTOP="KDE", KDE_FULL_SESSION="true", KDE_SESSION_VERSION="5", XDG_SESSION_TYPE="wayland")
    desktop.env.update(QT_QUICK_BACKEND="software", KWIN_COMPOSE="Q")
    width, height = SIZE.split("x")
    kwin = ["kwin_wayland", "--x11-display", desktop.env["DISPLAY"], "--width", width, "--height", height, "--no-lockscreen"]
    variables = {"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ""}
    env = {name: value for name, value in {**desktop.env, **variables, "QT_QPA_PLATFORM": "wayland"}.items() if value}
    with desktop.program(*kwin, "--socket", "wayland-0"):
        until(Path(desktop.env["XDG_RUNTIME_DIR"], "wayland-0").exists, SLOW)
        with desktop.program("kded5", env=env), desktop.program("plasmashell", env=env):
            is_up(desktop)
            yield variables


def at_login(name):
    """The program that a login starts by this entry."""
    entry = Path(f"/etc/xdg/autostart/{name}.desktop").read_text()
    return next(line.removeprefix("Exec=") for line in entry.splitlines() if line.startswith("Exec="))


@contextmanager
def cinnamon(desktop):
    """Cinnamon; who watches for icons is a program of its own there, which a login starts by itself."""
    desktop.env.update(XDG_CURRENT_DESKTOP="X-Cinnamon")
    settings(desktop, CINNAMON_SETTINGS)
    with system_bus(desktop), desktop.program("cinnamon", "--replace"):
        until(lambda: desktop.bus.owned("org.Cinnamon"), SLOW)
        with desktop.program(at_login("xapp-sn-watcher")):
            is_up(desktop)
            yield


def in_lxqt(desktop):
    """A click on the bubble itself does nothing: its buttons are in the middle, below."""
    return OnScreen(desktop, lambda left, _top, right, bottom: ((left + right) // 2 - 30, bottom - 35))


def in_cinnamon(desktop):
    """Its buttons are in the lower left corner; a click beside the text does nothing (5.6)."""
    return OnScreen(desktop, lambda left, _top, _right, bottom: (left + 80, bottom - 24))


HOSTS = {
    "mate-panel": Host(("mate-panel", "mate-notification-daemon", "xfwm4"), mate),
    "lxqt-panel": Host(("lxqt-panel", "lxqt-notificationd", "xfwm4"), lxqt, in_lxqt),
    "gnome": Host(("gnome-shell", "gnome-shell-extension-appindicator", "gjs"), gnome, looks=GNOME_LOOKS),
    "gnome-wayland": Host(("gnome-shell", "gnome-shell-extension-appindicator", "gjs"), gnome_wayland, looks=GNOME_LOOKS._replace(pointer=True)),
    "plasma": Host(("plasma-workspace", "plasma-desktop", "kwin-x11"), plasma),
    "plasma-wayland": Host(
        ("plasma-workspace", "plasma-workspace-wayland", "kwin-wayland", "qtwayland5"), plasma_wayland, looks=Looks(pointer=True)
    ),
    "cinnamon": Host(("cinnamon", "xapp-sn-watcher"), cinnamon, in_cinnamon),
}


def missing(host):
    """Those of its Debian packages that are not installed."""
    return [name for name in (*COMMON, *host.packages) if not version(name)]


def version(package):
    """The version of an installed Debian package, or ""."""
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", package]
    status, _, number = subprocess.run(query, capture_output=True, text=True, check=False).stdout.partition(" ")
    return number if status == "installed" else ""
