"""The doorbell's button: after its commit every command that writes sends an empty datagram; an app then looks at once (DESIGN 7).

The bell itself hangs in ``system/doorbell.py``. Not a message: everything that is said goes through the database.
"""

import os
import socket
import sys

from slothtray.paths import Paths


def ring(paths: Paths) -> bool:
    """Wake the app of this folder; False when none is running. Never waits: a full bell means that it is rung already."""
    return _send(paths, b"")


def answered(paths: Paths) -> bool:
    """Whether an app runs on this folder, without ringing."""
    return _send(paths, None)


def _send(paths: Paths, message: bytes | None) -> bool:
    if sys.platform == "win32":
        return _send_udp(paths, message)
    try:
        pinned = _pinned(paths)
    except OSError:
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as button:
            button.setblocking(False)
            button.connect(f"/proc/self/fd/{pinned}" if sys.platform == "linux" else paths.bell)
            if message is not None:
                button.send(message)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(pinned)
    return True


def _pinned(paths: Paths) -> int:
    """The bell itself, by which it is reached whatever its path's length (a socket's may have 108 bytes only).

    No link is followed: it would have us believe that an app runs, and ring at somebody else's.
    """
    if sys.platform == "linux":
        return os.open(paths.bell, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    return os.open(paths.home, os.O_RDONLY | os.O_CLOEXEC)


def address(folder: int, paths: Paths) -> str:
    """Where the bell is hung, by an open descriptor of its folder."""
    return f"/proc/self/fd/{folder}/bell" if sys.platform == "linux" else paths.bell


def _send_udp(paths: Paths, message: bytes | None) -> bool:
    """Windows: the file ``bell`` names a port on loopback (from source, not run)."""
    try:
        with open(paths.bell, encoding="ascii") as file:
            port = int(file.read())
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as button:
            button.setblocking(False)
            button.connect(("127.0.0.1", port))
            button.send(message or b"?")
    except (OSError, ValueError):
        return False
    return True
