"""The login of Linux desktops: a desktop entry in the folder autostart."""

import os
from collections.abc import Sequence

from slothtray import assets
from slothtray.system.autostart import entry, files, program
from slothtray.system.ports import LoginState


class XdgAutostart:
    """One entry, ``slothtray.desktop``, in ``folder``; it starts ``argv``."""

    def __init__(self, argv: Sequence[str], folder: str) -> None:
        self._argv = argv
        self._path = os.path.join(folder, "slothtray.desktop")

    def enable(self) -> None:
        """Write the entry, in place of one that a person has hidden, too. Raises Refused."""
        files.write(self._path, entry.text(self._argv, _icon()).encode())

    def disable(self) -> None:
        """Remove it. Raises Refused."""
        files.remove(self._path)

    def enabled(self) -> bool:
        """Whether the login would start this queue's application."""
        return self.state().enabled

    def state(self) -> LoginState:
        """What the login would make of the entry."""
        content = files.read(self._path)
        if content is None:
            return LoginState(enabled=False, place=self._path)
        found = entry.parse(content)
        problem = _problem(found, self._argv)
        return LoginState(not problem, self._path, found.command, problem)


def _problem(found: entry.Entry, argv: Sequence[str]) -> str:
    if found.hidden:
        return "switched off there (Hidden=true)"
    if not found.command:
        return "it starts nothing"
    return program.problem(found.program, found.command, argv)


def _icon() -> str:
    """By its path, as the icon of a program in an environment of its own is in no theme."""
    try:
        return assets.path("hicolor/64x64/apps/slothtray.png")
    except FileNotFoundError:
        return ""
