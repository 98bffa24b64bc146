"""`slothtray pause` and `slothtray resume`."""

import sys

from slothtray import actions
from slothtray.cli.parser import Parsed
from slothtray.paths import Paths


def run(parsed: Parsed, paths: Paths) -> int:
    """Pause or go on. Going on without a pause is no error: that is what was wanted."""
    if parsed.command.name == "pause":
        actions.pause(paths)
    elif not actions.resume(paths):
        print("slothtray: the queue was not paused", file=sys.stderr)
    return 0
