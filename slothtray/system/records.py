"""Run records: one small file an attempt, locked from before its supervisor's birth to its death (DESIGN 4).

The lock is the proof of life: whoever holds the descriptor that was locked is the supervisor, and the kernel frees it at its
death. Only that lock is exclusive; whoever looks or waits takes a shared one, which can't be mistaken for it.
"""

import json
import os
import sys
import time

from slothtray import private
from slothtray.crashpoint import crash_point
from slothtray.model import JobProcess, Result, RunRecord, Started

if sys.platform != "win32":
    import fcntl

PAGE = 4096
"""Bytes allocated in advance, so that the result fits on a disk that has become full."""
LATEST = 1e11
"""Seconds: the year 5138. What is longer, or later, was not written by a supervisor."""
SPACE = 1 << 16
"""Bytes below which a disk is full: the last few are the superuser's, or the file system's own."""
LOCK_TRIES = 100
EMPTY = RunRecord(None, None, (), None)


def create(path: str) -> int:
    """Make the record of a new attempt, allocate it, lock it and make it durable; the descriptor that holds the lock.

    Raises OSError (and leaves no file) when any of that can't be done, FileExistsError when the run-id was used before.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        crash_point("record made")
        allocate(descriptor)
        lock(descriptor)
        crash_point("record locked")
        os.fsync(descriptor)
        private.sync_folder(os.path.dirname(path))
    except BaseException:
        os.close(descriptor)
        os.unlink(path)
        raise
    return descriptor


def open_stderr(path: str) -> int:
    """Make the file beside a record that takes what the supervisor itself has to say. Raises OSError."""
    return private.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def allocate(descriptor: int) -> None:
    """Reserve the page; where the file system can't, write zeros, which readers stop at."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, PAGE)
    else:
        os.pwrite(descriptor, b"\0" * PAGE, 0)


def lock(descriptor: int) -> None:
    """Take the exclusive lock. Somebody who looks at the new file may hold a shared one for a moment, hence the tries."""
    for attempt in range(LOCK_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt == LOCK_TRIES - 1:
                raise
            time.sleep(0.005)
        else:
            return


def open_for_look(path: str) -> int | None:
    """A descriptor of one's own to look at the record or wait for its lock; None when there is no record.

    What is there but no record of ours (a link, a pipe) is none either: its run is looked for by its cookie.
    """
    try:
        return private.open_file(path, os.O_RDONLY)
    except (FileNotFoundError, private.Odd):
        return None


def look(descriptor: int | None) -> tuple[bool, RunRecord | None]:
    """Whether the supervisor lives, and what its record says; (False, None) without one. Closes what ``open_for_look`` gave.

    The lock is asked first: what a free lock leaves behind is final. Raises OSError when it can't be told.
    """
    if descriptor is None:
        return False, None
    try:
        return is_locked(descriptor), read(descriptor)
    finally:
        os.close(descriptor)


def is_locked(descriptor: int) -> bool:
    """Whether the supervisor (or the app that is about to start it) lives."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)  # ours alone: this descriptor was opened by open_for_look
    return False


def wait_for_release(descriptor: int) -> None:
    """Sleep in the kernel until the supervisor is gone."""
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def short_of_space(descriptor: int) -> bool:
    """Whether the disk that the record is on, as the logs are, has no room for a few more lines."""
    found = os.fstatvfs(descriptor)
    return found.f_bavail * found.f_frsize < SPACE


def read(descriptor: int) -> RunRecord:
    """What the record says so far."""
    return parse(os.pread(descriptor, 4 * PAGE, 0))


def parse(data: bytes) -> RunRecord:
    """The record's lines. A line cut short by a crash, or anything that isn't one, counts for nothing."""
    record = EMPTY
    for line in data.split(b"\0", 1)[0].split(b"\n")[:-1]:
        try:
            record = _with_line(record, json.loads(line))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
    return record


def _with_line(record: RunRecord, line: dict[str, object]) -> RunRecord:
    kind = line["k"]
    if kind == "S":
        return record._replace(
            started=Started(_pid(line["pid"]), _int(line["start"]), str(line["boot"]), str(line["cgroup"]), _float(line["at"]))
        )
    if kind == "J":
        return record._replace(process=JobProcess(_pid(line["pid"]), _int(line["start"])))
    if kind == "K":
        pids = line["pids"]
        return record._replace(unkillable=tuple(_pid(pid) for pid in pids) if isinstance(pids, list) else ())
    if kind == "X":
        return record._replace(result=_result(line))
    return record


def _result(line: dict[str, object]) -> Result:
    code, number = line["code"], line["signal"]
    return Result(
        why=str(line["why"]),
        code=None if code is None else _int(code),
        signal=None if number is None else _int(number),
        error=str(line["error"]),
        left=_int(line["left"]),
        ran=_float(line["ran"]),
        at=_float(line["at"]),
    )


def _int(value: object) -> int:
    if isinstance(value, int) and abs(value) < 1 << 63:  # what the database can store
        return value
    raise TypeError(value)


def _pid(value: object) -> int:
    """A process's: 0 and below mean groups of them, or all there are."""
    number = _int(value)
    if 0 < number < 1 << 31:
        return number
    raise ValueError(value)


def _float(value: object) -> float:
    if isinstance(value, int | float) and 0 <= value <= LATEST:  # NaN is not
        return float(value)
    raise TypeError(value)
