"""Opens a file in the desktop's own program for it: xdg-open, ``open`` or startfile."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from slothtray.system.ports import Opener, OpenFailed

SOON = 2.0
"""Seconds within which a failure is about the opening. Later it is the program's own end: xdg-open may stay as long as a viewer."""

_MEANINGS = {2: "the file does not exist", 3: "no program for it is installed", 4: "the program for it failed"}
"""xdg-open's exit codes."""


def system_opener(on_failure: Callable[[str], None] | None = None) -> Opener:
    """Return this system's opener.

    ``on_failure`` is told, with one line and in a thread of its own, when the desktop's program ends in failure soon after.
    """
    if sys.platform == "win32":
        return WindowsOpener()
    return CommandOpener("open" if sys.platform == "darwin" else "xdg-open", on_failure)


class CommandOpener:
    """Starts a command with the file as its argument. The program belongs to the person: it outlives us, in its own session."""

    def __init__(self, command: str, on_failure: Callable[[str], None] | None = None) -> None:
        self._command = command
        self._on_failure = on_failure

    def open(self, path: str) -> None:
        """Start the command and return. Raises OpenFailed when the file or the command is missing."""
        path = os.path.abspath(path)  # a name that starts with "-" would be read as an option
        if not os.path.exists(path):
            raise OpenFailed(f"{path} does not exist")
        program = shutil.which(self._command)
        if program is None:
            hint = "install xdg-utils" if self._command == "xdg-open" else ""
            raise OpenFailed(f"{path} can't be opened: {self._command} is missing", hint)
        try:
            process = _start([program, path])
        except OSError as error:
            raise OpenFailed(f"{program} can't be started: {error.strerror}") from error
        threading.Thread(target=self._reap, args=(process, path), name="opener", daemon=True).start()

    def _reap(self, process: subprocess.Popen[bytes], path: str) -> None:
        started = time.monotonic()
        code = process.wait()
        if code and self._on_failure is not None and time.monotonic() - started < SOON:
            meaning = _MEANINGS.get(code) if self._command == "xdg-open" else None
            self._on_failure(f"{path} can't be opened: {meaning or f'{self._command} ended with {code}'}")


class WindowsOpener:
    """Windows' own startfile, which returns at once. Not run by us yet."""

    def open(self, path: str) -> None:
        """Open it. Raises OpenFailed."""
        if sys.platform != "win32":
            raise OpenFailed("this is not Windows")
        try:
            os.startfile(os.path.abspath(path))
        except OSError as error:
            raise OpenFailed(f"{path} can't be opened: {error.strerror}") from error


def _start(argv: list[str]) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen(argv, stdin=null, stdout=null, stderr=null, start_new_session=True)
