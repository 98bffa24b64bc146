"""`slothtray log`: what a job wrote; bytes as they are into a pipe, made harmless for a terminal."""

import os
import sys
import time
from collections.abc import Iterator

from slothtray import actions
from slothtray.cli.parser import Parsed
from slothtray.durations import parse_id
from slothtray.errors import Refused, Usage
from slothtray.model import FINISHED, Job
from slothtray.paths import Paths
from slothtray.store import Queue, person
from slothtray.system import opener, tail
from slothtray.terminal import TerminalFilter

CHUNK = 1 << 16
LOOK_EVERY = 0.1
"""Seconds between two looks at a log that is followed."""


def run(parsed: Parsed, paths: Paths) -> int:
    """Print the log or its last lines, follow it, open it, or print its path."""
    number, lines = parse_id(parsed.words[0]), parsed.whole("lines")
    if lines is not None and lines < 0:
        raise Usage(f"-n {lines} makes no sense", "use 0 or more lines")
    queue = Queue(paths.database)
    try:
        job = person.find(queue.database, number)
        if parsed.flag("path"):
            print(paths.log(number))
        elif parsed.flag("follow"):
            _print(_followed(queue, paths, number, lines))
            job = person.find(queue.database, number)
        else:
            _must_exist(paths, job)
            _print_or_open(parsed, paths.log(number), lines)
        if not parsed.flag("path"):
            actions.look_at(paths, queue, job)
    finally:
        queue.close()
    return 0


def _must_exist(paths: Paths, job: Job) -> None:
    if not os.path.exists(paths.log(job.id)):
        raise Refused(f"job {job.id} has written nothing ({job.state})", f"`slothtray log -f {job.id}` waits for it")


def _print_or_open(parsed: Parsed, path: str, lines: int | None) -> None:
    if parsed.flag("open"):
        opener.system_opener().open(path)
    elif lines is not None:
        _print(iter([tail.last_lines(path, lines)]))
    else:
        _print(_whole(path))


def _whole(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _followed(queue: Queue, paths: Paths, number: int, lines: int | None) -> Iterator[bytes]:
    """What is there (its last ``lines``), then what comes, until the job is over; an empty piece where there is a pause."""
    path, place, told = paths.log(number), 0, False
    if lines is not None and os.path.exists(path):
        start = tail.last_lines(path, lines)
        place = os.path.getsize(path)
        yield start
    while True:
        # The state first: what a job that is over has written is all there by then.
        job = person.find(queue.database, number)
        size = os.path.getsize(path) if os.path.exists(path) else 0
        if size > place:
            with open(path, "rb") as file:
                file.seek(place)
                data = file.read(CHUNK)
            place += len(data)
            yield data
        elif job.state in FINISHED:
            return
        else:
            told = told or _tell_of_wait(job)
            yield b""
            time.sleep(LOOK_EVERY)


def _tell_of_wait(job: Job) -> bool:
    if job.started_at is not None:
        return False
    print(f"slothtray: job {job.id} is {job.state}; what it writes will be shown here", file=sys.stderr)
    return True


def _print(pieces: Iterator[bytes]) -> None:
    """To a terminal only text and colours; to anything else the bytes."""
    if not sys.stdout.isatty():
        for piece in pieces:
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        return
    harmless = TerminalFilter()
    for piece in pieces:
        sys.stdout.write(harmless.feed(piece))
        sys.stdout.flush()
    sys.stdout.write(harmless.feed(b"", last=True))
