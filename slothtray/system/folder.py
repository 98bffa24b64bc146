"""The queue folder and who holds it: one app a folder, by a lock that a kill -9 frees (DESIGN 7, 10)."""

import errno
import os
import stat
import sys
import time

from slothtray import private
from slothtray.errors import FolderBusy, StorageError
from slothtray.paths import Paths
from slothtray.text import clean

ELSEWHERE = "choose a folder on a local disk with --home DIR"
TROUBLE = 500
"""Characters of a trouble that others are told."""
PATIENCE = 2.0
"""Seconds an app tries for the lock: an app that was just ended may need a moment to be gone."""
PID_DIGITS = 20


def prepare(paths: Paths) -> str:
    """Make the folder and the folders in it, 0700 under any umask; take from others what they may do in older ones of ours.

    What is left of that to tell the person: "" for nothing. Raises ``StorageError``; also where the folder is somebody else's:
    an app of root's would run for root what another user has put there.
    """
    try:
        for path in (paths.home, paths.runs, paths.logs, paths.backups):
            private.make_folder(path)
            _check_owner(path)
        return _tighten(paths)
    except OSError as error:
        reason = f"{error.strerror or error}" + (f": {error.filename}" if error.filename not in (None, paths.home) else "")
        raise StorageError(f"the queue folder {paths.home} can't be used: {reason}", "choose another with --home DIR") from error


def _check_owner(path: str) -> None:
    """Stricter than ``private.make_folder`` is with root."""
    owner, user = os.stat(path).st_uid, private.user()
    if owner != user:
        told = f"it belongs to {private.user_name(owner)}, and jobs would run as {private.user_name(user)}"
        raise PermissionError(errno.EPERM, told, path)


def _tighten(paths: Paths) -> str:
    """A queue folder is its owner's alone; one that is other things too (``--home .``, ``--home /tmp``) keeps its mode."""
    for path in (paths.runs, paths.logs, paths.backups):
        if _mode(path) & 0o077:
            os.chmod(path, 0o700)
    for path in (paths.database, paths.database + "-journal"):  # by name: opening it would drop SQLite's locks
        if private.is_file(path) and _mode(path) & 0o077:
            os.chmod(path, 0o600)
    mode = _mode(paths.home)
    if mode & 0o077 and not mode & stat.S_ISVTX and not _strangers(paths):
        os.chmod(paths.home, 0o700)
    elif mode & 0o022:
        return f"others may write in the queue folder {paths.home} (mode {mode:04o}), and so run commands as you: `chmod go-w` it"
    return ""


def _strangers(paths: Paths) -> set[str]:
    """What is in the folder and none of ours."""
    ours = {os.path.basename(path) for path in (paths.runs, paths.logs, paths.backups, paths.bell, paths.lock)}
    kinds = (*(os.path.basename(path) for path in (paths.database, paths.app_log, paths.config, paths.told)), "queue.")
    return {name for name in os.listdir(paths.home) if name not in ours and not name.startswith(kinds)}


def _mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


class FolderLock:
    """Held from its making to ``release()`` or to the end of the process. ``runner.lock`` holds the app's pid for people."""

    def __init__(self, paths: Paths, patience: float = PATIENCE) -> None:
        try:
            self._descriptor = private.open_file(paths.lock, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise StorageError(f"{paths.lock} can't be used: {error.strerror or error}", "check the folder's owner") from error
        try:
            self._take(paths, time.monotonic() + patience)
        except BaseException:
            os.close(self._descriptor)
            raise
        self.tell("")

    def _take(self, paths: Paths, deadline: float) -> None:
        try:
            while not _try_lock(self._descriptor):
                if time.monotonic() >= deadline:
                    holder = holder_of(paths)
                    raise FolderBusy(
                        f"slothtray is already running on {paths.home}" + (f" (pid {holder})" if holder else ""),
                        "`slothtray list` shows what it does",
                    )
                time.sleep(0.02)
            holds = _holds(paths)
        except OSError as error:
            raise StorageError(f"no file can be locked in {paths.home}: {error.strerror or error}", ELSEWHERE) from error
        if not holds:
            raise StorageError(f"locks don't hold in {paths.home}, so a job could run twice at once", ELSEWHERE)

    def tell(self, trouble: str) -> None:
        """Say for others what trouble the app is in ("": none). There is room for it here when there is none elsewhere."""
        self._write(f"{os.getpid()}\n{clean(trouble, TROUBLE)}".strip())

    def release(self) -> None:
        """Let another app have the folder."""
        self._write("")
        os.close(self._descriptor)

    def _write(self, words: str) -> None:
        line = f"{words}\n".encode(errors="replace")
        try:
            # First the new text, then the new end, and never empty: it may not get its page back from a full disk.
            os.pwrite(self._descriptor, line, 0)
            os.ftruncate(self._descriptor, len(line))
        except OSError:
            return  # it is told elsewhere, too, and the lock does not need it


def _holds(paths: Paths) -> bool:
    """Whether the lock that we have just taken keeps others out: on some network file systems it doesn't, or only other processes.

    All proof that a run is alive is such a lock.
    """
    other = os.open(paths.lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return sys.platform == "win32" or not _try_lock(other)
    finally:
        os.close(other)


def holder_of(paths: Paths) -> int | None:
    """The pid of the app that last took the folder, as it wrote it; None when none did or it ended in order."""
    try:
        return int(_said(paths)[0][:PID_DIGITS])
    except ValueError:
        return None


def trouble_of(paths: Paths) -> str:
    """What keeps the app that runs on this folder from its work, as it says itself; "" when nothing does."""
    return _said(paths)[1]


def _said(paths: Paths) -> tuple[str, str]:
    try:
        with open(private.open_file(paths.lock, os.O_RDONLY), encoding="utf-8", errors="replace") as file:
            pid, _, trouble = file.read(TROUBLE * 4).partition("\n")
    except OSError:
        return "", ""
    return pid, trouble.strip()


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
