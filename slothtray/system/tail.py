"""The end of a log, in constant memory and time however long it is; any bytes, read lossily as UTF-8."""

import os

from slothtray.text import clean

BLOCK = 65536
LINE_LIMIT = 200
"""Characters of a line that are worth showing in one."""


def last_bytes(path: str, size: int = BLOCK) -> bytes:
    """The last ``size`` bytes of a file at most; b"" when there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        length = os.fstat(descriptor).st_size
        return os.pread(descriptor, size, max(0, length - size))
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def last_line(path: str) -> str:
    """The last line that says something, clean; "" when there is none. A progress bar's last state is its line."""
    for line in reversed(last_bytes(path, 8192).replace(b"\r", b"\n").split(b"\n")):
        text = clean(line.decode(errors="replace"), LINE_LIMIT)
        if text:
            return text
    return ""


def last_lines(path: str, count: int) -> bytes:
    """The last ``count`` lines of a file; reads backwards, block by block."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        end = os.fstat(descriptor).st_size
        found = b""
        while end > 0 and found.count(b"\n") <= count:
            start = max(0, end - BLOCK)
            found = os.pread(descriptor, end - start, start) + found
            end = start
    finally:
        os.close(descriptor)
    lines = found.splitlines(keepends=True)
    return b"".join(lines[-count:]) if count > 0 else b""
