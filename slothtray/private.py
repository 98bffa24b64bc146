"""What is its owner's alone: folders 0700 and files 0600 under any umask, opened without being led elsewhere or kept waiting.

Whoever may write to the queue folder is its owner as far as slothtray can tell (README, "Security"). So a link, a pipe or
another person's file in the place of one of ours is a mistake, or a trap for root: it is told, never followed. Hard links among
the owner's own files are left alone: backups are made that way.
"""

import errno
import os
import stat

FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Opening a pipe would wait for its other end. For a plain file O_NONBLOCK says nothing."""
LINK, NO_FILE = "it is a symbolic link", "it is not a plain file"


class Odd(OSError):
    """There is something else in the place of a file of ours."""


def make_folder(path: str) -> None:
    """Make a folder, and what is missing above it, with mode 0700 whatever the umask is; one that exists stays as it is.

    The new names are durable then: what is synced in the folder would be lost with its own. Raises OSError, and so for a folder
    that belongs to somebody else. To root it may: that is `sudo slothtray list`.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        _make_missing(path)
        status = os.stat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if user() not in (status.st_uid, 0):
        raise PermissionError(errno.EPERM, f"it belongs to {user_name(status.st_uid)}", path)


def _make_missing(path: str) -> None:
    """Another program may be making it just now."""
    above = os.path.dirname(path)
    if not os.path.exists(above):
        _make_missing(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    os.chmod(path, 0o700)  # the umask may have taken bits of our own
    try:
        sync_folder(above)
    except OSError:
        return  # one that may be written to and not read can't be opened: it is not ours to refuse


def sync_folder(path: str) -> None:
    """Make the names in a folder durable; nothing where a folder can't be opened for that. Raises OSError."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def names_in(folder: str) -> list[str]:
    """What there is in a folder; nothing where that can't be told."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def is_file(path: str) -> bool:
    """Whether a plain file is there; False for nothing. Raises OSError for anything else. Nothing is opened."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        raise Odd(errno.EINVAL, _what(mode), path)
    return True


def open_file(path: str, flags: int) -> int:
    """A descriptor of a plain file of ours, closed at exec; with ``os.O_CREAT`` it is made. What is written to becomes 0600.

    Raises OSError, and so for a link, for what is no file, and for a file of somebody else (which root may read).
    """
    try:
        descriptor = os.open(path, flags | FLAGS, 0o600)
    except OSError as error:
        reason = {errno.ELOOP: LINK, errno.ENXIO: NO_FILE}.get(error.errno or 0)
        if reason is None:
            raise
        raise Odd(error.errno, reason, path) from None
    try:
        _check(descriptor, path, writing=bool(flags & (os.O_WRONLY | os.O_RDWR)))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check(descriptor: int, path: str, *, writing: bool) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise Odd(errno.EINVAL, _what(status.st_mode), path)
    if status.st_uid != user() and (writing or user() != 0):
        raise PermissionError(errno.EPERM, f"it belongs to {user_name(status.st_uid)}", path)
    if writing and stat.S_IMODE(status.st_mode) != 0o600 and hasattr(os, "fchmod"):
        os.fchmod(descriptor, 0o600)


def _what(mode: int) -> str:
    """What is in the place of a file, in a word."""
    if stat.S_ISDIR(mode):
        return os.strerror(errno.EISDIR)
    return LINK if stat.S_ISLNK(mode) else NO_FILE


def user_name(number: int) -> str:
    """How a person knows that user."""
    import pwd

    try:
        return f"{pwd.getpwuid(number).pw_name} (uid {number})"
    except KeyError:
        return f"uid {number}"


def user() -> int:
    """Who we are, as far as files go. Windows has no such numbers, and says 0 for every owner."""
    return os.geteuid() if hasattr(os, "geteuid") else 0
