"""The queue folder as the file system has it: owner, mode, kind, locks, room."""

import os
import sys
from typing import NamedTuple


class Folder(NamedTuple):
    """``place``: the folder, or while there is none the nearest one above it that is; everything else is about that."""

    path: str
    place: str
    is_folder: bool
    owner: int
    user: int
    mode: int
    writable: bool
    kind: str
    """The file system's type, "" where that can't be known."""
    free: int
    """Bytes left for this user."""
    files_left: bool
    lock: str
    """Why two locks can't exclude each other there; "" when they do."""

    @property
    def exists(self) -> bool:
        """Whether the folder itself is there."""
        return self.path == self.place


def folder(path: str) -> Folder:
    """Read it. Raises OSError where nothing can be seen at all."""
    place = path
    while not os.path.lexists(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    status, room = os.stat(place), os.statvfs(place)
    is_folder = os.path.isdir(place)
    return Folder(
        path,
        place,
        is_folder,
        status.st_uid,
        os.geteuid(),
        status.st_mode & 0o7777,
        os.access(place, os.W_OK | os.X_OK),
        kind_of(os.path.realpath(place), mounts()),
        room.f_bavail * room.f_frsize,
        room.f_files == 0 or room.f_favail > 0,
        lock_trouble(place) if is_folder and place == path and os.access(place, os.R_OK) else "",
    )


def mounts() -> str:
    """What is mounted where, as proc(5) tells it; "" elsewhere than on Linux."""
    if sys.platform != "linux":
        return ""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def kind_of(path: str, mountinfo: str) -> str:
    """The type of the file system that a path (without links) is on: the last one of the longest that cover it. Pure."""
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        left, dash, right = line.partition(" - ")
        if not dash:
            continue
        point = left.split()[4].replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
        covers = path == point or path.startswith(point.rstrip("/") + "/")
        if covers and len(point) >= best:
            best, kind = len(point), right.split()[0]
    return kind


def lock_trouble(path: str) -> str:
    """Lock the folder itself, twice: the second must be kept out. Leaves no trace; ours are on the files in it."""
    if sys.platform == "win32":
        return ""
    import fcntl

    first, second = (os.open(path, os.O_RDONLY | os.O_CLOEXEC) for _ in range(2))
    try:
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(second, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return ""
        return "a second lock is granted beside the first"
    except BlockingIOError:
        return ""  # another doctor's: they exclude each other
    except OSError as error:
        return error.strerror or str(error)
    finally:
        os.close(first)
        os.close(second)
