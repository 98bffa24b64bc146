"""`slothtray pause` and `slothtray resume`."""

from slothtray import actions
from slothtray.cli.parser import Parsed
from slothtray.cli.streams import tell
from slothtray.clock import Clock
from slothtray.durations import parse_duration
from slothtray.errors import Usage
from slothtray.paths import Paths
from slothtray.policy import clock_words


def run(parsed: Parsed, paths: Paths) -> int:
    """Pause or go on. Going on without a pause is no error: that is what was wanted."""
    seconds = parse_duration(parsed.words[0]) if parsed.words else None
    if parsed.command.name == "resume":
        if not _resumed(paths):
            tell("the queue was not paused")
        return 0
    toggle = parsed.flag("toggle")
    if toggle and seconds is not None:
        raise Usage("--toggle takes no duration")
    if toggle and _resumed(paths):
        return 0
    until = actions.pause(paths, seconds)
    print("paused" if until is None else f"paused until {clock_words(until, Clock().wall())}")
    return 0


def _resumed(paths: Paths) -> bool:
    was_paused = actions.resume(paths)
    if was_paused:
        print("resumed")
    return was_paused
