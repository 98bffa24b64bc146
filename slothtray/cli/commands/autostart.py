"""`slothtray autostart`: start with the login, or no more; how that stands."""

import json
import os
import shlex
import shutil

from slothtray.cli.parser import Parsed
from slothtray.cli.streams import tell
from slothtray.errors import Refused, Usage
from slothtray.paths import Paths
from slothtray.system.autostart import headless, system_autostart
from slothtray.system.linger import lingers
from slothtray.system.ports import LoginState
from slothtray.text import clean

BARE = frozenset({"sway", "i3", "Hyprland", "river", "bspwm", "dwm"})
"""Desktops, by XDG_CURRENT_DESKTOP, without a session manager that would read the entry."""
LINGER = "`loginctl enable-linger` starts it with the machine and keeps it after a logout"


def run(parsed: Parsed, paths: Paths) -> int:
    """Do what the word says; without one tell how it is."""
    word = parsed.words[0] if parsed.words else "status"
    only_headless = parsed.flag("headless")
    if word not in ("enable", "disable", "status"):
        raise Usage(f"there is no `slothtray autostart {word}`", "use enable, disable or status")
    if parsed.flag("json") and word != "status":
        raise Usage(f"`slothtray autostart {word}` has no --json", "status has")
    if word == "status":
        return _status(paths, as_json=parsed.flag("json"), only_headless=only_headless)
    if word == "disable":
        return _disable(paths, only_headless=only_headless)
    return _enable_headless(paths) if only_headless else _enable(paths)


def _enable(paths: Paths) -> int:
    login = system_autostart(paths)
    before = login.state()
    login.enable()
    print(f"starts at login: {clean(login.state().place)}")
    desktop = os.environ.get("XDG_CURRENT_DESKTOP", "")
    if desktop in BARE:
        tell(f"{desktop} reads no such entries by itself: start `dex -a -e {desktop}`, or `slothtray`, in its config")
    if before.command and before.problem.startswith("it is for another queue folder"):
        tell(f"before, {before.problem}; a login starts one")
    return 0


def _enable_headless(paths: Paths) -> int:
    unit = headless(paths)
    unit.enable()
    print(f"starts without a desktop: {clean(unit.state().place)}")
    if not shutil.which("systemctl"):
        tell("there is no systemctl here: only where systemd runs will anything start it")
        return 0
    tell("`systemctl --user start slothtray` starts it now")
    if not lingers():
        tell(LINGER)
    if system_autostart(paths).enabled():
        tell("the tray application starts at login, too: of the two the second will say so and end")
    return 0


def _disable(paths: Paths, *, only_headless: bool) -> int:
    found = [] if only_headless else [system_autostart(paths)]
    try:
        found.append(headless(paths))
    except Refused:
        if only_headless:
            raise
    for one in found:
        state = one.state()
        one.disable()
        if state.command or state.problem:
            print(f"removed: {clean(state.place)}")
    return 0


def _status(paths: Paths, *, as_json: bool, only_headless: bool) -> int:
    states: dict[str, LoginState | None] = {} if only_headless else {"login": system_autostart(paths).state()}
    try:
        states["headless"] = headless(paths).state()
    except Refused:
        states["headless"] = None
    linger = lingers()
    if as_json:
        shown = {name: _json(state) for name, state in states.items()}
        print(json.dumps({"version": 1, "login": None, **shown, "linger": linger}))
        return 0
    for name, state in states.items():
        if state is not None:
            print(f"{name:<10} {_words(state)}")
    if linger is not None:
        print(f"{'linger':<10} {'on' if linger else f'off; {LINGER}'}")
    return 0


def _words(state: LoginState) -> str:
    what = "enabled" if state.enabled else f"off: {state.problem}" if state.problem else "off"
    there = f" ({clean(state.place)}: {clean(shlex.join(state.command))})" if state.command or state.problem else ""
    return clean(what) + there


def _json(state: LoginState | None) -> dict[str, object] | None:
    if state is None:
        return None
    return {
        "enabled": state.enabled,
        "path": state.place,
        "command": list(state.command) or None,
        "problem": state.problem or None,
    }
