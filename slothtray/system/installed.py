"""The program on the disk: whether another version was installed under the running one, and how that takes its place."""

import os
import re
import sys

from slothtray.errors import Refused

_VERSION = re.compile(r'^__version__ = "([^"\n]+)"$', re.MULTILINE)


class Installed:
    """Watches the file that says which version is installed. A look costs one ``stat``."""

    def __init__(self, own: str, path: str | None = None) -> None:
        """``own``: the version that runs. ``path`` is that of the package's ``__init__.py``."""
        self._own = own
        self._path = path or os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__init__.py")
        self._seen: tuple[int, int, int] | None = None
        self._newer = ""

    def newer(self) -> str:
        """The version installed now, where it is another one than ours; "" where not, or while that can't be told."""
        try:
            found = os.stat(self._path)
            if (state := (found.st_ino, found.st_mtime_ns, found.st_size)) != self._seen:
                self._newer = self._read()
                self._seen = state
        except OSError:
            return ""  # being replaced just now, or uninstalled
        return self._newer

    def _read(self) -> str:
        with open(self._path, encoding="utf-8", errors="replace") as file:
            said = _VERSION.search(file.read())
        return said[1] if said and said[1] != self._own else ""


class Restart:
    """Starts this program anew in its own process, the same way it was started: with what is installed by then."""

    def __init__(self) -> None:
        self._asked = False

    def ask(self) -> None:
        """It is to be done once all has ended. Raises ``Refused`` where the program is gone."""
        if not os.access(sys.executable, os.X_OK):
            raise Refused(f"{sys.executable} is gone", "start slothtray again by hand")
        self._asked = True

    def carry_out(self) -> None:
        """Do it if it was asked for: never returns then. The process keeps its pid, so what started it goes on watching it."""
        if self._asked:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
