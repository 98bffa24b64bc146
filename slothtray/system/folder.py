"""The queue folder and who holds it: one app a folder, by a lock that a kill -9 frees (DESIGN 7, 10)."""

import errno
import os
import sys
import time

from slothtray.errors import FolderBusy, StorageError
from slothtray.paths import Paths

PATIENCE = 2.0
"""Seconds an app tries for the lock: an app that was just ended may need a moment to be gone."""


def prepare(paths: Paths) -> None:
    """Make the folder and the folders in it, 0700 under any umask. Raises ``StorageError``."""
    for path in (paths.home, paths.runs, paths.logs, paths.backups):
        try:
            _make(path)
        except OSError as error:
            raise StorageError(
                f"the queue folder {paths.home} can't be used: {error.strerror or error}", "choose another with --home DIR"
            ) from error


def _make(path: str) -> None:
    """Make one folder and what is above it. It may be there, or another program may be making it just now."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None
    else:
        os.chmod(path, 0o700)


class FolderLock:
    """Held from its making to ``release()`` or to the end of the process. ``runner.lock`` holds the app's pid for people."""

    def __init__(self, paths: Paths, patience: float = PATIENCE) -> None:
        try:
            self._descriptor = os.open(paths.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(f"{paths.lock} can't be used: {error.strerror or error}", "check the folder's owner") from error
        deadline = time.monotonic() + patience
        while not _try_lock(self._descriptor):
            if time.monotonic() >= deadline:
                holder = holder_of(paths)
                os.close(self._descriptor)
                raise FolderBusy(
                    f"slothtray is already running on {paths.home}" + (f" (pid {holder})" if holder else ""),
                    "`slothtray list` shows what it does",
                )
            time.sleep(0.02)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another app have the folder."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def holder_of(paths: Paths) -> int | None:
    """The pid of the app that last took the folder, as it wrote it; None when none did or it ended in order."""
    try:
        with open(paths.lock, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _try_lock(descriptor: int) -> bool:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def machine_id() -> str:
    """A text that tells this machine from others; a digest, since the id itself is meant to stay private (machine-id(5))."""
    import hashlib
    import platform

    raw = ""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                raw = raw or file.read().strip()
        except OSError:
            continue
    return hashlib.sha256(f"slothtray {raw or platform.node()}".encode()).hexdigest()[:16]
