"""A log that has outgrown its cap: its middle is punched out, a line in it says so, and readers step over the hole (DESIGN 9).

The head that stays has a power of two as its size, and the line is its end: so any reader finds it by a look at a few places,
whatever the cap was then. What follows the line is the hole, as long as the line says.
"""

import errno
import os
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from slothtray import private

MARK_SIZE = 72
_MARK = re.compile(rb"\n--- (\d+) bytes cut out here \(log_cap\) -+\n")
SMALLEST_HEAD = 1 << 15
"""Half of the smallest ``log_cap`` holds it."""
PROBE = 4096
"""Bytes after the line that must be NUL where there is a hole: a job may print such a line, out of another job's log."""
LINE = 4096
"""Bytes in which to look for the beginning of the tail's first whole line."""
LAST = 1 << 16
"""Bytes at the end that are kept where no hole can be made."""
CHUNK = 1 << 16
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_CANNOT = (errno.EOPNOTSUPP, errno.ENOSYS, errno.ENODEV)


class Cut(NamedTuple):
    """Where a log was cut. ``begin`` to ``end`` is the hole; they are the same where none could be made."""

    begin: int
    end: int
    lost: int
    """Bytes that are gone."""


def mark(lost: int) -> bytes:
    """The line that stands before the hole."""
    return f"\n--- {lost} bytes cut out here (log_cap) ".encode().ljust(MARK_SIZE - 1, b"-") + b"\n"


def find(descriptor: int) -> Cut | None:
    """Where this log was cut; None when it is whole. Reads some bytes in a few places, however long it is."""
    size, cut_at_end = os.fstat(descriptor).st_size, None
    head = SMALLEST_HEAD
    while head <= size:
        found = _MARK.fullmatch(os.pread(descriptor, MARK_SIZE, head - MARK_SIZE))
        if found is not None:
            lost = int(found[1])
            if head + lost <= size and not os.pread(descriptor, min(lost, PROBE), head).strip(b"\0"):
                return Cut(head, head + lost, lost)
            cut_at_end = cut_at_end or Cut(head, head, lost)
        head *= 2
    return cut_at_end


def trim(path: str, cap: int) -> int:
    """Make a log have ``cap`` bytes at most (100 kB or more); how many more are gone now. A job may go on appending to it.

    Raises OSError when it can't be done; no log is no error.
    """
    try:
        if os.stat(path).st_size <= cap:
            return 0
        descriptor = private.open_file(path, os.O_RDWR)
    except FileNotFoundError:
        return 0
    try:
        size, cut = os.fstat(descriptor).st_size, find(descriptor)
        hole = cut.end - cut.begin if cut is not None else 0
        if size - hole <= cap:
            return 0
        begin = 1 << ((cap // 2).bit_length() - 1)
        if cut is not None:
            begin = min(begin, cut.begin)
        end = _line_start(descriptor, max(size - (cap - begin), cut.end if cut is not None else 0))
        return _cut_out(descriptor, begin, end) - hole
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        return _cut_end(descriptor, path, begin, cut)
    finally:
        os.close(descriptor)


def _line_start(descriptor: int, place: int) -> int:
    """The first beginning of a line from there on, if there is one near."""
    return place + os.pread(descriptor, LINE, place).find(b"\n") + 1


def _cut_out(descriptor: int, begin: int, end: int) -> int:
    # The line first: dying in between leaves one that is not followed by a hole, and the next look does it again.
    os.pwrite(descriptor, mark(end - begin), begin - MARK_SIZE)
    punch(descriptor, begin, end - begin)
    return end - begin


def punch(descriptor: int, begin: int, length: int) -> None:
    """Give the disk back what is there; it reads as NUL then. Raises OSError, with EOPNOTSUPP where the file system can't."""
    if sys.platform != "linux":
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    place, size = ctypes.c_int64(begin), ctypes.c_int64(length)
    fallocate = getattr(libc, "fallocate64", None) or libc.fallocate
    if fallocate(descriptor, _PUNCH_HOLE | _KEEP_SIZE, place, size) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _cut_end(descriptor: int, path: str, begin: int, cut: Cut | None) -> int:
    """Where no hole can be made: the head and the very last of it stay; what the job writes in this moment may be lost."""
    size = os.fstat(descriptor).st_size
    last = max(begin, size - LAST)
    last = _line_start(descriptor, last)
    kept = os.pread(descriptor, size - last, last)
    before = cut.lost if cut is not None and cut.begin == begin else 0
    os.ftruncate(descriptor, begin)
    os.pwrite(descriptor, mark(before + last - begin), begin - MARK_SIZE)
    appending = private.open_file(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(appending, kept)
    finally:
        os.close(appending)
    return last - begin


def read(path: str, place: int = 0) -> Iterator[tuple[int, bytes]]:
    """The log from ``place`` to its present end without the hole, in pieces: each with the place after it. Raises OSError.

    What was cut out behind the back of one who has read so far is said in a line, too.
    """
    with open(private.open_file(path, os.O_RDONLY), "rb", buffering=0) as file:
        descriptor = file.fileno()
        cut = find(descriptor)
        if place > os.fstat(descriptor).st_size:  # its end was cut off
            place = cut.begin - MARK_SIZE if cut is not None else 0
        while True:
            if cut is not None and cut.begin <= place < cut.end:
                missed = mark(cut.end - place) if place > cut.begin else b""
                place = cut.end
                yield place, missed
            room = cut.begin - place if cut is not None and place < cut.begin else CHUNK
            data = os.pread(descriptor, min(room, CHUNK), place)
            if b"\0" in data and (now := find(descriptor)) != cut:
                cut = now  # it was cut while we read
                continue
            if not data:
                return
            place += len(data)
            yield place, data
