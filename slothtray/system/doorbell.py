"""The bell itself: a datagram socket in the queue folder that wakes the runner's one select (DESIGN 7). Idle, it costs nothing."""

import os
import socket
import sys

from slothtray import bell
from slothtray.errors import StorageError
from slothtray.paths import Paths


class Doorbell:
    """Bound from its making to ``close()``; the lock on ``runner.lock`` makes sure that there is one a folder.

    The app's own threads ring it with ``press()``.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        try:
            self._socket = _bind(paths)
        except OSError as error:
            raise StorageError(f"{paths.bell} can't be used: {error.strerror or error}", "check its folder") from error
        self._inside, self._button = socket.socketpair()
        self._place = _place(paths)
        for end in (self._socket, self._inside, self._button):
            end.setblocking(False)

    def filenos(self) -> tuple[int, int]:
        """What to select on."""
        return self._socket.fileno(), self._inside.fileno()

    def press(self) -> None:
        """Ring from another thread of this process. Never waits."""
        try:
            self._button.send(b"!")
        except (BlockingIOError, OSError):
            return  # full: rung already; closed: nobody is left to hear it

    def drain(self) -> None:
        """Forget the rings so far."""
        for end in (self._socket, self._inside):
            try:
                while True:
                    end.recv(64)
            except OSError:
                continue

    def close(self) -> None:
        """Take the bell down; not another one, that hangs there since the folder was replaced."""
        try:
            if _place(self._paths) == self._place:
                os.unlink(self._paths.bell)
        except OSError:
            pass
        for end in (self._socket, self._inside, self._button):
            end.close()


def _place(paths: Paths) -> tuple[int, int] | None:
    try:
        found = os.lstat(paths.bell)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _bind(paths: Paths) -> socket.socket:
    try:
        os.unlink(paths.bell)  # left behind by a SIGKILL; the runner's lock says that nobody listens on it
    except FileNotFoundError:
        pass
    if sys.platform == "win32":
        return _bind_udp(paths)
    folder = os.open(paths.home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        made.bind(bell.address(folder, paths))
        os.chmod(paths.bell, 0o600)
    except OSError:
        made.close()
        raise
    finally:
        os.close(folder)
    return made


def _bind_udp(paths: Paths) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", 0))
    with open(paths.bell, "w", encoding="ascii") as file:
        file.write(str(made.getsockname()[1]))
    return made
