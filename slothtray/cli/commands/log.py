"""`slothtray log`: what a job wrote, as it is when it goes into a pipe."""

import os
import sys

from slothtray import bell
from slothtray.cli.parser import Parsed
from slothtray.durations import parse_ids
from slothtray.errors import Refused
from slothtray.paths import Paths
from slothtray.store import Queue, person
from slothtray.system import tail

CHUNK = 1 << 16


def run(parsed: Parsed, paths: Paths) -> int:
    """Print the log, or its last lines, or its path."""
    number = parse_ids(parsed.words)[0]
    queue = Queue(paths.database)
    try:
        person.find(queue.database, number)
        with queue.database.write():
            person.mark_seen(queue.database, number)
    finally:
        queue.close()
    bell.ring(paths)
    path = paths.log(number)
    if parsed.flag("path"):
        print(path)
        return 0
    if not os.path.exists(path):
        raise Refused(f"job {number} has written nothing yet", "it has not been started, or its log was pruned")
    lines = parsed.whole("lines")
    if lines is not None:
        sys.stdout.buffer.write(tail.last_lines(path, lines))
        return 0
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            sys.stdout.buffer.write(chunk)
    return 0
