"""`slothtray log`: what a job wrote; bytes as they are into a pipe, made harmless for a terminal."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue

from slothtray import actions, bell, private
from slothtray.cli import streams
from slothtray.cli.folding import folded
from slothtray.cli.parser import Parsed
from slothtray.cli.render import PLAIN, wants_colour
from slothtray.cli.streams import show_path, tell
from slothtray.durations import parse_id
from slothtray.errors import Refused, Usage
from slothtray.model import FINISHED, Job, State
from slothtray.paths import Paths
from slothtray.store import Queue, person
from slothtray.system import logcap, opener, tail
from slothtray.system.ports import OpenFailed
from slothtray.terminal import TerminalFilter

LOOK_EVERY = 0.1
"""Seconds between two looks at a log that is followed."""


def run(parsed: Parsed, paths: Paths) -> int:
    """Print the log or its last lines, follow it, open it, or print its path. Without an id it is the app's own."""
    lines = parsed.whole("lines")
    _check(parsed, lines)
    return _of_job(parsed, paths, parse_id(parsed.words[0]), lines) if parsed.words else _of_app(parsed, paths.app_log, lines)


def _of_app(parsed: Parsed, path: str, lines: int | None) -> int:
    if parsed.flag("follow"):
        raise Usage("--follow needs the ID of a job", "see `slothtray log --help`")
    if parsed.flag("path"):
        print(path)
    elif os.path.exists(path):
        _print_or_open(parsed, path, lines)
    else:
        raise Refused("there is no log yet", f"no app has run in {os.path.dirname(path)}")
    return 0


def _of_job(parsed: Parsed, paths: Paths, number: int, lines: int | None) -> int:
    queue = Queue(paths.database)
    try:
        job = person.find(queue.database, number)
        if parsed.flag("path"):
            show_path(paths.log(number))
            return 0
        if parsed.flag("follow"):
            _print(_followed(queue, paths, number, lines))
            job = person.find(queue.database, number)
        else:
            _must_exist(paths, job)
            _print_or_open(parsed, paths.log(number), lines)
        actions.look_at(paths, queue, job)
    finally:
        queue.close()
    return 0


def _check(parsed: Parsed, lines: int | None) -> None:
    given = [name for name in ("--follow", "--path", "--open") if parsed.flag(name.lstrip("-"))]
    if lines is not None and given != ["--follow"]:
        given.append("--lines")
    if len(given) > 1:
        raise Usage(f"{given[0]} and {given[1]} don't go together", "give one of them")
    if lines is not None and lines < 0:
        raise Usage(f"-n {lines} makes no sense", "use 0 or more lines")


def _must_exist(paths: Paths, job: Job) -> None:
    if not private.is_file(paths.log(job.id)):
        hint = f"`slothtray log -f {job.id}` waits for it" if job.state not in FINISHED else ""
        raise Refused(f"job {job.id} has written nothing ({job.state})", hint)


def _print_or_open(parsed: Parsed, path: str, lines: int | None) -> None:
    if parsed.flag("open"):
        _open(path)
    else:
        fold = sys.stdout.isatty()
        place = 0 if lines is None else tail.place_of_last(path, lines, folded=fold)
        pieces = (data for _, data in logcap.read(path, place))
        _print(folded(pieces) if fold else pieces)


def _open(path: str) -> None:
    """Have the desktop show it. Whether that goes wrong is waited for only where it will be told: the prompt is to come back."""
    refused: SimpleQueue[str] = SimpleQueue()
    opener.system_opener(refused.put).open(path)
    if streams.outcome is None:
        return
    with suppress(Empty):
        raise OpenFailed(refused.get(timeout=opener.SOON))


def _followed(queue: Queue, paths: Paths, number: int, lines: int | None) -> Iterator[bytes]:
    """What is there (its last ``lines``), then what comes, until the job is over; an empty piece where there is a pause."""
    path, told = paths.log(number), False
    place = tail.place_of_last(path, lines) if lines is not None and private.is_file(path) else 0
    while True:
        queue.database.check_not_restored()
        # The state first: what a job that is over has written is all there by then.
        job = person.find(queue.database, number)
        for after, data in logcap.read(path, place) if private.is_file(path) else ():
            place = after
            yield data
        if job.state in FINISHED:
            return
        told = told or _tell_of_wait(paths, job)
        yield b""
        time.sleep(LOOK_EVERY)


def _tell_of_wait(paths: Paths, job: Job) -> bool:
    if job.state is State.RUNNING:
        return False
    no_app = "" if bell.answered(paths) else "; no app is running (`slothtray`, or `slothtray run`)"
    tell(f"job {job.id} is {job.state}; what it writes will be shown here{no_app}")
    return True


def _print(pieces: Iterable[bytes]) -> None:
    """To a terminal only text and colours; to anything else the bytes."""
    if not sys.stdout.isatty():
        for piece in pieces:
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
            if not piece and _reader_is_gone():
                raise BrokenPipeError
        return
    harmless = TerminalFilter(colours=wants_colour(sys.stdout))
    coloured = False
    try:
        for piece in pieces:
            text = harmless.feed(piece)
            coloured = coloured or "\x1b" in text
            sys.stdout.write(text)
            sys.stdout.flush()
        sys.stdout.write(harmless.feed(b"", last=True))
    finally:
        if coloured:
            sys.stdout.write(PLAIN)  # a job that was ended in red leaves the person's prompt as it was


def _reader_is_gone() -> bool:
    """Ask the pipe: by itself it tells only who writes, and `log -f 5 | grep -q ready` would stay till the job's next word."""
    import select

    if not hasattr(select, "poll"):
        return False  # Windows
    asked = select.poll()
    asked.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in asked.poll(0))
