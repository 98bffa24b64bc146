"""The end of a log, in constant memory and time however long it is; any bytes, read lossily as UTF-8."""

import os
import re

from slothtray import private
from slothtray.system import logcap

BLOCK = 65536


def last_bytes(path: str, size: int = BLOCK) -> bytes:
    """The last ``size`` bytes of a file at most; b"" when there is none."""
    try:
        descriptor = private.open_file(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        length = os.fstat(descriptor).st_size
        return os.pread(descriptor, size, max(0, length - size))
    except OSError:
        return b""
    finally:
        os.close(descriptor)


NO_CUT = logcap.Cut(0, 0, 0)
_BREAK, _FEED = re.compile(rb"\r(?!\n)|\n"), re.compile(rb"\n")
"""Ends a line: a progress bar's carriage return too, but where its states are to be folded into one."""


def place_of_last(path: str, count: int, *, folded: bool = False) -> int:
    """Where the last ``count`` lines of a log begin. Reads backwards, block by block, over what was cut out; raises OSError."""
    descriptor = private.open_file(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        if count <= 0:
            return size
        left, end = count, size
        cut = logcap.find(descriptor) or NO_CUT
        while end > 0:
            if end == cut.end:
                end = cut.begin
            start = max(0 if end <= cut.begin else cut.end, end - BLOCK)
            ends = _line_ends(_FEED if folded else _BREAK, descriptor, start, end, size)
            if len(ends) >= left:
                return ends[-left] + 1
            left, end = left - len(ends), start
        return 0
    finally:
        os.close(descriptor)


def _line_ends(pattern: re.Pattern[bytes], descriptor: int, start: int, end: int, size: int) -> list[int]:
    """Where lines end in [start, end), but for the file's very end: that begins no line."""
    block = os.pread(descriptor, end - start + 1, start)  # one more: is the last \r half of a \r\n?
    found = [start + match.start() for match in pattern.finditer(block)]
    return [place for place in found if place < min(end, size - 1)]
