"""Judges display, session bus, panel and notification service: what it takes to see and be told what happens."""

from collections.abc import Callable

from slothtray.doctor.checks import OK, PROBLEM, WARNING, Check
from slothtray.system.facts.desktop import Owner, Screen, Server
from slothtray.tray.search import Seen, remedy

Install = Callable[[str], str]
"""Makes the command that installs a package on this system."""

NO_DESKTOP = "none, and without a desktop none is needed"
ABILITIES = {
    "sni": "icon, tooltip, menu (changes while it is open), left click",
    "gtk": "icon, tooltip, menu, left click",
    "xembed": "icon and left click; no menu, no tooltip",
}


def display(screen: Screen) -> Check:
    """A name at which nobody listens is the mark of an old terminal, or of a login by ssh."""
    if not screen.name:
        return Check("display", OK, "none: `slothtray run` works the queue without a desktop")
    if not screen.answers:
        return Check("display", PROBLEM, f"{screen.name} does not answer", "start slothtray in a terminal of the desktop itself")
    kind = f", {screen.desktop}" if screen.desktop else ""
    return Check("display", OK, f"{screen.name} answers{kind}")


def bus(trouble: str, screen: Screen) -> Check:
    """Without a session bus neither a modern tray nor notifications are possible."""
    if not trouble:
        return Check("bus", OK, "the session bus answers")
    if not screen.name:
        return Check("bus", OK, f"{trouble}; without a desktop none is needed")
    return Check("bus", PROBLEM, trouble, "log in anew, or start the desktop with: dbus-run-session")


def panel(seen: Seen | None, owner: Owner | None, screen: Screen, install: Install) -> Check:
    """``seen``: None when neither kind of tray can be looked for."""
    if seen is not None and seen.host:
        return Check("panel", OK, f"a panel with a tray is there{_by(owner)}")
    if seen is not None and seen.watcher:
        return Check("panel", WARNING, f"icons are listed{_by(owner)}, but no panel shows them", bring_tray(screen, install))
    if seen is not None and seen.xembed:
        return Check("panel", OK, "a panel with a tray of the old kind (XEmbed) is there")
    if not screen.answers:
        return Check("panel", OK, NO_DESKTOP)
    return Check("panel", PROBLEM, "no panel with a tray: the queue is worked, but there is no icon", bring_tray(screen, install))


def bring_tray(screen: Screen, install: Install) -> str:
    """What brings a tray to this desktop."""
    return remedy(screen.desktop, install, wayland=screen.wayland)


def _by(owner: Owner | None) -> str:
    return f" ({owner.program or 'program unknown'}, pid {owner.pid})" if owner is not None else ""


def tray(backends: tuple[str, ...], screen: Screen, chosen: str) -> Check:
    """The backend that a start would choose now. ``backends``: those to try, best first; ``chosen``: by SLOTHTRAY_TRAY."""
    name = chosen or next(iter(backends), "")
    if not name:
        return Check("tray", OK, "none yet: the icon comes with the panel" if screen.answers else NO_DESKTOP)
    what = f"{name}: {ABILITIES.get(name, 'as this system has it')}"
    return Check("tray", OK, what + (" (by SLOTHTRAY_TRAY)" if chosen else ""))


def usable(backends: tuple[str, ...], *, has_gi: bool) -> tuple[str, ...]:
    """Of the backends to try those that can be imported."""
    return tuple(one for one in backends if one != "gtk" or has_gi)


def notifications(server: Server, screen: Screen, install: Install) -> Check:
    """The service that shows notices, and what of ours it can show."""
    if server.name:
        can = ", ".join(server.capabilities) or "nothing"
        missing = "" if "actions" in server.capabilities else "; no buttons"
        return Check("notifications", OK, f"{server.name} {server.version} can {can}{missing}")
    if server.startable:
        return Check("notifications", OK, "the service is started by the first one")
    if not screen.answers:
        return Check("notifications", OK, NO_DESKTOP)
    return Check("notifications", PROBLEM, "no notification service: failures are only in menu and list", install("dunst"))


def clipboard(tools: tuple[str, ...], screen: Screen, install: Install) -> Check:
    """The tool that `add --clipboard` and the menu read it with."""
    if tools:
        return Check("clipboard", OK, f"read by {' or '.join(tools)}")
    if not screen.answers:
        return Check("clipboard", OK, NO_DESKTOP)
    package = "wl-clipboard" if screen.wayland else "xclip"
    return Check("clipboard", WARNING, "it can't be read: no job from the clipboard", install(package))
