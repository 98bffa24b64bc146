"""`slothtray cancel`, `retry`, `start`, `hold` and `release`: one change to each of some jobs."""

from slothtray import actions, bell
from slothtray.cli.parser import Parsed
from slothtray.cli.streams import NO_APP, tell
from slothtray.durations import parse_id, parse_ids
from slothtray.errors import SlothtrayError
from slothtray.paths import Paths
from slothtray.store import person

QUEUES = ("retry", "release", "start")
"""What a person does so that a job runs."""
CHANGES = {"retry": person.retry, "release": person.release, "hold": person.hold, "start": person.start}


def run(parsed: Parsed, paths: Paths) -> int:
    """Do it to all of them; 1 if one was refused."""
    name = parsed.command.name
    ids = [parse_id(parsed.words[0])] if name == "start" else parse_ids(parsed.words)
    errors = _cancel(paths, ids) if name == "cancel" else actions.each(paths, ids, CHANGES[name])
    for error in errors:
        tell(str(error))
    if name in QUEUES and len(errors) < len(ids) and not bell.answered(paths):
        tell(NO_APP)
    return 1 if errors else 0


def _cancel(paths: Paths, ids: list[int]) -> list[SlothtrayError]:
    errors, untold = actions.cancel_each(paths, ids)
    for number in untold:
        tell(f"job {number} will be cancelled when slothtray is started")
    return errors
