"""The absolute words that start this very installation again, whoever does it from whichever folder."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence

from slothtray.system.autostart.words import home_of

NAME = "slothtray"


def command() -> list[str]:
    """The installed program: as it was started, else the one beside our Python, else our module.

    A link (pipx's, uv's) stays a link: what it points to moves with an upgrade, the link doesn't.
    """
    if getattr(sys, "frozen", False):
        # In an AppImage the program itself lies in a folder that is gone after our end.
        return [os.environ.get("APPIMAGE") or sys.executable]
    for candidate in (sys.argv[0], os.path.join(sysconfig.get_path("scripts"), NAME), _windows_script()):
        if _is_ours(candidate):
            return [os.path.abspath(candidate)]
    return [sys.executable, "-m", NAME]


def problem(program: str, words: Sequence[str], argv: Sequence[str]) -> str:
    """Why an entry with these ``words``, which start ``program``, won't do what one with ``argv`` would; "" for nothing."""
    if not program or shutil.which(program) is None:
        return f"its program is gone: {program or 'it names none'}"
    if home_of(words) != home_of(argv):
        return f"it is for another queue folder: {home_of(words) or 'the usual one'}"
    return ""


def _windows_script() -> str:
    return os.path.join(sysconfig.get_path("scripts"), NAME + ".exe")


def _is_ours(path: str) -> bool:
    return os.path.basename(path).lower().startswith(NAME) and os.path.isfile(path) and os.access(path, os.X_OK)
