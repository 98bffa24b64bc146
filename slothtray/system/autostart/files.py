"""Writes and removes the small files by which a login knows us: whole or not at all."""

import os

from slothtray.errors import Refused


def write(path: str, text: bytes) -> None:
    """Put a file there in one step, through a link if it is one. Raises Refused with the reason."""
    target = os.path.realpath(path)  # of people who keep such files elsewhere, and link to them
    fresh = os.path.join(os.path.dirname(target), f".slothtray-{os.getpid()}.new")
    try:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644), "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, target)
    except OSError as error:
        remove(fresh)
        raise Refused(f"{path} can't be written: {error.strerror or error}") from error


def link(path: str, target: str) -> None:
    """Make a symbolic link, in place of whatever had its name. Raises Refused with the reason."""
    fresh = os.path.join(os.path.dirname(path), f".slothtray-{os.getpid()}.new")
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        remove(fresh)
        os.symlink(target, fresh)
        os.replace(fresh, path)
    except OSError as error:
        remove(fresh)
        raise Refused(f"{path} can't be made: {error.strerror or error}") from error


def remove(path: str) -> bool:
    """Unlink a file; False when there was none. Raises Refused with the reason."""
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise Refused(f"{path} can't be removed: {error.strerror or error}") from error
    return True


def read(path: str) -> str | None:
    """The text of a file; None without one. Raises Refused with the reason."""
    try:
        with open(path, encoding="utf-8", errors="replace", opener=_at_once) as file:
            return file.read(100_000)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Refused(f"{path} can't be read: {error.strerror or error}") from error


def _at_once(path: str, flags: int) -> int:
    """Open, but wait for nobody: the app asks at its start, and for a pipe in the file's place it would hang there."""
    return os.open(path, flags | os.O_NONBLOCK)
