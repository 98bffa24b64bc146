"""The absolute words that start this very installation again, whoever does it from whichever folder."""

import os
import sys
import sysconfig

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


def _windows_script() -> str:
    return os.path.join(sysconfig.get_path("scripts"), NAME + ".exe")


def _is_ours(path: str) -> bool:
    return os.path.basename(path).lower().startswith(NAME) and os.path.isfile(path) and os.access(path, os.X_OK)
