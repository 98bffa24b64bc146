"""`slothtray cancel`, `retry`, `start`, `hold` and `release`: one change to each of some jobs."""

import sys

from slothtray import actions
from slothtray.cli.complain import report
from slothtray.cli.parser import Parsed
from slothtray.durations import parse_id, parse_ids
from slothtray.errors import SlothtrayError
from slothtray.paths import Paths
from slothtray.store import person

CHANGES = {"retry": person.retry, "release": person.release, "hold": person.hold, "start": person.start}


def run(parsed: Parsed, paths: Paths) -> int:
    """Do it to all of them; 1 if one was refused."""
    name = parsed.command.name
    ids = [parse_id(parsed.words[0])] if name == "start" else parse_ids(parsed.words)
    errors = _cancel(paths, ids) if name == "cancel" else actions.each(paths, ids, CHANGES[name])
    for error in errors:
        report(error, as_json=False)
    return 1 if errors else 0


def _cancel(paths: Paths, ids: list[int]) -> list[SlothtrayError]:
    errors: list[SlothtrayError] = []
    for number in ids:
        try:
            _, carried_out = actions.cancel(paths, number)
        except SlothtrayError as error:
            if error.exit_code != 1:
                raise
            errors.append(error)
        else:
            if not carried_out:
                print(f"slothtray: job {number} will be cancelled when slothtray is started", file=sys.stderr)
    return errors
