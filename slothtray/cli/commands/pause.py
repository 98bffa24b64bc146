"""`slothtray pause` and `slothtray resume`."""

import sys

from slothtray import actions
from slothtray.cli.parser import Parsed
from slothtray.durations import parse_duration
from slothtray.errors import Usage
from slothtray.paths import Paths


def run(parsed: Parsed, paths: Paths) -> int:
    """Pause or go on. Going on without a pause is no error: that is what was wanted."""
    if parsed.command.name == "resume":
        if not actions.resume(paths):
            print("slothtray: the queue was not paused", file=sys.stderr)
        return 0
    seconds = parse_duration(parsed.words[0]) if parsed.words else None
    if parsed.flag("toggle"):
        if seconds is not None:
            raise Usage("--toggle takes no duration")
        if actions.resume(paths):
            print("resumed")
            return 0
        actions.pause(paths)
        print("paused")
        return 0
    actions.pause(paths, seconds)
    return 0
