"""The desktop entry that a login reads (freedesktop.org's Desktop Entry and Autostart): its text, both ways. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from slothtray.system.autostart import words

GROUP = "[Desktop Entry]"
OFF = "X-GNOME-Autostart-enabled"
"""GNOME's, Cinnamon's and Budgie's own switch; all others have Hidden."""


class Entry(NamedTuple):
    """What a login makes of an entry. ``program``: what has to be there (TryExec), else the first word of ``command``."""

    command: tuple[str, ...]
    program: str
    hidden: bool


def text(argv: Sequence[str], icon: str = "") -> str:
    """An entry that starts this. Raises Refused for a path that login programs read differently.

    TryExec lets an entry rest whose program was uninstalled. No delay: the icon itself waits for the panel.
    """
    lines = [
        GROUP,
        "Type=Application",
        "Version=1.0",
        "Name=slothtray",
        "Comment=Runs queued commands when the machine can afford it",
        f"Exec={words.command_line(argv)}",
        f"TryExec={argv[0]}",
        *([f"Icon={icon}"] if icon and not words.BAD.search(icon) else []),
        "Terminal=false",
        "StartupNotify=false",
        f"{OFF}=true",
        "X-LXQt-Need-Tray=true",
    ]
    return "\n".join(lines) + "\n"


def parse(content: str) -> Entry:
    """Read an entry, also one that a person or a settings program has changed."""
    values: dict[str, str] = {}
    group = ""
    for line in content.splitlines():
        if line.startswith("["):
            group = line.strip()
        elif group == GROUP and "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            values.setdefault(key.strip(), value.strip())
    command = words.words_of(values.get("Exec", "").replace("\\\\", "\\"))
    hidden = values.get("Hidden") == "true" or values.get(OFF) == "false"
    return Entry(command, values.get("TryExec") or next(iter(command), ""), hidden)
